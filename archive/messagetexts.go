package archive

import (
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// textPointers returns pointers to every string of m, whose parts must be m's own.
func textPointers(m *chat.Message) []*string {
	all := []*string{&m.ID, (*string)(&m.Role), (*string)(&m.State), &m.Recall}
	for i := range m.Parts {
		p := &m.Parts[i]
		all = append(all, (*string)(&p.Kind), &p.Text, &p.ID, &p.Name, &p.Args, &p.Raw)
		if p.Image != nil {
			all = append(all, &p.Image.MediaType, &p.Image.Data, &p.Image.URL, &p.Image.Detail)
		}
	}
	return all
}

// ownedCopy returns m with parts and images that are not shared.
func ownedCopy(m chat.Message) chat.Message {
	if m.Parts == nil {
		return m
	}
	m.Parts = append(make([]chat.Part, 0, len(m.Parts)), m.Parts...)
	for i, p := range m.Parts {
		if p.Image != nil {
			picture := *p.Image
			m.Parts[i].Image = &picture
		}
	}
	return m
}

// isValidUTF8 reports whether every string of m is UTF-8.
func isValidUTF8(m chat.Message) bool {
	for _, p := range m.Parts {
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Args) || !utf8.ValidString(p.Raw) {
			return false
		}
	}
	for _, t := range textPointers(&m) {
		if !utf8.ValidString(*t) {
			return false
		}
	}
	return true
}

// mapTexts returns a copy of x with f applied to every string.
func (x message) mapTexts(f func(string) string) message {
	x.Message = ownedCopy(x.Message)
	for _, t := range textPointers(&x.Message) {
		*t = f(*t)
	}
	if x.Source != nil {
		x.Source = &chat.Source{Format: f(x.Source.Format), JSON: f(x.Source.JSON), Count: x.Source.Count}
	}
	return x
}

// checkTexts reports whether f accepts every string of x.
func (x message) checkTexts(f func(string) (string, bool)) bool {
	all := textPointers(&x.Message)
	if x.Source != nil {
		all = append(all, &x.Source.Format, &x.Source.JSON)
	}
	for _, t := range all {
		if _, ok := f(*t); !ok {
			return false
		}
	}
	return true
}

// widenBytes returns text with each byte as the character of its number.
func widenBytes(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(rune(text[i]))
	}
	return b.String()
}

// narrowBytes is the inverse of widenBytes.
func narrowBytes(text string) (string, bool) {
	var b strings.Builder
	for _, r := range text {
		if r > 0xff {
			return "", false
		}
		b.WriteByte(byte(r))
	}
	return b.String(), true
}
