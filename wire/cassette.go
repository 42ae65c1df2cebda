package wire

import (
	"fmt"
	"strings"
)

// cassette is HTTP traffic as go-vcr records it, in YAML: each request body is
// a chat, in whatever format it has.
func cassette() format {
	return format{
		name:   "cassette",
		about:  "HTTP requests recorded by go-vcr: the body of each is a chat",
		match:  matchCassette,
		decode: decodeCassette,
	}
}

func matchCassette(p probe) int {
	if p.shape == plain && strings.Contains("\n"+p.head, "\ninteractions:") && strings.Contains(p.head, "request:") {
		return 90
	}
	return 0
}

func decodeCassette(src *source) ([]Conversation, error) {
	bodies, err := requestBodies(src)
	if err != nil {
		return nil, err
	}
	var all []Conversation
	for i, text := range bodies {
		body, err := newSource(text, Options{Name: fmt.Sprintf("%s: request %d", src.name, i+1), Lenient: src.lenient})
		if err != nil {
			continue // no body
		}
		f, err := choose(body, "")
		if err != nil || f.name == "cassette" {
			continue // no chat
		}
		chats, err := f.decode(body)
		if err != nil {
			return nil, err
		}
		src.skipped += body.skipped
		all = append(all, chats...)
	}
	return all, nil
}

// requestBodies returns the strings under the keys "body" of requests.
func requestBodies(src *source) ([]string, error) {
	var bodies []string
	request := false
	n, rest := 0, src.text
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		n++
		switch key := strings.TrimPrefix(strings.TrimSpace(line), "- "); {
		case key == "request:" || key == "response:":
			request = key == "request:"
		case request && strings.HasPrefix(key, "body:"):
			text, lines, err := scalar(strings.TrimSpace(key[len("body:"):]), rest)
			if err != nil {
				return nil, src.fail(ErrBroken, n, "body", err.Error(), "record it again with go-vcr")
			}
			bodies = append(bodies, text)
			for range lines {
				_, rest, _ = strings.Cut(rest, "\n")
				n++
			}
		}
	}
	return bodies, nil
}

// scalar returns the string that a YAML value is, and how many lines of rest
// belong to it. Quoted strings are on one line, as go-vcr writes them.
func scalar(first, rest string) (text string, lines int, err error) {
	switch {
	case begins(first, "|"):
		text, lines = block(rest)
		return text, lines, nil
	case begins(first, `'`):
		if len(first) < 2 || first[len(first)-1] != '\'' {
			return "", 0, fmt.Errorf("a quoted string of several lines")
		}
		return strings.ReplaceAll(first[1:len(first)-1], "''", "'"), 0, nil
	case begins(first, `"`):
		if end, err := scanValue(first, 0); err != nil || end != len(first) {
			return "", 0, fmt.Errorf("a quoted string that is not one of JSON too")
		}
		return unquote(first), 0, nil
	}
	return first, 0, nil
}

// block returns the block of lines at the start of rest that are as deep as
// its first, and how many they are.
func block(rest string) (string, int) {
	var out strings.Builder
	lines := 0
	indent := rest[:len(rest)-len(strings.TrimLeft(rest, " "))]
	if indent == "" {
		return "", 0
	}
	for line := range strings.Lines(rest) {
		text, in := strings.CutPrefix(line, indent)
		if !in && strings.TrimSpace(line) != "" {
			break
		}
		if !in {
			text = "\n"
		}
		out.WriteString(text)
		lines++
	}
	return out.String(), lines
}
