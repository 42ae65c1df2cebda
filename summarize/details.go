package summarize

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
	"github.com/tiercompact/tiercompact/redact"
)

// scanDetails records the values in a text: ports, branches, tickets, addresses,
// settings.
func (w *messageScanner) scanDetails(body string) {
	taken := 0
	name := ""
	for field := range strings.FieldsSeq(clip.Bytes(body, maxScan)) {
		if _, link, ok := strings.Cut(field, "]("); ok {
			field = link
		}
		word := strings.Trim(field, "`\"'.,;:()[]{}*!?<>“”")
		switch {
		case word == "", strings.Contains(field, redact.Mark): // a secret is no detail
		case isAddress(word), isSetting(word), isTicketWord(word):
			w.addItem(detail, clipLine(word, 120))
			taken++
		case name != "" && looksLikeValue(name, word):
			w.addItem(detail, name+" "+clipLine(word, 80))
			taken++
		}
		if taken == maxDetails {
			return
		}
		switch name {
		case "":
			name = valueName(word)
		default:
			if w := strings.ToLower(word); w != "is" && w != "=" && w != "to" && w != "id" && w != "named" && w != "called" && w != "" {
				name = valueName(word)
			}
		}
	}
}

// maxDetails limits the values of one message.
const maxDetails = 12

// valueName returns word if a value is likely to follow it.
func valueName(word string) string {
	switch low := strings.ToLower(word); low {
	case "port", "branch", "version", "ticket", "issue", "pr", "commit", "tag", "host", "database", "region", "bucket", "queue", "user", "account", "id", "timeout", "limit", "deadline", "budget", "environment", "cluster", "namespace", "release", "sha":
		return low
	}
	return ""
}

// looksLikeValue reports whether word looks like a value of the kind name.
func looksLikeValue(name, word string) bool {
	if len(word) > 80 {
		return false
	}
	digits := strings.ContainsAny(word, "0123456789")
	switch name {
	case "commit", "sha":
		return len(word) >= 7 && digits && strings.Trim(word, "0123456789abcdef") == ""
	case "id", "user", "account":
		return len(word) >= 4 && digits
	case "branch", "tag", "issue", "pr", "ticket":
		if len(strings.TrimLeft(word, "#v")) < 2 {
			return false // the second of several
		}
	}
	switch name {
	case "port", "issue", "pr", "timeout", "limit", "version", "ticket", "deadline", "budget", "release":
		return digits
	}
	for t := range wordTokens(word) {
		if checkable(t) {
			return true
		}
	}
	named := name == "branch" || name == "tag" || name == "cluster" || name == "namespace" || name == "bucket" || name == "queue" || name == "host" || name == "database"
	return named && strings.ContainsAny(word, "/_-.") && len(word) > 3
}

// isAddress reports whether word is a URL or a host with a port.
func isAddress(word string) bool {
	if i := strings.Index(word, "://"); i > 1 {
		return len(word) > i+4
	}
	host, port, ok := strings.Cut(word, ":")
	return ok && (host == "localhost" || strings.Count(host, ".") >= 3) && port != "" && strings.Trim(port, "0123456789") == ""
}

// isSetting reports whether word sets a variable to a value: NAME=value.
func isSetting(word string) bool {
	name, value, ok := strings.Cut(word, "=")
	given := value != "" && strings.IndexByte("$<%{(", value[0]) < 0 && !containsAny(value, `\$`, `\"`) // not a variable, a placeholder or a part of a quoted text
	return ok && given && len(name) >= 3 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" && name[0] > '9'
}

// isTicketWord reports whether word looks like the key of a ticket, not like the name of
// a standard.
func isTicketWord(word string) bool {
	before, after, ok := strings.Cut(word, "-")
	if slices.Contains([]string{"UTF", "SHA", "ISO", "AES", "RSA", "MD", "HTTP", "TLS", "UCS", "CP", "KOI", "COVID", "GPT", "WIN", "IPV", "USB"}, strings.ToUpper(before)) {
		return false
	}
	return ok && len(before) >= 2 && isTicket(before, after) && strings.Trim(after, "0123456789") == ""
}
