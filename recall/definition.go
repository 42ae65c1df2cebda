package recall

import (
	"regexp"
	"strings"

	"github.com/tiercompact/tiercompact/embed"
)

// definition finds the names that a text defines, in the common languages.
var definition = regexp.MustCompile(`(?m)^[ \t]*(?:(?:export|public|private|protected|static|pub(?:\([a-z]+\))?|async|default|abstract|final|unsafe|extern)[ \t]+)*(?:func|def|class|type|function|fn|struct|interface|enum|trait|const|let|var|module|namespace|CREATE TABLE)[ \t]+(?:\([^)\n]{1,60}\)[ \t]*)?\*?([A-Za-z_$][\w$]{2,60})`)

// definitionTerm is a word that only the index has: a passage that defines a name has it.
func definitionTerm(name string) string {
	return "xdefinitionof" + strings.ToLower(strings.NewReplacer("_", "", "$", "").Replace(name))
}

// definitionTerms returns the terms of the names that a text defines.
func definitionTerms(text string) string {
	var b strings.Builder
	for _, m := range definition.FindAllStringSubmatch(text, -1) {
		b.WriteByte('\n')
		b.WriteString(definitionTerm(m[1]))
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
			s.corpus().Find(hash, func(doc, _ int) { out[int32(doc)] = true })
		}
	}
	return out
}

// isName reports whether a word has an underscore or an inner capital.
func isName(word string) bool {
	return strings.Contains(strings.Trim(word, "_"), "_") || strings.ToLower(word[1:]) != word[1:] && strings.ToUpper(word) != word
}
