package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// parseJSON returns the one value of a JSON text, or an empty node.
func parseJSON(data []byte) (node, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return node{value: []entry{}}, nil
	}
	r := jsonReader{data: data, d: json.NewDecoder(bytes.NewReader(data))}
	r.d.UseNumber()
	n, err := r.readValue(0)
	if err != nil {
		return n, r.syntaxError(err)
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return n, &lineError{r.currentLine(), "something follows the JSON object; keep one"}
	}
	return n, nil
}

type jsonReader struct {
	data []byte
	d    *json.Decoder
	seen int // bytes with counted lines
	at   int // line of the last byte seen, less 1
}

// currentLine is the line of the last token. Tokens have no line breaks inside.
func (r *jsonReader) currentLine() int {
	end := min(int(r.d.InputOffset()), len(r.data))
	r.at += bytes.Count(r.data[r.seen:end], []byte("\n"))
	r.seen = end
	return r.at + 1
}

func (r *jsonReader) syntaxError(err error) error {
	var shaped *lineError
	if errors.As(err, &shaped) {
		return err
	}
	var syntax *json.SyntaxError
	text, line := err.Error(), r.currentLine()
	if errors.As(err, &syntax) {
		line = lineOfByte(r.data, int(syntax.Offset))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text, line = "it ends too early", lineOfByte(bytes.TrimSpace(r.data), len(r.data))
	}
	return &lineError{line, text}
}

func (r *jsonReader) readValue(depth int) (node, error) {
	t, err := r.d.Token()
	if err != nil {
		return node{}, err
	}
	n := node{line: r.currentLine()}
	if depth > maxDeep {
		return n, &lineError{n.line, "it nests too deep"}
	}
	switch v := t.(type) {
	case json.Delim:
		if v == '[' {
			return r.readList(n, depth)
		}
		return r.readObject(n, depth)
	case json.Number:
		n.text, n.value = v.String(), parseNumber(v.String())
	case bool:
		n.text, n.value = strconv.FormatBool(v), v
	case string:
		n.text, n.value = v, v
	}
	return n, nil
}

func parseNumber(s string) any {
	if i, err := strconv.Atoi(s); err == nil {
		return i
	}
	f, _ := strconv.ParseFloat(s, 64) // infinite if it is too large: no setting accepts that
	return f
}

func (r *jsonReader) readList(n node, depth int) (node, error) {
	items := []node{}
	for r.d.More() {
		item, err := r.readValue(depth + 1)
		if err != nil {
			return n, err
		}
		items = append(items, item)
	}
	n.value = items
	_, err := r.d.Token()
	return n, err
}

func (r *jsonReader) readObject(n node, depth int) (node, error) {
	entries := []entry{}
	for r.d.More() {
		name, err := r.d.Token()
		if err != nil {
			return n, err
		}
		e := entry{line: r.currentLine()}
		e.name, _ = name.(string)
		if e.node, err = r.readValue(depth + 1); err != nil {
			return n, err
		}
		entries = append(entries, e)
	}
	n.value = entries
	_, err := r.d.Token()
	return n, err
}

// hasJSONExt reports whether a file name has the extension of JSON.
func hasJSONExt(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".json") }
