package redact

import (
	"encoding/base64"
	"strings"
)

// pemBegin is the beginning of the first line of a key.
const pemBegin = "-----BEGIN "

// privateKey finds the text between the first line of a private key and its last
// or, if that is missing, the lines that look like a key.
func privateKey(s string, from, to int) span {
	header := strings.Index(s[to:min(len(s), to+48)], "-----")
	if header < 0 || !strings.Contains(strings.ToUpper(s[to:to+header]), "PRIVATE KEY") {
		return span{}
	}
	start := to + header + len("-----")
	end := len(s)
	if n := strings.Index(s[start:], "-----"); n >= 0 {
		end = start + n
	}
	body := s[start:end]
	if strings.HasPrefix(s[end:], "-----END") && holdsKey(body) {
		return span{start, end} // after any text before its lines
	}
	stop := start + keyBodyLength(body, outline(s[lineStart(s, from):from]))
	switch {
	case stop == start:
		return span{}
	case strings.HasPrefix(s[end:], "-----END") && end-stop < 128: // the text between is not a text line
		return span{start, end}
	}
	return span{start, stop}
}

// keyTail finds the lines of a private key before its last line, if the first is
// missing: at the start of a file, or of a page of it.
func keyTail(s string, from, to int) span {
	header := strings.Index(s[to:min(len(s), to+48)], "-----")
	if header < 0 || !strings.Contains(strings.ToUpper(s[to:to+header]), "PRIVATE KEY") {
		return span{}
	}
	start, long := from, false
	for end := from; end > 0; {
		end = behindBreak(s, end)
		line := end
		for line > 0 && end-line <= keyLine && pemBytes[s[line-1]] {
			line--
		}
		if line > 0 && s[line-1] == '\\' && line < end && strings.IndexByte("nr", s[line]) >= 0 { // of an escaped break
			line++
		}
		switch {
		case strings.HasSuffix(s[:end], Mark):
			if start == from {
				return span{end - len(Mark), end} // which stays unchanged
			}
			start, end = end-len(Mark), 0
		case line == end || end-line > keyLine || start == from && line == from:
			end = 0
		case start < from && end-line < minKeyLine:
			end = 0
		default:
			start, long = line, long || end-line >= minKeyLine && keyPart(s[line:end]) && strings.ContainsAny(s[line:end], digits+"+/")
			end = line
		}
	}
	if !long {
		return span{}
	}
	return span{start, from}
}

var pemBytes = newByteSet(letters + digits + "+/=")

// The lengths of lines of a key; the last may be shorter.
const (
	keyLine    = 80
	minKeyLine = 40
)

// behindBreak returns the index after the end of the line before i, if only its
// margin is between: i otherwise.
func behindBreak(s string, i int) int {
	low := max(0, i-64)
	if n := strings.LastIndexByte(s[low:i], '\n'); n >= 0 && (skipMargin(s, low+n+1) == i || outlined(s[low+n+1:i])) {
		i = low + n
	}
	for i > 0 && strings.IndexByte(" \t\r\"'`,+", s[i-1]) >= 0 {
		i--
	}
	for i > 1 && s[i-2] == '\\' && strings.IndexByte("nr\"", s[i-1]) >= 0 {
		i -= 2
	}
	return i
}

// outlined reports whether text is what a tool writes before a line, as its name
// and number, or a time.
func outlined(text string) bool {
	trimmed := strings.TrimRight(text, " \t\"'`")
	return trimmed == "" || len(trimmed) < len(text) && len(trimmed) < 48 || strings.IndexByte(":-+|>", trimmed[len(trimmed)-1]) >= 0 || strings.HasSuffix(trimmed, "→") || strings.HasSuffix(trimmed, "│")
}

// holdsKey reports whether body has a run of base64 that is not a word, or a
// replacement of one.
func holdsKey(body string) bool {
	for i := 0; i < len(body); {
		k := skipBytes(body, i, &base64s)
		if keyPart(body[i:k]) || strings.HasPrefix(body[k:], Mark) {
			return true
		}
		i = k + 1
	}
	return false
}

