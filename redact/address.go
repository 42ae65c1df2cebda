package redact

import "strings"

// urlBytes limits how much of an address is read.
const urlBytes = 512

// userinfo finds the password in scheme://user:password@host, and a token in place
// of the user. A password may contain the signs of an address: the text after its
// last @ is a host.
func userinfo(s string, from, to int) span {
	last, colon := -1, -1
	beyond := -1 // the last @ before the name of a host
	i := to
scan:
	for ; i < len(s) && i < to+urlBytes; i++ {
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
		case (c == '/' || c == '?' || c == '#') && (colon < 0 || last < 0 && isPort(s[colon+1:i])):
			break scan
		case (c == '/' || c == '?' || c == '#') && last >= 0:
			if beyond < 0 {
				beyond = lastHost(s, i)
			}
			if beyond < i || isHost(s[last+1:i]) {
				break scan
			}
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
	case start == to && !looksRandom(text), skipBytes(s, to, &nameBytes)+1 == start && skipBytes(text, 0, &nameBytes) == len(text): // USER:PASSWORD
		return span{}
	}
	return span{start, last}
}

// isPort reports whether text is a port: digits, or a placeholder for them.
func isPort(text string) bool {
	return text == "port" || skipBytes(text, 0, &word) == len(text) && (skipBytes(text, 0, &digit) == len(text) || strings.ToUpper(text) == text && !strings.ContainsAny(text, digits)) ||
		isVariable(text) || isTemplate(text) || text[0] == '%' || text[0] == ':'
}

// isHost reports whether text looks like a host: with a dot and no number at its
// end, or with a port.
func isHost(text string) bool {
	name, port, ported := strings.Cut(text, ":")
	if ported && (port == "" || !isPort(port)) || name == "" || skipBytes(name, 0, &dotted) < len(name) {
		return strings.HasPrefix(text, "[") || isTemplate(text)
	}
	top := name[strings.LastIndexByte(name, '.')+1:]
	return ported || name == "localhost" || len(top) < len(name) && (isTopLevel(top) || skipBytes(name, 0, &dottedDigits) == len(name))
}

var dottedDigits = newByteSet(digits + ".")

// lastHost returns the last @ after i that is followed by a host, in the same
// address; 0 if there is none.
func lastHost(s string, i int) (last int) {
	short := s[:min(len(s), i+urlBytes)]
	for ; i < len(short) && !space[s[i]] && !quotes[s[i]] && s[i] != '\\' && s[i] != ','; i++ {
		if s[i] != '@' {
			continue
		}
		end := i + 1
		for end < len(short) && (dotted[s[end]] || s[end] == ':') {
			end++
		}
		if isHost(s[i+1 : end]) {
			last = i
		}
	}
	return last
}

// urlParameter finds the value of a URL parameter whose name is too common to be
// used elsewhere.
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

// accountPassword finds the password in -u user:password and --user=user:password,
// of commands that download.
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
	for _, program := range []string{"curl", "wget", "http", "xh ", "etcdctl"} {
		if strings.Contains(s[max(0, from-400):from], program) {
			return span{i, v.to}
		}
	}
	return span{}
}
