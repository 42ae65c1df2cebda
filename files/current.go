package files

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// maxEdits is how many of the newest edits of a file are looked at.
const maxEdits = 24

// A Current is a copy as it would read now.
type Current struct {
	Copy   Copy
	Text   string   // without wrappers
	Edited []string // texts that edits put in
	Note   string   // what the reader must know: that it was changed since; empty where it was not
}

// Current returns copy c of message i with the edits made since, where they are
// known; where one is not, Note says that the file has changed.
func (x *Index) Current(i int, c Copy) Current {
	now := Current{Copy: c, Text: c.Text(x.t[i])}
	edits := x.editsOf(c.Path)
	changed, missed := false, c.Kind != Edit && x.ChangedSince(i, c) >= 0 && len(edits) == 0
	for _, e := range edits {
		if e.put != "" {
			now.Edited = append(now.Edited, e.put)
		}
		if e.message <= i || c.Kind == Edit {
			continue
		}
		if e.took != "" && strings.Contains(now.Text, e.took) {
			now.Text = strings.Replace(now.Text, e.took, e.put, 1)
			changed = true
		} else if c.Whole || e.took == "" {
			missed = true
		}
	}
	if changed {
		now.Copy.shape = shapeOf(c.Path, now.Text)
		now.Copy.Size = len(now.Text)
	}
	switch {
	case missed:
		now.Note = "changed since"
	case changed:
		now.Note = "shown as edited since"
	}
	return now
}

// A swap is what an edit took away and what it put in.
type swap struct {
	message   int
	took, put string
}

// editsOf returns the newest edits of the file of path, oldest first. A write
// of the whole file takes nothing away.
func (x *Index) editsOf(path string) []swap {
	id, ok := x.names.of(path)
	if !ok {
		return nil
	}
	if known, ok := x.swaps[id]; ok {
		return known
	}
	var out []swap
	spots := x.files[id]
	for _, s := range spots[max(0, len(spots)-4*maxEdits):] {
		c := x.at(s)
		isCall := x.t[s.message].Parts[c.Part].Kind == chat.Call
		if !isCall || c.Kind != Edit && c.Kind != Write {
			continue
		}
		text := c.Text(x.t[s.message])
		switch n := len(out); {
		case c.Kind == Write:
			out = append(out, swap{message: s.message})
		case n > 0 && out[n-1].message == s.message && !c.Old && out[n-1].put == "":
			out[n-1].put = text
		case n > 0 && out[n-1].message == s.message && c.Old && out[n-1].took == "":
			out[n-1].took = text
		case c.Old:
			out = append(out, swap{message: s.message, took: text})
		default:
			out = append(out, swap{message: s.message, put: text})
		}
	}
	out = out[max(0, len(out)-maxEdits):]
	x.swaps[id] = out
	return out
}
