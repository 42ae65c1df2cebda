package redact

import "strings"

// begin is how the first line of a key begins.
const begin = "-----BEGIN "

// privateKey finds what stands between the first line of a private key and its
// last, or, where that is missing, as far as lines look like one.
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
	stop := start + keyEnd(s[start:end])
	switch {
	case stop == start:
		return span{}
	case strings.HasPrefix(s[end:], "-----END") && end-stop < 128: // what is between is no text
		return span{start, end}
	}
	return span{start, stop}
}

// keyEnd returns how much of body looks like a key, in lines that are broken
// by themselves or by escapes; 0 where there is none.
func keyEnd(body string) int {
	end, found := 0, false
	for i := 0; i < len(body); {
		j := i
		for j < len(body) && !base64s[body[j]] && body[j] != '<' {
			j = beyond(body, j)
		}
		if strings.HasPrefix(body[j:], Mark) {
			return j + len(Mark)
		}
		k := skip(body, j, &base64s)
		switch text := body[j:k]; {
		case found && k-j >= 4 && (k-j >= 16 || lineEnds(body, k)), !found && k-j >= 16 && mixed(text):
			found, end = true, k
		case at(body, k) == ':' && k > j: // a header of the key
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

// beyond returns the index behind what stands at i and is no part of a key: the
// end of a line with the margin of the next, an escape such as \n, or a byte.
func beyond(s string, i int) int {
	switch {
	case newline(s, i) > i:
		return margin(s, newline(s, i))
	case s[i] == '\\' && i+1 < len(s) && s[i+1] != '\\':
		return i + 2
	}
	return i + 1
}

// lineEnds reports whether nothing but punctuation follows at i on its line.
func lineEnds(s string, i int) bool {
	for i < len(s) && strings.IndexByte(" \t\r\"'`,;+)", s[i]) >= 0 {
		i++
	}
	return i == len(s) || s[i] == '\n' || s[i] == '\\'
}
