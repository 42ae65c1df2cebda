package redact

import (
	"slices"
	"strings"
)

// redactPersonal returns s with marks in place of e-mail addresses and phone numbers.
func redactPersonal(s string) string {
	e := markEditor{text: s}
	free := 0
	for i := 0; i < len(s); i++ {
		if !personalSigns[s[i]] {
			continue
		}
		var x span
		switch c := s[i]; {
		case c == '@':
			x = emailSpan(s, i, free)
		case (c == '+' || c == '(' || digit[c]) && (i == 0 || !digit[s[i-1]] && s[i-1] != '+' && s[i-1] != '('):
			x = phoneSpan(s, i)
		}
		if x.to > 0 && x.from >= free {
			e.markSpan(x)
			free = x.to
			i = max(i, x.to-1)
		}
	}
	return e.resultText()
}

var (
	personalSigns = newByteSet(digits + "@+(")

	locals = newByteSet(letters + digits + "._%+-")
	hosts  = newByteSet(letters + digits + ".-")
)

// emailSpan returns the address with its @ at i.
func emailSpan(s string, i, free int) span {
	from := max(free, skipBack(s, i, &locals))
	end := skipBytes(s[:min(len(s), i+128)], i+1, &hosts)
	for end > i && !alnum[s[end-1]] {
		end--
	}
	host := s[min(i+1, end):end]
	dot := len(host)
	for dot > 0 && host[dot-1] != '.' {
		dot--
	}
	for from < i && !alnum[s[from]] {
		from++
	}
	top := host[dot:]
	if from == i || dot < 2 || byteAt(s, i+1) == '.' || !isTopLevel(top) || byteAt(s, end) == ':' && alnum[byteAt(s, end+1)] || isVersionName(host[:dot]) ||
		s[from:i] == "git" || machine(s[from:i]) || strings.HasSuffix(s[:from], "%") || strings.HasSuffix(s[:from], "://") { // the account
		return span{}
	}
	return span{from, end}
}

// machine reports whether the text before the @ is not a person: nobody reads mail
// to it.
func machine(local string) bool {
	local = strings.ToLower(local)
	return local == "noreply" || local == "no-reply" || local == "donotreply" || local == "do-not-reply" || strings.HasSuffix(local, "+noreply") || strings.HasPrefix(local, "%")
}

// isTopLevel reports whether an address may end like this: a file, a unit and a
// field of an object end otherwise.
func isTopLevel(top string) bool {
	return len(top) >= 2 && len(top) <= 24 && skipBytes(top, 0, &letterBytes) == len(top) && !fileSuffixes[strings.ToLower(top)]
}

// fileSuffixes are ends of names of files and units.
var fileSuffixes = newWordSet("png jpg jpeg gif svg webp ico css scss js jsx mjs cjs ts tsx json html htm xml yaml yml toml txt log lock zip gz tgz tar jar whl exe dll go java class php vue map pdf csv service socket timer mount target slice local localdomain")

// isVersionName reports whether a name is numbers, as in pkg@v1.2.3.zip.
func isVersionName(s string) bool {
	return skipBytes(strings.TrimPrefix(s, "v"), 0, &amountBytes) == len(strings.TrimPrefix(s, "v"))
}

// phoneSpan returns the number that begins at i: an international one, one of North
// America with separate parts, or one after the word phone.
func phoneSpan(s string, i int) span {
	labelled := saysTelephone(s, i)
	if !labelled && (!wordBegins(s, i) || i > 0 && (strings.IndexByte(".-/_", s[i-1]) >= 0 || s[i] != '+' && strings.IndexByte(":=", s[i-1]) >= 0)) {
		return span{}
	}
	end, sizes := digitGroups(s, i)
	if c := byteAt(s, end); word[c] || c == '-' || c == '.' && digit[byteAt(s, end+1)] {
		return span{}
	}
	n := 0
	for _, size := range sizes {
		n += size
	}
	if labelled && n >= 7 && n <= 15 {
		return span{i, end}
	}
	international := s[i] == '+' && n >= 9 && n <= 15 && (len(sizes) > 1 || n >= 11)
	if s[i] == '1' && len(sizes) == 4 && sizes[0] == 1 {
		sizes = sizes[1:]
	}
	if international || slices.Equal(sizes, []int{3, 3, 4}) {
		return span{i, end}
	}
	return span{}
}

// saysTelephone reports whether a word for telephone is before the number at i.
func saysTelephone(s string, i int) bool {
	if i < 3 {
		return false
	}
	j := i
	for low := max(0, i-6); j > low && strings.IndexByte(" :=.\"'#", s[j-1]) >= 0; {
		j--
	}
	if j == i || j == 0 || s[j-1]|0x20 < 'a' || s[j-1]|0x20 > 'z' {
		return false
	}
	start := skipBack(s, j, &letterBytes)
	for _, w := range []string{"phone", "telephone", "tel", "mobile", "fax", "telefon", "handy", "whatsapp"} {
		if strings.EqualFold(s[start:j], w) {
			return true
		}
	}
	return false
}

// digitGroups returns the lengths of the digit groups of the number that begins at
// i, and its end. It returns none for more than 15 groups.
func digitGroups(s string, i int) (end int, sizes []int) {
	j := i
	if s[j] == '+' {
		j++
	}
	for len(sizes) < 16 {
		open := j
		if byteAt(s, j) == '(' {
			open++
		}
		if j = skipBytes(s, open, &digit); j == open {
			return i, nil
		}
		sizes = append(sizes, j-open)
		end = j
		if open > 0 && s[open-1] == '(' {
			if byteAt(s, j) != ')' {
				return i, nil
			}
			j++
		}
		next := skipSeparator(s, j)
		if next == j {
			return end, sizes
		}
		j = next
	}
	return i, nil
}

// skipSeparator returns the index after the separator between groups of a number,
// if a group follows.
func skipSeparator(s string, i int) int {
	j := i
	if byteAt(s, j) == ' ' {
		j++
	}
	if c := byteAt(s, j); j == i && (c == '-' || c == '.') {
		j++
	}
	if c := byteAt(s, j); c == '(' && digit[byteAt(s, j+1)] || digit[c] {
		return j
	}
	return i
}
