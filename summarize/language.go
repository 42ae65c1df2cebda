package summarize

import (
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact/chat"
)

// Thresholds of the language check: it rejects only if both texts are clear.
const (
	minWords  = 6    // minimum number of common words of a language
	minScript = 0.2  // share of a script in the user's letters
	maxStray  = 0.02 // share of it in a summary that is in another language
	maxSample = 64 << 10
)

// otherLanguage reports whether text is clearly not in the user's language.
func otherLanguage(text string, r Request) bool {
	user := userText(r.Messages)
	theirs, letters := countScripts(user)
	ours, total := countScripts(text)
	for i, n := range theirs {
		if letters > 0 && total > 0 && float64(n) >= minScript*float64(letters) {
			return float64(ours[i]) < maxStray*float64(total)
		}
	}
	for i, n := range ours {
		if total > 0 && float64(n) >= 0.5*float64(total) && letters > 20 && theirs[i] == 0 {
			return true
		}
	}
	want, clear := latinLanguage(user)
	got, clearly := latinLanguage(text)
	return clear && clearly && want != got
}

// userText returns the texts that a person typed, up to a sample's size, the newest
// last.
func userText(messages []chat.Message) string {
	var texts []string
	size := 0
	for i := len(messages) - 1; i >= 0 && size < maxSample; i-- {
		if messages[i].Typed() {
			body := bytePrefix(messages[i].TypedText(), 4<<10)
			texts = append(texts, body)
			size += len(body)
		}
	}
	return strings.Join(texts, "\n")
}

// countScripts returns the letters of text in each script other than Latin, and
// all its letters.
func countScripts(text string) (counts [7]int, letters int) {
	tables := [...]*unicode.RangeTable{unicode.Han, unicode.Hangul, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew, unicode.Devanagari, unicode.Thai}
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if r < 0x370 {
			continue
		}
		for i, t := range tables {
			if unicode.Is(t, r) {
				counts[i]++
			}
		}
		if unicode.In(r, unicode.Hiragana, unicode.Katakana) {
			counts[0]++
		}
	}
	return counts, letters
}

// latinLanguage returns the language of text by its common words, and whether it is
// clear.
func latinLanguage(text string) (tongue string, clear bool) {
	counts := make(map[string]int)
	for w := range wordTokens(bytePrefix(text, maxSample)) {
		if len(w.text) <= 6 {
			for _, t := range languagesOf(strings.ToLower(w.text)) {
				counts[t]++
			}
		}
	}
	best, second := 0, 0
	for _, t := range [...]string{"en", "de", "fr", "es"} {
		if n := counts[t]; n > best {
			tongue, best, second = t, n, best
		} else if n > second {
			second = n
		}
	}
	return tongue, best >= minWords && best >= 4*second
}

// languagesOf returns the languages of which word is a common word.
func languagesOf(word string) []string {
	switch word {
	case "the", "and", "of", "to", "is", "are", "with", "that", "this", "from", "was", "it", "be", "by", "not", "you", "we", "have", "should", "why":
		return []string{"en"}
	case "der", "das", "und", "ist", "nicht", "ein", "eine", "mit", "auf", "für", "wir", "dass", "sind", "wird", "bitte", "ich", "den", "dem", "wurde", "zu":
		return []string{"de"}
	case "le", "les", "et", "est", "une", "dans", "pour", "pas", "avec", "nous", "vous", "qui", "sur", "du", "au", "ce", "sont":
		return []string{"fr"}
	case "el", "los", "las", "y", "una", "por", "con", "para", "es", "del", "no", "se", "como", "está", "pero":
		return []string{"es"}
	case "la", "que", "un":
		return []string{"fr", "es"}
	case "en", "de", "des":
		return []string{"fr", "es"}
	case "die":
		return []string{"de"}
	}
	return nil
}
