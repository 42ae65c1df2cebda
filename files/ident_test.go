package files

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// identifiersIn returns the identifiers in text, each once, in order of first
// occurrence: paths, file names, snake_case and camelCase names of at least 4
// characters, hashes, ticket ids. Every identifier that the measure of
// identifier retention counts is one of them or, if the measure begins inside
// a word ("serName" of "UserName"), part of one.
func identifiersIn(text string) []string {
	var out []string
	seen := make(map[string]bool)
	eachIdent(text, func(start, end int) {
		if id := text[start:end]; !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	})
	return out
}

// measured is the pattern of the measure of identifier retention.
var measured = regexp.MustCompile(`(?:[\pL\pN_.-]+/)+[\pL\pN_.-]+` +
	`|[A-Za-z]+_[A-Za-z_0-9]{2,}` +
	`|[a-z]+[A-Z][\pL\pN_]+` +
	`|\b[0-9a-f]{7,40}\b` +
	`|\b[A-Z]{2,}-[\pL\pN_]+` +
	`|\b[\pL\pN_]+\.(?:ts|js|json|md|cjs|go|py|rs|tsx|cs|java|c|h|cpp|yaml|yml|toml)\b`)

func checkCovered(t *testing.T, text string) {
	t.Helper()
	all := strings.Join(identifiersIn(text), "\n")
	for _, at := range measured.FindAllStringIndex(text, -1) {
		id := text[at[0]:at[1]]
		if utf8.RuneCountInString(id) >= 4 && !insideWord(text, at) && !strings.Contains(all, id) {
			t.Fatalf("%q of %q is in none of %q", id, text, identifiersIn(text))
		}
	}
}

// insideWord reports whether a match touches a letter that is not ASCII: there
// the measure sees no end of a word, but Go's \b does.
func insideWord(text string, at []int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
	behind, _ := utf8.DecodeRuneInString(text[at[1]:])
	return before > utf8.RuneSelf && unicode.In(before, unicode.L, unicode.N) || behind > utf8.RuneSelf && unicode.In(behind, unicode.L, unicode.N)
}

func TestIdentifiers(t *testing.T) {
	tests := []struct{ text, want string }{
		{"see src/app/user_manager.py:12 and ./a/b", "src/app/user_manager.py ./a/b"},
		{"call getUser(id) or get_user or UserManager", "getUser get_user UserManager"},
		{"commit 0a1b2c3d fixes ABC-123, not 12", "0a1b2c3d ABC-123"},
		{"main.go and userManager.ts; e.g. nothing", "main.go userManager.ts"},
		{"plain words only, even internationalization", ""},
		{"a//b /x/ / ./", ""},
		{"https://example.com/a/b?x=y_z1", "example.com/a/b y_z1"},
		{"größeÜber_xy naïve/Datei", "größeÜber_xy naïve/Datei"},
		{"x_y a_bc", "a_bc"},
		{"again getUser getUser", "getUser"},
	}
	for _, test := range tests {
		if got := strings.Join(identifiersIn(test.text), " "); got != test.want {
			t.Errorf("identifiersIn(%q) = %q, want %q", test.text, got, test.want)
		}
		checkCovered(t, test.text)
	}
}

func FuzzIdentifiers(f *testing.F) {
	f.Add("a/b.go x_yz fooBar 0123456789 AB-1 a.go")
	f.Add("a-a-a/b//c é_xx/ß.md")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			identifiersIn(text)
			return
		}
		checkCovered(t, text)
	})
}

func BenchmarkIdentifiers(b *testing.B) {
	text := strings.Repeat("func (s *Session) addMessage(ctx context.Context) error { return s.store/x.put_all }\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n := 0
		eachIdent(text, func(int, int) { n++ })
	}
}
