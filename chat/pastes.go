package chat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PasteThreshold is the most characters (runes) of a paste that is shown as it is,
// if [Pastes.Threshold] is not set.
const PasteThreshold = 200

// Pastes keep long pastes out of the way of whoever types: an input shows a
// placeholder such as [LongText#1] for each, and what is sent has the texts
// themselves. They are for programs with an input of their own.
//
// The zero value has none. It is for one goroutine at a time.
type Pastes struct {
	// Threshold is the most characters of a paste that is shown as it is; 0:
	// [PasteThreshold]. Below 0, each paste has a placeholder.
	Threshold int

	texts []string // that of placeholder n at n-1
}

// Add takes in a paste, and returns what the input shows for it: the text itself
// or, if it is longer than the threshold, a placeholder. Each paste has its own,
// also where two are equal. A text that holds what looks like a placeholder has
// one too, whatever its length: otherwise [Pastes.Expand] would expand that.
//
// Line ends become line feeds, because terminals paste carriage returns.
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

// placeholder matches those that Add gives out. Nobody pastes 10^9 texts.
var placeholder = regexp.MustCompile(`\[LongText#([1-9][0-9]{0,8})\]`)

// Expand returns the input with the text of each placeholder in its place. It
// expands once: what a text itself holds is not looked at. A placeholder that
// no paste has stays as it was typed. The texts are kept, so that an input which
// is sent again is expanded again.
func (p *Pastes) Expand(input string) string {
	return placeholder.ReplaceAllStringFunc(input, func(s string) string {
		n, err := strconv.Atoi(placeholder.FindStringSubmatch(s)[1])
		if err != nil || n > len(p.texts) {
			return s
		}
		return p.texts[n-1]
	})
}
