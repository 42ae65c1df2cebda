package summarize

import (
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/clip"
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
	want, certain := latinLanguage(user)
	got, clearly := latinLanguage(text)
	return certain && clearly && want != got
}

// userText returns the texts that a person typed, up to a sample's size, the newest
// last.
func userText(messages []chat.Message) string {
	var texts []string
	size := 0
	for i := len(messages) - 1; i >= 0 && size < maxSample; i-- {
		if messages[i].Typed() {
			body := clip.Bytes(messages[i].TypedText(), 4<<10)
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
func latinLanguage(text string) (tongue string, certain bool) {
	counts := make(map[string]int)
	for w := range wordTokens(clip.Bytes(text, maxSample)) {
		if len(w.text) <= 6 {
			for _, t := range languagesOf(strings.ToLower(w.text)) {
				counts[t]++
			}
		}
	}
	best, second := 0, 0
	for _, t := range [...]string{"en", "de", "fr", "es", "pt", "it", "nl", "pl", "sv", "tr"} {
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
	case "les", "et", "est", "une", "dans", "pour", "pas", "avec", "nous", "vous", "qui", "sur", "au", "ce", "sont", "été":
		return []string{"fr"}
	case "el", "los", "las", "y", "del", "está", "pero", "hay", "fue":
		return []string{"es"}
	case "o", "os", "não", "uma", "dos", "ao", "foi", "são", "pelo", "pela", "você", "também", "ainda", "mas":
		return []string{"pt"}
	case "il", "di", "che", "gli", "della", "sono", "è", "non", "per", "nel", "alla", "stato", "questo":
		return []string{"it"}
	case "het", "een", "niet", "voor", "van", "zijn", "naar", "wordt", "ook", "maar", "deze":
		return []string{"nl"}
	case "nie", "się", "jest", "na", "dla", "że", "oraz", "został", "do":
		return []string{"pl"}
	case "och", "att", "inte", "är", "som", "ett", "för", "av":
		return []string{"sv"}
	case "ve", "bir", "için", "bu", "değil", "ile", "olarak":
		return []string{"tr"}
	case "com", "em", "da", "um":
		return []string{"pt"}
	case "por", "con", "para", "es", "no", "se", "como":
		return []string{"es", "pt"}
	case "le", "du":
		return []string{"fr", "it"}
	case "una":
		return []string{"es", "it"}
	case "la", "un":
		return []string{"fr", "es", "it"}
	case "que":
		return []string{"fr", "es", "pt"}
	case "en":
		return []string{"fr", "es", "nl"}
	case "de":
		return []string{"fr", "es", "pt", "nl"}
	case "des":
		return []string{"fr", "de"}
	case "die":
		return []string{"de", "nl"}
	}
	return nil
}
