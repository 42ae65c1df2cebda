package redact

import (
	"slices"
	"strings"
)

// People and programs give a password in a sentence, or after a prompt. It may look
// like any word: only text unlike a word is replaced, or text alone after a prompt.

// verbs are between the name of a secret and its value; particles are the same in
// languages without a space before them.
var (
	verbs     = []string{" is now ", " is: ", " was changed to ", " was reset to ", " was set to ", " changed to ", " reset to ", " set to ", " has been changed to ", " has been reset to ", " has been set to ", " should be ", " must be ", " would be ", " will be ", " equals ", " now ", " incorrect: ", " rejected: ", " invalid: ", " wrong: ", "'s ", " is ", " was ", " to ", " wurde auf ", " geändert zu ", " es: ", " est: ", " est : ", " é: ", " a ", " para ", " ist ", " lautet: ", " lautet ", " es ", " est ", " è ", " é ", " là "}
	particles = []string{"改为", "改成", " 改成 ", "是", "为", "は", "는 ", "은 ", "가 ", "이 ", "를 ", "을 "}

	verbsBy = groupVerbs(verbs) // by their first byte after a space
)

func groupVerbs(words []string) (by [256][]string) {
	for _, w := range words {
		first := strings.TrimPrefix(w, " ")[0]
		by[first] = append(by[first], w)
	}
	return by
}

// said is "the name is value".
func said(s string, _, end int) int {
	var between []string
	switch c := byteAt(s, end); {
	case c == ' ':
		between = verbsBy[byteAt(s, end+1)]
	case c == '\'':
		between = verbsBy[c]
	case c >= 0x80:
		between = particles
	}
	for _, verb := range between {
		if strings.HasPrefix(s[end:], verb) {
			return skipBlanks(s, end+len(verb))
		}
	}
	return -1
}

// spoken finds "the password for root is value", and the value behind the prompt
// "Password for root: ".
func spoken(s string, end int, g grade) span {
	if g < strong {
		return span{}
	}
	if i := said(s, 0, end); i > 0 {
		if x := spokenWord(s, i, false); x.to > 0 {
			return x
		}
	}
	if hasPrefix(s[end:], " (", " [") {
		if x := spokenWord(s, end+len(" ("), false); x.to > 0 {
			return x
		}
	}
	if s[end-1] >= 0x80 && byteAt(s, end) == '(' {
		return spokenWord(s, end+1, false)
	}
	if n := skipBytes(s, end+1, &sentenceBytes); g == must && byteAt(s, end) == ' ' && n < end+48 && byteAt(s, n) == ':' && byteAt(s, n+1) == ' ' && !slices.Contains(plainEnds, strings.ToLower(s[end+1:n])) { // contraseña nueva: X
		return spokenWord(s, skipBlanks(s, n+1), false)
	}
	i, prompt := whose(s, end)
	if i < 0 {
		return span{}
	}
	return spokenWord(s, i, prompt)
}

// whose skips whom or what a password is for, and returns the beginning of its
// value, and whether a colon is before it; -1 if there can be no value.
func whose(s string, end int) (i int, prompt bool) {
	if byteAt(s, end) != ' ' {
		return -1, false
	}
	line, _, _ := strings.Cut(s[end:min(len(s), end+96)], "\n")
	if !hasPrefix(line, " for ", " of ", " to ", " on ", " in ", " für ", " von ", " para ", " de ", " del ", " pour ", " du ", " des ", " do ", " da ", " di ", " zum ", " от ", " для ", " is generated for ", " was generated for ", " [") {
		return -1, false
	}
	for j := 1; j < len(line); j++ {
		if (line[j] == ':' || line[j] == '?') && byteAt(line, j+1) == ' ' {
			return skipBlanks(s, end+j+1), true
		}
		if strings.IndexByte(";=(){}|", line[j]) >= 0 {
			return -1, false
		}
		if line[j] != ' ' {
			continue
		}
		for _, verb := range verbsBy[byteAt(line, j+1)] {
			if verb != " to " && strings.HasPrefix(line[j:], verb) {
				return skipBlanks(s, end+j+len(verb)), false
			}
		}
	}
	return -1, false
}

// spokenWord returns the word at i if it is a password and not a word of a
// language, or if it is alone after a prompt.
func spokenWord(s string, i int, prompt bool) span {
	v := valueAt(s[:min(len(s), i+enoughBytes)], i)
	v.to = max(v.from, v.to)
	if n := escapedBreak(s[v.from:v.to]); n >= 0 && !v.quoted {
		v.to = v.from + n
	}
	for _, pair := range []string{"()", "[]"} {
		n := strings.IndexByte(s[v.from:v.to], pair[1])
		if byteAt(s, i-1) != pair[0] || v.quoted {
			continue
		}
		if n >= 0 {
			v.to = v.from + n
		} else if pair[0] == '[' && byteAt(s, v.to) != ']' {
			return span{} // options
		}
	}
	text := s[v.from:v.to]
	if !v.quoted {
		text = strings.TrimRight(text, ".,;:?|")
	}
	switch {
	case text == Mark:
		return span{v.from, v.to}
	case !prompt && skipBytes(text, 0, &letterBytes) == len(text), len(text) < 4, isPlaceholder(text), isTemplate(text), expressionKind(strings.TrimLeft(text, "*&")) > 0, technical(text):
		return span{}
	case unlikeWords(text):
		return span{v.from, v.to}
	case prompt && !v.quoted && !proseWords[strings.ToLower(text)] && !states[strings.ToLower(text)] && lineEnds(s, v.to):
		return span{v.from, v.to}
	}
	return span{}
}