// keyPart reports whether text may be the first line of a key. A line of one in a
// thousand keys has no digit.
func keyPart(text string) bool {
	return len(text) >= 16 && hasMixedParts(text) ||
		len(text) >= 32 && strings.ToLower(text) != text && strings.ToUpper(text) != text && !strings.ContainsAny(text, "_-")
}

// keyBodyLength returns how much of body looks like a key, in lines separated by
// breaks or escapes; 0 if nothing does. Before each line may be the output of a
// tool, in the form of the outline before.
func keyBodyLength(body, before string) int {
	end, found := 0, false
	for i := 0; i < len(body); {
		j := i
		for j < len(body) && !base64s[body[j]] && body[j] != '<' {
			j = skipNonKey(body, j)
		}
		if n := strings.LastIndexByte(body[i:j], '\n'); n >= 0 {
			if k := behind(body, i+n+1, before); k > i+n+1 {
				j = k
			}
		}
		if strings.HasPrefix(body[j:], Mark) {
			return j + len(Mark)
		}
		k := skipBytes(body, j, &base64s)
		switch text := body[j:k]; {
		case found && k-j >= 4 && (k-j >= 16 || lineEnds(body, k) && skipBytes(text, 0, &lowercase) < len(text)), !found && keyPart(text):
			found, end = true, k
		case byteAt(body, k) == ':' && k > j: // a header of the key
			for k < len(body) && body[k] != '\n' && !strings.HasPrefix(body[k:], `\n`) {
				k++
			}
		case found || k == j && k == len(body):
			return end
		case k > j+8 || j > i+64:
			return 0
		}
		i = max(k, i+1)
	}
	return end
}

// behind returns the index after the text at i on its line that has the outline
// before; i if it has another one.
func behind(s string, i int, before string) int {
	if before == "" || strings.Trim(before, " \t") == "" {
		return i
	}
	for j, low := i, i+len(before)+4; j < min(len(s), low) && s[j] != '\n'; j++ {
		if k := j + 1; !base64s[s[j]] && base64s[byteAt(s, k)] && outline(s[i:k]) == before {
			return k
		}
	}
	return i
}

// outline returns text with one 0 for each number: the common form of the
// beginnings of lines in a log or a search.
func outline(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := skipBytes(text, i, &digit); n > i {
			b.WriteByte('0')
			i = n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// skipNonKey returns the index after text at i that is not part of a key: the end
// of a line with the margin of the next, an escape such as \n, or a byte.
func skipNonKey(s string, i int) int {
	switch {
	case skipNewline(s, i) > i:
		return skipMargin(s, skipNewline(s, i))
	case s[i] == '\\' && i+1 < len(s) && s[i+1] != '\\':
		return i + 2
	}
	return i + 1
}

// lineEnds reports whether only punctuation follows at i on its line.
func lineEnds(s string, i int) bool {
	for i < len(s) && strings.IndexByte(" \t\r\"'`,;+)", s[i]) >= 0 {
		i++
	}
	return i == len(s) || s[i] == '\n' || s[i] == '\\'
}

// encodedKey finds the base64 of a private key, as in Kubernetes.
func encodedKey(s string, from, to int) span {
	if s[from:to] != "LS0tLS1CRUdJTi" || !wordBegins(s, from) {
		return span{}
	}
	first, err := base64.StdEncoding.DecodeString(s[from:min(len(s), from+64)])
	if head, _, closed := strings.Cut(strings.TrimPrefix(string(first), pemBegin), "-----"); err != nil || !closed || !strings.Contains(head, "PRIVATE KEY") {
		return span{}
	}
	return span{from, wrappedRun(s, from, &base64s, 1<<16)}
}

// puttyKey finds the private lines of a key of PuTTY.
func puttyKey(s string, _, to int) span {
	i := skipNewline(s, skipBytes(s, skipBytes(s, to, &digit), &blank))
	if strings.HasPrefix(s[i:], Mark) {
		return span{i, i + len(Mark)}
	}
	n := keyBodyLength(s[i:min(len(s), i+1<<14)], "")
	if n == 0 {
		return span{}
	}
	return span{i, i + n}
}
