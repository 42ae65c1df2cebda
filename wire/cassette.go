package wire

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func matchCassette(p probe) int {
	switch {
	case p.shape == plain && strings.Contains(p.head, "interactions:") && strings.Contains(p.head, "request:") && interactionsLine.MatchString(p.head):
		return 90
	case p.shape == object && len(p.values) > 0 && p.values[0].hasValueKind("interactions", "["):
		if list := p.values[0].listValue("interactions"); len(list) > 0 && list[0].hasValueKind("request", "{") {
			return 90
		}
	}
	return 0
}

var interactionsLine = regexp.MustCompile(`(?m)^(?:http_)?interactions:`)

// decodeCassette reads HTTP traffic as a recorder keeps it: each request body is a chat, in
// any format. The recorders differ in the place of a body:
//
//	go-vcr, YAML          interactions: [{request: {body: string}}]
//	vcrpy, YAML or JSON   interactions: [{request: {body: string, binary or none}}]
//	vcrpy, a file or an iterator was sent
//	                      body: !!python/object/new:_io.BytesIO {state: [binary, …]}
//	                      body: !!python/object/apply:builtins.iter {args: [[binary, …]]}
//	VCR of Ruby, YAML     http_interactions: [{request: {body: {string: string} or {base64_string: string}}}]
func decodeCassette(src *source) ([]Conversation, error) {
	bodies, err := requestBodies(src)
	if err != nil {
		return nil, err
	}
	var all []Conversation
	empty := 0
	for i, text := range bodies {
		body, err := newSource(text, Options{Name: fmt.Sprintf("%s: request %d", src.name, i+1), Lenient: src.lenient})
		if text == "" {
			empty++
		}
		if err != nil {
			continue // no body, or one that is not text
		}
		f, err := chooseFormat(body, "")
		if err != nil || f.name == "cassette" {
			continue // not a chat
		}
		chats, err := f.decode(body)
		if err != nil {
			return nil, err
		}
		src.skipped += body.skipped
		all = append(all, chats...)
	}
	if len(all) == 0 {
		problem := fmt.Sprintf("holds no chat in the bodies of its requests (recorded: %d, without a body: %d)", len(bodies), empty)
		return nil, src.sourceError(ErrNoMessages, 0, "", problem, "record the requests to a model, with their bodies")
	}
	return all, nil
}

// requestBodies returns the bodies of the requests, "" for a request without one.
func requestBodies(src *source) ([]string, error) {
	if probeSource(src).shape == object {
		doc, err := src.document()
		if err != nil {
			return nil, err
		}
		return jsonBodies(src, peekValue(doc.raw))
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(src.text), &doc); err != nil {
		line, problem := yamlError(err)
		return nil, src.sourceError(ErrBroken, line, "", problem, "record it again, or repair the file")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	list := yamlValueOf(doc.Content[0], "interactions")
	if list == nil {
		list = yamlValueOf(doc.Content[0], "http_interactions")
	}
	var bodies []string
	for _, interaction := range children(list) {
		request := yamlValueOf(interaction, "request")
		if request == nil {
			continue
		}
		text, err := bodyText(yamlValueOf(request, "body"))
		if err != nil {
			return nil, src.sourceError(ErrBroken, request.Line, "request.body", err.Error(), "record it again")
		}
		bodies = append(bodies, text)
	}
	return bodies, nil
}

func jsonBodies(src *source, doc peek) ([]string, error) {
	var bodies []string
	for i, interaction := range doc.listValue("interactions") {
		body := interaction.memberValue("request").memberValue("body")
		text := body.ownString()
		if body.hasMember("string") {
			text = body.stringValue("string")
		}
		text, err := unpacked([]byte(text))
		if err != nil {
			return nil, src.sourceError(ErrBroken, 0, fmt.Sprintf("interactions[%d].request.body", i), err.Error(), "record it again")
		}
		bodies = append(bodies, text)
	}
	return bodies, nil
}

// yamlError returns the line in an error of the YAML reader, 0 if it gives none,
// and the error's text.
func yamlError(err error) (line int, problem string) {
	problem = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = problem[len(m[0]):]
	}
	return line, "broken YAML: " + problem
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// yamlValueOf returns the value of a key of a mapping, nil if there is none.
func yamlValueOf(n *yaml.Node, key string) *yaml.Node {
	n = resolveAlias(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolveAlias(n.Content[i+1])
		}
	}
	return nil
}

// children returns the elements of a sequence.
func children(n *yaml.Node) []*yaml.Node {
	if n = resolveAlias(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// bodyText returns the text of a body.
func bodyText(n *yaml.Node) (string, error) {
	if n == nil {
		return "", nil
	}
	if n.Kind == yaml.ScalarNode {
		data, err := scalarBytes(n)
		if err != nil {
			return "", err
		}
		return unpacked(data)
	}
	if text := yamlValueOf(n, "string"); text != nil {
		return bodyText(text)
	}
	if text := yamlValueOf(n, "base64_string"); text != nil && text.Kind == yaml.ScalarNode {
		data, err := unbase64(text.Value)
		if err != nil {
			return "", err
		}
		return unpacked(data)
	}
	pieces := children(yamlValueOf(n, "args"))
	if len(pieces) > 0 {
		pieces = children(pieces[0])
	} else if state := children(yamlValueOf(n, "state")); len(state) > 0 {
		pieces = state[:1]
	}
	var all []byte
	for _, p := range pieces {
		if p = resolveAlias(p); p.Kind == yaml.ScalarNode {
			data, err := scalarBytes(p)
			if err != nil {
				return "", err
			}
			all = append(all, data...)
		}
	}
	return unpacked(all)
}

// scalarBytes returns the content of a scalar; null is empty.
func scalarBytes(n *yaml.Node) ([]byte, error) {
	switch n.ShortTag() {
	case "!!binary":
		return unbase64(n.Value)
	case "!!null":
		return nil, nil
	}
	return []byte(n.Value), nil
}

func unbase64(text string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, text))
	if err != nil {
		return nil, fmt.Errorf("not base64: %w", err)
	}
	return data, nil
}

// unpacked returns the text of a body that may be compressed, or compressed and
// encoded in base64.
func unpacked(data []byte) (string, error) {
	if bytes.HasPrefix(data, []byte("H4sI")) { // gzip as base64
		if packed, err := unbase64(string(data)); err == nil {
			data = packed
		}
	}
	var r io.ReadCloser
	var err error
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(bytes.NewReader(data))
	case len(data) > 2 && data[0] == 0x78 && (uint(data[0])<<8|uint(data[1]))%31 == 0 && data[1] >= 0x80 || bytes.HasPrefix(data, []byte{0x78, 0x01}):
		r, err = zlib.NewReader(bytes.NewReader(data))
	default:
		return string(data), nil
	}
	if err != nil {
		return "", fmt.Errorf("unpack: %w", err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, DefaultMaxBytes))
	if err != nil {
		return "", fmt.Errorf("unpack: %w", err)
	}
	return string(text), nil
}
