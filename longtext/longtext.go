package tui

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// longText is the most characters of a paste that are shown as they are.
const longText = 200

// pastes are the long texts that were pasted into the input. The zero value
// has none.
type pastes struct{ texts []string }

// shown returns what the input shows for a paste: the text itself, or where it
// is long a placeholder with a number of its own.
func (p *pastes) shown(text string) string {
	text = unixLines(text)
	if utf8.RuneCountInString(text) <= longText {
		return text
	}
	p.texts = append(p.texts, text)
	return fmt.Sprintf("[LongText#%d]", len(p.texts))
}

// unixLines returns text with line feeds for line ends: terminals paste
// carriage returns.
func unixLines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

var placeholder = regexp.MustCompile(`\[LongText#([1-9][0-9]{0,8})\]`)

// expanded returns input with each placeholder replaced by its text. What a
// text itself holds is not looked at, and a number that nothing was pasted for
// stays as it was typed.
func (p *pastes) expanded(input string) string {
	return placeholder.ReplaceAllStringFunc(input, func(s string) string {
		n, err := strconv.Atoi(placeholder.FindStringSubmatch(s)[1])
		if err != nil || n > len(p.texts) {
			return s
		}
		return p.texts[n-1]
	})
}
