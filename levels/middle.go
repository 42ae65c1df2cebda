package levels

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// firstUser returns the index of the first user message if it may be cut, or -1.
func (f *truncation) firstUser() int {
	return slices.IndexFunc(f.v.Protections, func(h protection.Protection) bool {
		return h&protection.First != 0 && h&protection.Protected == 0
	})
}

// cutFirstUser cuts the middle of the first user message until the total is at most
// target, but not to fewer than least tokens.
func (f *truncation) cutFirstUser(target, least int) {
	i := f.firstUser()
	if i < 0 || f.total <= target || f.sizes[i] <= least || f.v.Messages[i].HasOpaque() {
		return
	}
	f.setMessage(i, f.v.withoutMiddle(f.v.Messages[i], max(least, f.sizes[i]-(f.total-target))))
}

// withoutMiddle returns m with as much of the beginning and of the end of its texts as
// fits size tokens. It shows a recall id only if the caller keeps an archive.
func (v View) withoutMiddle(m chat.Message, size int) chat.Message {
	note := "the middle is left out"
	recall := v.recallID(m.ID, "fit", m.Text())
	if !v.NoRecall {
		note += "; recall " + recall
	}
	cut := func(thousandths int) chat.Message {
		parts := slices.Clone(m.Parts)
		for k, p := range parts {
			if p.Kind == chat.Text {
				parts[k].Text, parts[k].Raw = headAndTail(p.Text, len(p.Text)/1000*thousandths+len(p.Text)%1000*thousandths/1000, note), ""
			}
		}
		c := m.With(chat.Outlined, parts...)
		c.Recall = recall
		return c
	}
	low, high := 0, 1000 // low always fits, or nothing does
	for low+1 < high {
		if mid := (low + high) / 2; v.Size(cut(mid)) <= size {
			low = mid
		} else {
			high = mid
		}
	}
	return cut(low)
}

// headAndTail returns the beginning and the end of text, together at most size bytes,
// with a note between them. It cuts between lines if that loses little, else between
// words, else between characters.
func headAndTail(text string, size int, note string) string {
	half := size / 2
	if between := len(text) - 2*half; between <= len(note)+len("\n[]\n") {
		return text
	}
	head, tail := text[:half], text[len(text)-half:]
	for head != "" && !utf8.RuneStart(text[len(head)]) {
		head = head[:len(head)-1]
	}
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	for _, at := range []string{"\n", " "} {
		if i := strings.LastIndex(head, at); i > len(head)*3/4 {
			head = head[:i]
			break
		}
	}
	for _, at := range []string{"\n", " "} {
		if i := strings.Index(tail, at); i >= 0 && i < len(tail)/4 {
			tail = tail[i+1:]
			break
		}
	}
	return strings.Trim(head+"\n["+note+"]\n"+tail, "\n")
}
