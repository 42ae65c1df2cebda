package redact

import (
	"encoding/json"
	"strings"
)

// JSON redacts a JSON text: each string in it by f, and each string or number under
// the name of a secret, such as "password". Everything else, including names, stays
// byte for byte, and the result is valid JSON. A text that is not JSON is passed to
// f as a whole.
func JSON(f func(string) string, raw string) string {
	if !json.Valid([]byte(raw)) {
		return f(raw)
	}
	return redactValidJSON(f, nil, raw)
}

// redactValidJSON redacts valid JSON. It calls seen with each secret that it finds
// by its name.
func redactValidJSON(f func(string) string, seen func(string), raw string) string {
	w := &jsonScanner{f: f, seen: seen, raw: raw}
	w.scanText()
	if w.done == 0 {
		return raw
	}
	w.out.WriteString(raw[w.done:])
	return w.out.String()
}

// A jsonScanner scans a valid JSON text.
type jsonScanner struct {
	f    func(string) string
	seen func(string) // may be nil
	raw  string
	out  strings.Builder
	done int // number of bytes of raw that are in out
	at   int
}

// A jsonFrame is an object or a list around the current position.
type jsonFrame struct {
	object bool
	grade  grade // grade of a list's elements by the name of the list
	hidden span  // of a list that is a command line: the passwords in its arguments, in the raw text
	pair   grade // of a member "name", for the member "value"; of a flag, for the next element of a list
}

// scanText scans the text. It has its own stack, because nesting may be deep.
func (w *jsonScanner) scanText() {
	stack := []jsonFrame{{}}
	var g grade // grade of the name before the value
	name, pair := false, false
	for w.at < len(w.raw) {
		top := &stack[len(stack)-1]
		switch c := w.raw[w.at]; {
		case c == '{', c == '[':
			if c == '{' {
				g = 0
			}
			stack = append(stack, jsonFrame{object: c == '{', grade: g})
			name = c == '{'
		case c == '}', c == ']':
			stack = stack[:len(stack)-1]
			name = false
		case c == ',':
			name, g = top.object, top.grade
		case c == '"' && name:
			var text string
			g, text = w.redactName()
			name, pair = false, text == "name" || text == "key" || text == "Name" || text == "Key"
			if text == "value" || text == "Value" {
				g = max(g, top.pair)
			}
			continue
		case c == '"':
			if x := top.hidden; x.from > w.at && w.hide(x) {
				top.hidden = span{}
				continue
			}
			start := w.at
			text := w.redactString(max(g, top.flagGrade()), top.flagGrade() > 0)
			if !top.object && top.hidden.to == 0 {
				if top.hidden = listedPassword(w.raw, start+1, start+1+len(text)); text == "-p" {
					top.hidden = shortFlag(w.raw, start, start+len(`"-p"`))
				}
			}
			if top.pair = 0; top.object && pair || !top.object && strings.HasPrefix(text, "-") {
				top.pair = nameGrade(text)
			}
			continue
		case c == '-' || digit[c]:
			w.redactNumber(g)
			continue
		}
		w.at++
	}
}

// hide replaces the part of the string at w.at that x covers.
func (w *jsonScanner) hide(x span) bool {
	end, text := w.readLiteral()
	if x.to >= end || text != w.raw[w.at+1:end-1] {
		return false
	}
	if w.seen != nil {
		w.seen(w.raw[x.from:x.to])
	}
	w.replaceString(end, w.raw[w.at+1:x.from]+Mark+w.raw[x.to:end-1])
	w.at = end
	return true
}

// flagGrade returns the grade of a string in a list by the flag before it.
func (f *jsonFrame) flagGrade() grade {
	if f.object {
		return 0
	}
	return f.pair
}

// readLiteral returns the end of the string at w.at, and its text.
func (w *jsonScanner) readLiteral() (end int, text string) {
	end = w.at + 1
	for w.raw[end] != '"' {
		if w.raw[end] == '\\' {
			end++
		}
		end++
	}
	end++
	if text = w.raw[w.at+1 : end-1]; strings.IndexByte(text, '\\') < 0 {
		return end, text
	}
	if err := json.Unmarshal([]byte(w.raw[w.at:end]), &text); err != nil {
		return end, w.raw[w.at+1 : end-1] // cannot happen: the whole is valid
	}
	return end, text
}

// redactName returns the name at w.at and the grade of its value. The name is never
// redacted: without its names, an object is another one.
func (w *jsonScanner) redactName() (grade, string) {
	end, text := w.readLiteral()
	w.at = end
	return nameGrade(text), text
}

// redactString redacts the string at w.at, and returns its former text. flag says
// that a flag is before it; another flag is not its value.
func (w *jsonScanner) redactString(g grade, flag bool) string {
	end, text := w.readLiteral()
	clean := text
	switch v := (valueExtent{from: 0, to: len(text), quoted: true}); {
	case flag && strings.HasPrefix(text, "-"):
	case g > 0 && (v.looksSecret(text, g, false) || userAndPassword(text)):
		clean = Mark
		if w.seen != nil && text != Mark {
			w.seen(text)
		}
	case g > 0: // only some parts of a cookie are secrets
		x := cookiesAt(text, 0)
		if x.to > 0 && w.seen != nil && text[x.from:x.to] != Mark {
			w.seen(text[x.from:x.to])
		}
		if x.to > 0 {
			clean = text[:x.from] + Mark + text[x.to:]
		}
		clean = w.f(clean)
	default:
		clean = w.f(text)
	}
	if clean != text {
		w.replaceString(end, clean)
	}
	w.at = end
	return text
}

// redactNumber redacts the number at w.at, which becomes a string.
func (w *jsonScanner) redactNumber(g grade) {
	end := skipBytes(w.raw, w.at, &numberBytes)
	if g == must || g >= firm && end-w.at >= 6 { // a shorter one is a count
		w.replaceString(end, Mark)
	}
	w.at = end
}

var numberBytes = newByteSet(digits + "+-.eE")

// replaceString writes text as a string in place of the value from w.at to end.
func (w *jsonScanner) replaceString(end int, text string) {
	w.out.WriteString(w.raw[w.done:w.at])
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can always be encoded
	w.out.WriteString(strings.TrimSuffix(b.String(), "\n"))
	w.done = end
}

// nameGrade returns the grade of the value of a whole name.
func nameGrade(text string) (best grade) {
	switch {
	case len(text) > 64:
		return 0
	case strings.EqualFold(text, "auth"):
		return loose
	}
	a := builtinRules()
	var row uint32
	for i := range len(text) {
		if row = a.next[row+uint32(a.class[text[i]])]; row < a.accept {
			continue
		}
		for _, x := range a.ends[int(row-a.accept)/a.width] {
			if x.grade > 0 {
				from := i + 1 - len(x.word)
				best = max(best, ownGrade(gradeWithRest(x.grade, text[i], text[i+1:]), text, from, i+1))
			}
		}
	}
	return best
}
