package redact

import "strings"

// In HTML and XML, a value is an element's text or an attribute, apart from its
// name.

// inElement reports whether the value at i is the text of an element, which ends
// before the next one.
func inElement(s string, i int) bool {
	return byteAt(s, i-1) == '>' || strings.HasSuffix(s[max(0, i-len(rawText)):i], rawText)
}

const rawText = "<![CDATA["

// tagBytes limits the distance between a name and its value in markup.
const tagBytes = 160

// taggedValue is <name>value</name>, with or without attributes and a namespace.
func taggedValue(s string, from, end int) int {
	start := skipBack(s, from, &dotted)
	if byteAt(s, start-1) == ':' {
		start = skipBack(s, start-1, &dotted)
	}
	if byteAt(s, start-1) != '<' {
		return -1
	}
	if blank[byteAt(s, end)] { // attributes
		tag, _, closed := strings.Cut(s[end:min(len(s), end+tagBytes)], ">")
		if !closed || strings.ContainsAny(tag, "<\n") || strings.HasSuffix(tag, "/") || strings.HasSuffix(tag, "=") {
			return -1
		}
		end += len(tag)
	}
	if byteAt(s, end) != '>' {
		return -1
	}
	if next := skipToValue(s, end+1); next > end+1 && !inBlock(s, next, s[start:skipBytes(s, start, &dotted)]) {
		return -1
	} else {
		end = next - 1
	}
	if strings.HasPrefix(s[end+1:], "</") {
		return -1
	}
	if strings.HasPrefix(s[end+1:], rawText) {
		end += len(rawText)
	}
	return end + 1
}

// inBlock reports whether the text at i is on a line of its own, and the next line
// closes its element.
func inBlock(s string, i int, name string) bool {
	n := strings.IndexByte(s[i:min(len(s), i+tagBytes)], '\n')
	return n > 0 && strings.HasPrefix(strings.TrimLeft(s[i+n+1:min(len(s), i+n+tagBytes)], " \t"), "</"+name)
}

// elementText is the text of the element that the name describes: <b>name:</b>
// value, <td>name</td><td>value</td>, <entry key="name">value</entry>.
func elementText(s string, from, end int) int {
	j := end
	if quote := openingQuote(s, end); quote > end {
		if c := byteAt(s, quote); c != '>' && c != ' ' {
			return -1
		}
		attribute := strings.TrimRight(s[max(0, from-64):openedBefore(s, from)], "\"'\\")
		tag, _, closed := strings.Cut(s[quote:min(len(s), quote+tagBytes)], ">")
		if !closed || !hasSuffix(strings.ToLower(attribute), " name=", " key=", " id=") || hasSuffix(tag, "/", "=") || strings.ContainsAny(tag, "<\n") {
			return -1
		}
		j = quote + len(tag) + 1
		for _, inner := range []string{"<value>", "<string>"} {
			if strings.HasPrefix(s[j:], inner) {
				j += len(inner)
			}
		}
		if j >= len(s) || space[s[j]] || s[j] == '<' {
			return -1
		}
		return j
	}
	if c := byteAt(s, j); c == ':' || c == '=' {
		j++
	}
	j = skipBlanks(s, j)
	if !strings.HasPrefix(s[j:], "</") {
		return -1
	}
	for range 3 { // of the ends and beginnings of elements
		if byteAt(s, j) != '<' {
			break
		}
		tag, _, closed := strings.Cut(s[j:min(len(s), j+tagBytes)], ">")
		if !closed {
			return -1
		}
		if j = skipToValue(s, j+len(tag)+1); byteAt(s, j) == ':' || byteAt(s, j) == '=' {
			j = skipBlanks(s, j+1)
		}
	}
	if j >= len(s) || space[s[j]] || s[j] == '<' {
		return -1
	}
	return j
}

// openedBefore returns the beginning of the name s[from:] with its dots.
func openedBefore(s string, from int) int { return skipBack(s, from, &dotted) }

// attributeValue is the attribute value of the element that has the name in another
// attribute: <input type="password" name="p" value="…">.
func attributeValue(s string, from, end int) int {
	j := openingQuote(s, end)
	if j == end || byteAt(s, j) != ' ' {
		return -1
	}
	before := s[lineStart(s, from):from]
	if !strings.Contains(before[max(0, strings.LastIndexByte(before, '>')):], "<") {
		return -1
	}
	tag, _, _ := strings.Cut(s[j:min(len(s), j+tagBytes)], ">")
	for _, name := range []string{" value=", " Value=", " content="} {
		if n := strings.Index(tag, name); n >= 0 && openingQuote(s, j+n+len(name)) > j+n+len(name) {
			return j + n + len(name)
		}
	}
	return -1
}
