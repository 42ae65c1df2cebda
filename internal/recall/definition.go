package recall

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact/embed"
)

// Words at the beginning of a line that defines a name, in the common languages.
var (
	defining  = wordSet("func", "def", "class", "type", "function", "fn", "struct", "interface", "enum", "trait", "const", "let", "var", "module", "namespace")
	modifying = wordSet("export", "public", "private", "protected", "static", "pub", "async", "default", "abstract", "final", "unsafe", "extern")
)

func wordSet(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// definedIn returns the name that a line defines, "" for none.
func definedIn(line string) string {
	line = strings.TrimLeft(line, " \t")
	for range 5 {
		word, rest, more := strings.Cut(line, " ")
		switch {
		case !more || len(word) > 9:
			return ""
		case defining[word]:
			if strings.HasPrefix(rest, "(") { // a receiver
				_, rest, _ = strings.Cut(rest, ") ")
			}
			return leadingName(strings.TrimLeft(rest, " *"))
		case !modifying[word]:
			return ""
		}
		line = rest
	}
	return ""
}

func leadingName(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		end = len(text)
	}
	if end < 3 || end > 60 {
		return ""
	}
	return text[:end]
}

// definitionTerm is a word that only the index has: a passage that defines a name has it.
func definitionTerm(name string) string {
	return "xdefinitionof" + strings.ToLower(strings.NewReplacer("_", "", "$", "").Replace(name))
}

// definitionTerms returns the terms of the names that a text defines.
func definitionTerms(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if trimmed := strings.TrimLeft(line, " "); trimmed != "" && trimmed[0] <= '9' {
			line = withoutNumber(line)
		}
		if name := definedIn(line); name != "" {
			b.WriteString("\n" + definitionTerm(name))
		}
	}
	return b.String()
}

// name finds words of a query that may be names.
var name = regexp.MustCompile(`[A-Za-z_$][\w$]{2,60}`)

// definesOf returns the passages that define a name in the query. A word counts as a name
// if it has several parts, or if it is all that is asked for.
func (s *snapshot) definesOf(query string) map[int32]bool {
	out := make(map[int32]bool)
	words := name.FindAllString(query, -1)
	for _, word := range words[:min(len(words), 50)] {
		if len(words) > 1 && !isName(word) {
			continue
		}
		for hash := range embed.TermsOfText(definitionTerm(word)).Counts() {
			for _, p := range s.corpus().Postings(hash, nil) {
				out[p.Doc] = true
			}
		}
	}
	return out
}

// isName reports whether a word has an underscore or an inner capital.
func isName(word string) bool {
	return strings.Contains(strings.Trim(word, "_"), "_") || strings.ToLower(word[1:]) != word[1:] && strings.ToUpper(word) != word
}