// states are words alone after an apparent prompt that give the state of a
// password.
var states = newWordSet("required optional expired incorrect correct invalid valid wrong missing empty none set unset unchanged changed updated accepted rejected failed denied hidden disabled enabled generated unknown default same reset sent stored encrypted hashed")

// unlikeWords reports whether text has digits among letters, or signs that no word
// has.
func unlikeWords(text string) bool {
	if isPathOrTime(text) || strings.ContainsAny(text, "()[]{}<>|\\/") && !looksRandom(text) {
		return false
	}
	mixedIn := strings.ContainsAny(text, digits) && strings.ContainsAny(text, letters)
	return mixedIn || strings.ContainsAny(text[:len(text)-1], "!#$%^&*+=~@") && strings.ContainsAny(text, letters)
}

// technical reports whether text is a word about a format or a size that contains
// digits: base64-encoded, SHA-256, 12-character, 24h.
func technical(text string) bool {
	lower := strings.ToLower(text)
	if name := strings.TrimRight(strings.TrimLeft(lower, "*&"), digits); machineTypes[name] {
		return true
	}
	for _, p := range []string{"base64", "base32", "sha", "md5", "utf", "argon2", "pbkdf2", "aes", "rsa", "ed25519", "x509", "x.509", "oauth2", "http", "rfc", "iso", "jwt", "pkcs", "hs", "rs", "es", "p-", "v"} {
		if rest, ok := strings.CutPrefix(lower, p); ok && !strings.ContainsAny(strings.TrimLeft(rest, digits+"-_."), digits) && (len(p) > 2 || skipBytes(rest, 0, &amountBytes) == len(rest)) {
			return true
		}
	}
	if rule, bound, ok := strings.Cut(text, ":"); ok && skipBytes(rule, 0, &lowercase) == len(rule) && skipBytes(bound, 0, &digit) == len(bound) { // min:8
		return true
	}
	n := skipBytes(text, 0, &digit)
	unit := strings.Trim(text[n:], "-_")
	return n == len(text) || n > 0 && skipBytes(unit, 0, &lowercase) == len(unit) && (len(unit) < 3 || text[n] == '-' || text[n] == '_')
}

// machineTypes are types whose names end with a number of bits.
var machineTypes = newWordSet("int uint float complex i u f int_ uint_ nvarchar varchar char string bytes byte text field arg param input value item line step level page user type mode")

// postgres finds the password in a line of .pgpass, around the port in it:
// host:port:database:user:password.
func postgres(s string, from, to int) span {
	host := skipBack(s, from, &hostnames)
	if host == from && byteAt(s, from-1) != '*' || !wordBegins(s, host) {
		return span{}
	}
	i := to
	for range 2 { // database and user
		end := skipAtMost(s, i, 64, &columns)
		if end == i || byteAt(s, end) != ':' {
			return span{}
		}
		i = end + 1
	}
	end := bareValueEnd(s[:min(len(s), i+enoughBytes)], i)
	if n := escapedBreak(s[i:end]); n >= 0 {
		end = i + n
	}
	if text := s[i:trimmedEnd(s, i, end)]; text != "" && !isVariable(text) && text[len(text)-1] != ':' {
		return span{i, i + len(text)}
	}
	return span{}
}

var (
	hostnames = newByteSet(letters + digits + ".-_*[]/")
	columns   = newByteSet(letters + digits + ".-_*")
)

// escapedBreak returns the end of a line in a string of JSON or of a program; -1 if
// there is none.
func escapedBreak(text string) int {
	for _, brk := range []string{`\n`, `\r`, `\"`} {
		if n := strings.Index(text, brk); n >= 0 {
			return n
		}
	}
	return -1
}

// cookies finds random text in the cookies of a header, from the first to the last
// of them.
func cookies(s string, _, to int) span {
	i := skipBlanks(s, to)
	if next := openingQuote(s, i); next > i { // "Cookie": "a=b; c=d"
		i = next
	}
	return cookiesAt(s, i)
}

// cookiesAt is cookies for the pairs that begin at i.
func cookiesAt(s string, i int) (x span) {
	for range 64 {
		name := skipAtMost(s, i, 128, &dotted)
		if name == i || byteAt(s, name) != '=' {
			break
		}
		end := skipAtMost(s, name+1, 4096, &cookieBytes)
		if n := escapedBreak(s[name+1 : end]); n >= 0 {
			end = name + 1 + n
		}
		if text := s[name+1 : end]; text == Mark || sealed(text) {
			if x.to == 0 {
				x.from = name + 1
			}
			x.to = end
		}
		if byteAt(s, end) != ';' {
			break
		}
		i = skipBlanks(s, end+1)
	}
	return x
}

var cookieBytes = newByteSet(letters + digits + "!#$%&()*+-./:<=>?@[]^_{|}~")

// sealed reports whether the value of a cookie looks random, as a whole or in one
// of its parts.
func sealed(text string) bool {
	if strings.Contains(text, Mark) {
		return false
	}
	if looksRandom(text) || len(text) >= 32 && skipBytes(text, 0, &hex) == len(text) && !hasFewBytes(text) {
		return true
	}
	for i := 0; i < len(text); {
		end := skipBytes(text, i, &alnum)
		if p := strings.TrimPrefix(text[i:end], "3A"); end-i >= 16 && looksRandom(p) {
			return true
		}
		i = end + 1
	}
	return false
}
