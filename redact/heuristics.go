package redact

import (
	"math"
	"strings"
)

// looksSecret reports whether v looks like a secret, given the grade of its name
// and whether it is in an environment.
func (v valueExtent) looksSecret(s string, g grade, environment bool) bool {
	text := withoutBreaks(s[v.from:v.to])
	if text == Mark {
		return v.to-v.from == len(Mark) // otherwise it is a block with a mark in it
	}
	if isVariable(text) || isRequirement(text) || isCutToken(text) || (g == firm || g == strong && !v.quoted) && isPlaceholder(text) {
		return false
	}
	if v.quoted {
		switch g {
		case must:
			return true
		case strong:
			return writtenOut(text)
		case firm:
			return len(text) >= 4 && !strings.ContainsAny(text, " \t") && !isTemplate(text) || looksRandom(text)
		}
		return looksRandom(text)
	}
	switch {
	case g == loose || isCodeText(text):
		return !isCodeText(text) && looksRandom(text)
	case environment:
		return true
	}
	return len(text) >= 4 && strings.ContainsAny(text, digits) && strings.ContainsAny(text, letters) || g >= strong && skipBytes(text, 0, &digit) == len(text)
}

// withoutBreaks returns text, of a string that is split over lines, without the breaks.
func withoutBreaks(text string) string {
	if strings.IndexByte(text, '\n') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
			end = i + n
		}
		part := strings.TrimRight(text[i:end], " \t\r\\\"'`+.&")
		if i > 0 || !isYAMLMark(part) {
			b.WriteString(strings.TrimLeft(part, "\"'`"))
		}
		i = skipMargin(text, min(end+1, len(text)))
	}
	return b.String()
}

// isYAMLMark reports whether text announces a block of lines.
func isYAMLMark(text string) bool {
	return text != "" && (text[0] == '|' || text[0] == '>') && strings.Trim(text[1:], "+-123456789") == ""
}

// placeholderWords are words in place of a secret.
var placeholderWords = map[string]bool{
	"": true, "null": true, "nil": true, "none": true, "true": true, "false": true, "undefined": true, "string": true, "str": true, "int": true, "bool": true,
	"required": true, "optional": true, "changeme": true, "change_me": true, "redacted": true, "secret": true, "token": true, "example": true, "here": true,
}

// isPlaceholder reports whether text represents a secret without containing it: a
// variable, a mask, a placeholder.
func isPlaceholder(text string) bool {
	if isVariable(text) {
		return true
	}
	lower := strings.ToLower(strings.Trim(text, "\"'`.,;:"))
	if placeholderWords[lower] || lower == strings.ToLower(strings.Trim(Mark, "<>")) {
		return true
	}
	for _, p := range []string{"your", "my_", "env.", "env:", "process.env", "os.environ", "os.getenv", "vault:", "placeholder", "dummy", "fake"} {
		if strings.HasPrefix(lower, p) {
			return true
		}
	}
	for _, p := range []string{"...", "…", "_here", "-here", "example"} {
		if strings.Contains(lower, p) {
			return true
		}
	}
	return hasFewBytes(lower) || strings.Contains(text, "xxxx") || strings.Contains(text, "XXXX")
}

// isVariable reports whether text is a variable or a template of some language,
// or a mask.
func isVariable(text string) bool {
	if text == "" || text == "?" || strings.Trim(text, "*") == "" || strings.Trim(text, ".") == "" || strings.Trim(text, "xX") == "" {
		return true
	}
	last := text[len(text)-1]
	switch text[0] {
	case '$':
		if len(text) < 3 || hasPrefix(text, "${", "$(", "$env:", "$Env:") {
			return len(text) > 1 && text[1] < 0x80
		}
		name := skipBytes(text, 1, &word)
		return !digit[text[1]] && (name == len(text) || name > 2 && text[name] == '/' && (byteAt(text, name+1) == '$' || letterBytes[byteAt(text, name+1)]))
	case ':': // of SQL
		return len(text) > 1 && skipBytes(text, 1, &word) == len(text) && letterBytes[text[1]] && !strings.ContainsAny(text, digits)
	case '{':
		return last == '}'
	case '<':
		return last == '>' && text != Mark
	case '[':
		return last == ']'
	case '%':
		return len(text) == 2 || last == '%' && skipBytes(text, 1, &word) == len(text)-1 || strings.HasPrefix(text, "%(") && strings.HasSuffix(text, ")s")
	}
	return false
}

// hasFewBytes reports whether text has fewer than three different bytes, or few
// different ones for its length.
func hasFewBytes(text string) bool {
	var seen byteSet
	n := 0
	for i := range min(len(text), 64) {
		if !seen[text[i]] {
			seen[text[i]] = true
			n++
		}
	}
	return n < 3 || len(text) >= 20 && n < 6
}

