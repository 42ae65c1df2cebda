package chat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text without what no reader sees: control characters but tab
// and line feed, escape sequences of terminals, tag characters, marks of text
// direction, characters without width. A carriage return is a line feed, as is
// each separator of lines. What joins the letters of a script or the parts of
// an emoji stays. Whatever is written for a model, or by one, goes through it.
func Visible(text string) string {
	if !holdsHidden(text) {
		return text
	}
	text = withoutSequences(text)
	var b strings.Builder
	b.Grow(len(text))
	last := rune(0)
	for i, r := range text {
		switch {
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			continue
		case r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			r = '\n'
		case isJoiner(r):
			next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			if !isJoinable(last) || !isJoinable(next) {
				continue
			}
		case isHidden(r):
			continue
		case isSelector(r) && (isSelector(last) || last < 0x80 && !strings.ContainsRune("#*0123456789", last)):
			continue
		case r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
			last = r
			continue
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// holdsHidden reports whether text holds anything that Visible may take out.
func holdsHidden(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return true
		}
		if c < utf8.RuneSelf {
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if isHidden(r) || isJoiner(r) || isSelector(r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError {
			return true
		}
		i += size - 1
	}
	return false
}

// isHidden reports whether r is nothing that a reader sees. Some letters are
// blank: they are used to hide what others cannot see.
func isHidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return true
	case r < 0xad:
		return false
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0xe0000 && r <= 0xe0fff: // tags, and selectors beyond those of emoji
		return true
	case r >= 0xfe00 && r <= 0xfe0d, r >= 0x180b && r <= 0x180f:
		return true
	}
	return unicode.Is(unicode.Cf, r) && !isJoiner(r)
}

// isJoiner: a joiner and a non-joiner, of letters and of emoji.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// isJoinable reports whether a joiner beside r changes how r looks.
func isJoinable(r rune) bool {
	return r >= 0x0600 && r < 0x1100 || r >= 0x1780 && r < 0x1a00 || r >= 0x2190 && r < 0x2c00 || r >= 0xa800 && r < 0xac00 ||
		r >= 0x1f000 && r < 0x20000 || isSelector(r)
}

// isSelector: text or emoji.
func isSelector(r rune) bool { return r == '\ufe0e' || r == '\ufe0f' }

// withoutSequences returns text without the escape sequences of terminals. A
// sequence that does not end ends with its line.
func withoutSequences(text string) string {
	if !strings.ContainsAny(text, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		if size := sequenceSize(text[i:]); size > 0 {
			i += size
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// sequenceSize returns how many bytes of text, from its first on, are an escape
// sequence.
func sequenceSize(text string) int {
	kind, at := byte(0), 0
	switch {
	case text[0] == 0x1b && len(text) > 1:
		kind, at = text[1], 2
	case text[0] == 0x1b:
		return 1
	case text[0] == 0xc2 && len(text) > 1 && text[1] >= 0x80 && text[1] < 0xa0: // one character for two
		kind, at = text[1]-0x40, 2
	default:
		return 0
	}
	switch kind {
	case '[':
		for at < len(text) && text[at] >= 0x20 && text[at] < 0x40 {
			at++
		}
		if at < len(text) && text[at] >= 0x40 && text[at] < 0x7f {
			at++
		}
		return at
	case ']', 'P', 'X', '^', '_':
		return at + stringSize(text[at:])
	}
	if text[0] != 0x1b {
		return 0 // a control character, which goes by itself
	}
	at = 1
	for at < len(text) && text[at] >= 0x20 && text[at] < 0x30 {
		at++
	}
	if at < len(text) && text[at] >= 0x30 && text[at] < 0x7f {
		at++
	}
	return at
}

// stringSize returns the size of what a sequence holds, with its end.
func stringSize(text string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\a':
			return i + 1
		case text[i] == '\n':
			return i
		case text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\', text[i] == 0xc2 && i+1 < len(text) && text[i+1] == 0x9c:
			return i + 2
		}
	}
	return len(text)
}

// PasteThreshold is the maximum length in characters (runes) of a paste that is
// shown in full, if [Pastes.Threshold] is not set.
const PasteThreshold = 200

// Pastes hide long pastes from the person who types: an input shows a placeholder
// such as [LongText#1] for each, and the sent message has the texts themselves.
// They are for programs with an input field of their own. The zero value is empty.
// It is for one goroutine at a time.
type Pastes struct {
	// Threshold is the maximum length in characters of a paste that is shown in
	// full; 0: [PasteThreshold]. Below 0, each paste has a placeholder.
	Threshold int

	texts []string // that of placeholder n at n-1
}

// Add stores a paste, and returns what the input shows for it: the text itself or,
// if it is longer than the threshold, a placeholder. Each paste has its own, even
// if two are equal. A text that contains the form of a placeholder has one too,
// whatever its length: otherwise [Pastes.Expand] would expand that. Line ends
// become line feeds, because terminals paste carriage returns.
func (p *Pastes) Add(text string) string {
	text = lineEnds.Replace(text)
	if utf8.RuneCountInString(text) <= p.threshold() && !placeholder.MatchString(text) {
		return text
	}
	p.texts = append(p.texts, text)
	return fmt.Sprintf("[LongText#%d]", len(p.texts))
}

func (p *Pastes) threshold() int {
	if p.Threshold == 0 {
		return PasteThreshold
	}
	return p.Threshold
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// placeholder matches those that Add returns. There are never 10^9 texts.
var placeholder = regexp.MustCompile(`\[LongText#([1-9][0-9]{0,8})\]`)

// Expand returns the input with each placeholder replaced by its text. It expands
// once: placeholders inside a text stay. A placeholder without a paste stays as
// typed. The texts are kept, so that an input that is sent again is expanded again.
func (p *Pastes) Expand(input string) string {
	return placeholder.ReplaceAllStringFunc(input, func(s string) string {
		n, err := strconv.Atoi(placeholder.FindStringSubmatch(s)[1])
		if err != nil || n > len(p.texts) {
			return s
		}
		return p.texts[n-1]
	})
}
