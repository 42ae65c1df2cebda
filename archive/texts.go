package archive

import (
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// texts returns pointers to every string of m, whose parts must be m's own.
func texts(m *chat.Message) []*string {
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

// own returns m with parts and images that nothing shares with it.
func own(m chat.Message) chat.Message {
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

// valid reports whether every string of m is UTF-8.
func valid(m chat.Message) bool {
	for _, p := range m.Parts {
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Args) || !utf8.ValidString(p.Raw) {
			return false
		}
	}
	for _, t := range texts(&m) {
		if !utf8.ValidString(*t) {
			return false
		}
	}
	return true
}

// with returns a copy of x with f made of every string.
func (x message) with(f func(string) string) message {
	x.Message = own(x.Message)
	for _, t := range texts(&x.Message) {
		*t = f(*t)
	}
	if x.Source != nil {
		x.Source = &chat.Source{Format: f(x.Source.Format), JSON: f(x.Source.JSON), Count: x.Source.Count}
	}
	return x
}

// check reports whether f accepts every string of x.
func (x message) check(f func(string) (string, bool)) bool {
	all := texts(&x.Message)
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

// widen returns text with each byte as the character of its number.
func widen(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(rune(text[i]))
	}
	return b.String()
}

// narrow takes widen back.
func narrow(text string) (string, bool) {
	var b strings.Builder
	for _, r := range text {
		if r > 0xff {
			return "", false
		}
		b.WriteByte(byte(r))
	}
	return b.String(), true
}
