package files

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// maxEdits limits how many of the newest edits of a file are applied.
const maxEdits = 24

// A Current is a copy with later edits applied.
type Current struct {
	Copy   Ref
	Text   string     // without wrappers
	Edited []string   // texts that edits inserted
	missed []textSwap // later edits whose removed text is not in Text as a whole
	Note   string     // a note for the reader that the file was changed since; empty if it was not
}

// Current returns copy c of message i with the later edits, if they are known.
// If one is not, Note says that the file has changed.
func (x *Index) Current(i int, c Ref) Current {
	now := Current{Copy: c, Text: c.Text(x.t[i])}
	edits := x.newestEdits(c.Path)
	changed, missed := false, c.Kind != Edit && x.ChangedSince(i, c) >= 0 && len(edits) == 0
	for _, e := range edits {
		if e.put != "" {
			now.Edited = append(now.Edited, e.put)
		}
		if e.message <= i || c.Old {
			continue
		}
		text, ok := e.applyEdit(now.Text)
		if !ok && e.took != "" {
			now.missed = append(now.missed, e)
		}
		if ok {
			now.Text, changed = text, true
		} else if c.Kind != Edit && (c.Whole || e.took == "") {
			missed = true
		}
	}
	if changed {
		now.Copy.shape = outlineOf(c.Path, now.Text)
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

// A textSwap is the text that an edit removed and the text that it inserted.
type textSwap struct {
	message   int
	took, put string
	lines     bool // both are whole lines, without the last line feed
	every     bool // each occurrence was replaced
}

// applyEdit returns text with the edit made, and whether it could be made.
func (e textSwap) applyEdit(text string) (string, bool) {
	if e.took == "" {
		return text, false
	}
	if e.every {
		return strings.ReplaceAll(text, e.took, e.put), strings.Contains(text, e.took)
	}
	for from := 0; ; {
		n := strings.Index(text[from:], e.took)
		if n < 0 {
			return text, false
		}
		start, end := from+n, from+n+len(e.took)
		switch {
		case !e.lines:
		case start > 0 && text[start-1] != '\n' || end < len(text) && text[end] != '\n':
			from = end
			continue
		case e.put == "" && end < len(text):
			end++ // no empty line is left
		}
		return text[:start] + e.put + text[end:], true
	}
}

// newestEdits returns the newest edits of the file of path, oldest first. A
// write of the whole file removes no text.
func (x *Index) newestEdits(path string) []textSwap {
	id, ok := x.names.fileOfPath(path)
	if !ok {
		return nil
	}
	if known, ok := x.swaps[id]; ok {
		return known
	}
	var out []textSwap
	spots := x.files[id]
	for _, s := range spots[max(0, len(spots)-4*maxEdits):] {
		c := x.copyAtSpot(s)
		isCall := x.t[s.message].Parts[c.Part].Kind == chat.Call
		if !isCall && !c.marked || c.Kind != Edit && c.Kind != Write {
			continue
		}
		text := c.Text(x.t[s.message])
		if c.marked { // whole lines; the last of a file may have no line feed
			text = strings.TrimSuffix(text, "\n")
		}
		switch n := len(out); {
		case c.marked && (c.Old || n == 0 || out[n-1].message != s.message || out[n-1].put != ""):
			e := textSwap{message: s.message, took: text, lines: true}
			if !c.Old {
				e.took, e.put = "", text
			}
			out = append(out, e)
		case c.Kind == Write:
			out = append(out, textSwap{message: s.message})
		case n > 0 && out[n-1].message == s.message && !c.Old && out[n-1].put == "":
			out[n-1].put = text
		case n > 0 && out[n-1].message == s.message && c.Old && out[n-1].took == "":
			out[n-1].took, out[n-1].every = text, c.every
		case c.Old:
			out = append(out, textSwap{message: s.message, took: text, every: c.every})
		default:
			out = append(out, textSwap{message: s.message, put: text})
		}
	}
	out = out[max(0, len(out)-maxEdits):]
	x.swaps[id] = out
	return out
}
