package chat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
