package files

import "strings"

// ShortenArgs returns the arguments of a call with another text in the place of
// each string leaf for which cut returns one. Key order and all other values
// stay as they are; arguments that are no JSON object come back unchanged.
func ShortenArgs(args string, cut func(key, text string) string) string {
	var b strings.Builder
	at := 0
	for _, l := range leaves(args) {
		if text := cut(l.key, l.value); text != l.value {
			b.WriteString(args[at:l.at])
			b.WriteString(quote(text))
			at = l.end
		}
	}
	if at == 0 {
		return args
	}
	b.WriteString(args[at:])
	return b.String()
}