// isTemplate reports whether parts of text are filled in later.
func isTemplate(text string) bool {
	return strings.Contains(text, "${") || strings.Contains(text, "{{") || strings.Contains(text, "$(") || strings.Contains(text, "%s") || strings.Contains(text, "<") && strings.Contains(text, ">")
}

// isCodeText reports whether an unquoted text is an expression: a call, a field, an
// operator.
func isCodeText(text string) bool {
	if strings.ContainsAny(text, "()[]{}<>|*\\") || strings.HasPrefix(text, "&") || strings.Contains(text, "::") || strings.Contains(text, "->") {
		return true
	}
	for part := range strings.SplitSeq(text, ".") {
		if part == "" || !('a' <= part[0]|0x20 && part[0]|0x20 <= 'z') || skipBytes(part, 0, &word) < len(part) || len(part) > 24 {
			return false
		}
	}
	return strings.Contains(text, ".")
}

// looksRandom reports whether text looks random: not a word, path, number, date, id
// or expression of a language.
func looksRandom(text string) bool {
	if len(text) < 8 || len(text) > 8192 || len(text) >= 64 && hasFewBytes(text) {
		return false
	}
	var count [256]int
	kinds := [3]int{} // digits, lower, upper
	turns, last := 0, byte(0)
	for i := range len(text) {
		c := text[i]
		k := byte(0)
		switch {
		case c <= ' ' || c >= 0x7f:
			if c != '\n' && c != '\r' && c != '\\' {
				return false
			}
			continue
		case digit[c]:
			k = 1
		case 'a' <= c && c <= 'z':
			k = 2
		case 'A' <= c && c <= 'Z':
			k = 3
		}
		if k > 0 {
			kinds[k-1]++
		}
		if k != last {
			turns++
		}
		count[c]++
		last = k
	}
	if kinds[1]+kinds[2] == 0 || isCamelCase(text) || isPathOrTime(text) || isWordPhrase(text) {
		return false
	}
	h := byteEntropy(&count, len(text))
	if kinds[0] == 0 && (len(text) < 16 || kinds[1] == 0 || kinds[2] == 0 || h < 3.5 || turns*3 < len(text)) {
		return false
	}
	return turns >= 4 && h >= min(3, 0.8*math.Log2(float64(len(text)))) && !isPlaceholder(text) && !isTemplate(text)
}

// isCamelCase reports whether text consists of words of at least three letters,
// each with a capital or separated, without digits: CreateTokenWithIAM.
func isCamelCase(text string) bool {
	small, words := 0, 0 // letters since the last capital
	for i := 0; i <= len(text); i++ {
		c := byteAt(text, i)
		switch {
		case 'a' <= c && c <= 'z':
			small++
			continue
		case small > 0 && small < 3, i < len(text) && c != '_' && !letterBytes[c]:
			return false
		case small > 0:
			words++
		}
		small = 0
	}
	return words > 1
}

// isPathOrTime reports whether text is a path, an address, a time or a version.
func isPathOrTime(text string) bool {
	if strings.Contains(text, "://") {
		return true
	}
	if skipBytes(text, 0, &addressBytes) == len(text) {
		return true
	}
	if host, _, ok := strings.Cut(text, "/"); ok && strings.IndexByte(host, '.') > 0 && skipBytes(text, 0, &pathNames) == len(text) { // go4.org/readerutil
		return true
	}
	long := 0 // the longest run of letters and digits
	for i := 0; i < len(text); {
		end := skipBytes(text, i, &alnum)
		long = max(long, end-i)
		i = end + 1
	}
	for _, p := range []string{"/", "./", "../", "~/"} {
		if long < 20 && strings.HasPrefix(text, p) {
			return true
		}
	}
	return long < 8 && strings.ContainsAny(text, "/.") && !strings.ContainsAny(text, "!@#$%^&*+=")
}

// pathNames are the bytes of the path of a package.
var pathNames = newByteSet("abcdefghijklmnopqrstuvwxyz" + digits + "._-/")

// isWordPhrase reports whether text consists of words and numbers joined by dashes
// and the like, or of one short word.
func isWordPhrase(text string) bool {
	for i := 0; i < len(text); {
		end := skipBytes(text, i, &alnum)
		name := strings.TrimRight(text[i:end], digits)
		if strings.ContainsAny(name, digits) || len(name) > 16 || end-i == len(text) && len(text) >= 12 {
			return false
		}
		if end < len(text) && strings.IndexByte("_-.", text[end]) < 0 {
			return false
		}
		i = end + 1
	}
	return true
}

// addressBytes are the bytes of numbers, times, versions and addresses.
var addressBytes = newByteSet(digits + ".:-+TZvrc/_ ")

func byteEntropy(count *[256]int, n int) float64 {
	h := 0.0
	for _, c := range count {
		if c > 0 {
			p := float64(c) / float64(n)
			h -= p * math.Log2(p)
		}
	}
	return h
}
