package redact

import "strings"

// userinfo finds the password in scheme://user:password@host, and a token in
// the user's place.
func userinfo(s string, from, to int) span {
	web := from > 0 && (s[from-1]|0x20 == 'p' || strings.HasSuffix(strings.ToLower(s[max(0, from-5):from]), "https"))
	last, colon := -1, -1
	i := to
scan:
	for ; i < len(s) && i < to+512; i++ {
		switch c := s[i]; {
		case c == '@':
			last = i
		case c == ':' && colon < 0:
			colon = i
		case quotes[c] || c == '\\':
			next := bridgeLines(s, i)
			if next < 0 {
				break scan
			}
			i = next - 1
		case space[c] || strings.HasPrefix(s[i:], "://") || c == '>' && s[i-1] != 'D' || c == ',' && last > 0:
			break scan
		case (c == '/' || c == '?' || c == '#') && (web || last >= 0 || colon < 0 || skipBytes(s, colon+1, &digit) == i):
			break scan
		}
	}
	if last < 0 {
		return span{}
	}
	start := to
	if colon >= 0 && colon < last {
		start = colon + 1
	}
	text := s[start:last]
	switch {
	case text == Mark:
		return span{start, last}
	case text == "" || strings.ContainsAny(text[:1], "${<%[*") || isTemplate(text) || strings.Trim(text, ".x*") == "":
		return span{}
	case start == to && !looksRandom(text):
		return span{}
	}
	return span{start, last}
}

// urlParameter finds the value of a parameter in a URL whose name is too common
// to be taken elsewhere.
func urlParameter(s string, _, to int) span {
	if strings.HasPrefix(s[to:], Mark) {
		return span{to, to + len(Mark)}
	}
	end := skipAtMost(s, to, enoughBytes, &queryBytes)
	if text := s[to:trimmedEnd(s, to, end)]; !looksRandom(text) {
		return span{}
	}
	end = trimmedEnd(s, to, skipBytes(s, end, &queryBytes))
	if next := bridgeLines(s, end); next > 0 {
		end = skipBytes(s, next, &bearerBytes)
	}
	return span{to, end}
}

// queryBytes are the bytes of a value in a URL.
var queryBytes = newByteSet(letters + digits + "-._~+/=%!*$(),:;@|^{}[")

// accountPassword finds the password in -u user:password and --user=user:password, of
// commands that fetch.
func accountPassword(s string, from, to int) span {
	short := s[:min(len(s), to+enoughBytes)]
	v := valueAt(short, skipToValue(s, to))
	i := v.from + 1 + strings.IndexByte(s[v.from:max(v.from, v.to)], ':')
	if v.quoted && byteAt(s, v.after) == ':' { // "user":"password"
		v = valueAt(short, v.after+1)
		i = v.from
	} else if i == v.from {
		return span{}
	}
	if v.to <= i {
		return span{}
	}
	if text := s[i:v.to]; text != Mark && (text == "" || isPlaceholder(text)) {
		return span{}
	}
	for _, program := range []string{"curl", "wget", "http", "xh "} {
		if strings.Contains(s[max(0, from-400):from], program) {
			return span{i, v.to}
		}
	}
	return span{}
}
