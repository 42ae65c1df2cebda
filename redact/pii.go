package redact

import (
	"slices"
	"strings"
)

// personal returns s with marks in place of e-mail addresses and phone numbers.
func personal(s string) string {
	e := editor{text: s}
	free := 0
	for i := 0; i < len(s); i++ {
		if !personalSigns[s[i]] {
			continue
		}
		var x span
		switch c := s[i]; {
		case c == '@':
			x = email(s, i, free)
		case (c == '+' || c == '(' || digit[c]) && (i == 0 || !digit[s[i-1]] && s[i-1] != '+' && s[i-1] != '('):
			x = phone(s, i)
		}
		if x.to > 0 && x.from >= free {
			e.mark(x)
			free = x.to
			i = max(i, x.to-1)
		}
	}
	return e.result()
}

var (
	personalSigns = bytesOf(digits + "@+(")

	locals = bytesOf(letters + digits + "._%+-")
	hosts  = bytesOf(letters + digits + ".-")
)

// email returns the address with its @ at i.
func email(s string, i, free int) span {
	from := max(free, skipBack(s, i, &locals))
	end := skip(s[:min(len(s), i+128)], i+1, &hosts)
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
	if from == i || dot < 2 || at(s, i+1) == '.' || !topLevel(top) || at(s, end) == ':' && alnum[at(s, end+1)] || versions(host[:dot]) ||
		s[from:i] == "git" || machine(s[from:i]) || strings.HasSuffix(s[:from], "%") || strings.HasSuffix(s[:from], "://") { // who logs in
		return span{}
	}
	return span{from, end}
}

// machine reports whether what stands before the @ is no person: nobody reads
// what is sent there.
func machine(local string) bool {
	local = strings.ToLower(local)
	return local == "noreply" || local == "no-reply" || local == "donotreply" || local == "do-not-reply" || strings.HasSuffix(local, "+noreply") || strings.HasPrefix(local, "%")
}

// topLevel reports whether an address may end so: a file, a unit and a field of
// an object end otherwise.
func topLevel(top string) bool {
	return len(top) >= 2 && len(top) <= 24 && skip(top, 0, &letter) == len(top) && !files[strings.ToLower(top)]
}

// files are ends of names of files and units.
var files = wordSet("png jpg jpeg gif svg webp ico css scss js jsx mjs cjs ts tsx json html htm xml yaml yml toml txt log lock zip gz tgz tar jar whl exe dll go java class php vue map pdf csv service socket timer mount target slice local localdomain")

// versions reports whether a name is numbers, as in pkg@v1.2.3.zip.
func versions(s string) bool {
	return skip(strings.TrimPrefix(s, "v"), 0, &amounts) == len(strings.TrimPrefix(s, "v"))
}

// phone returns the number that begins at i: an international one, one of North
// America with its parts apart, or one with the word phone before it.
func phone(s string, i int) span {
	labelled := telephone(s, i)
	if !labelled && (!begins(s, i) || i > 0 && (strings.IndexByte(".-/_", s[i-1]) >= 0 || s[i] != '+' && strings.IndexByte(":=", s[i-1]) >= 0)) {
		return span{}
	}
	end, sizes := groups(s, i)
	if c := at(s, end); word[c] || c == '-' || c == '.' && digit[at(s, end+1)] {
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

// telephone reports whether a word that says so stands before the number at i.
func telephone(s string, i int) bool {
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
	start := skipBack(s, j, &letter)
	for _, w := range []string{"phone", "telephone", "tel", "mobile", "fax", "telefon", "handy", "whatsapp"} {
		if strings.EqualFold(s[start:j], w) {
			return true
		}
	}
	return false
}

// groups returns how many digits the groups have of the number that begins at i,
// and where it ends. Of what has more than 15 groups it returns none.
func groups(s string, i int) (end int, sizes []int) {
	j := i
	if s[j] == '+' {
		j++
	}
	for len(sizes) < 16 {
		open := j
		if at(s, j) == '(' {
			open++
		}
		if j = skip(s, open, &digit); j == open {
			return i, nil
		}
		sizes = append(sizes, j-open)
		end = j
		if open > 0 && s[open-1] == '(' {
			if at(s, j) != ')' {
				return i, nil
			}
			j++
		}
		next := separated(s, j)
		if next == j {
			return end, sizes
		}
		j = next
	}
	return i, nil
}

// separated returns the index behind what stands between the groups of a
// number, if a group follows.
func separated(s string, i int) int {
	j := i
	if at(s, j) == ' ' {
		j++
	}
	if c := at(s, j); j == i && (c == '-' || c == '.') {
		j++
	}
	if c := at(s, j); c == '(' && digit[at(s, j+1)] || digit[c] {
		return j
	}
	return i
}
