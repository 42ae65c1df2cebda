package levels

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
)

// A unit is a block of a copy of a file.
type unit struct {
	message, copy, block int
	piece                files.Piece
	size                 int     // tokens, about
	worth                float64 // of each
}

// A hand gathers what of the files is to stay at hand where messages leave the
// conversation.
type hand struct {
	View
	index *files.Index
	near  *files.Focus
	ages  []float64
	shown map[string]bool // lines that stay, by their file
}

// atHand returns the parts of files, as they read now, that the work will most
// likely need again, of those that c takes out and that stand nowhere else: at
// most room tokens of text that [files.Scan] reads back from a session summary.
func atHand(v View, c Cut, room int) string {
	if room <= 0 {
		return ""
	}
	h := hand{View: v, index: files.NewIndex(v.Messages, v.Facts), near: files.FocusOf(v.Messages, v.Facts), ages: v.ages(), shown: make(map[string]bool)}
	h.standing(c)
	picked := h.pick(h.units(c), room)
	for {
		text := files.Held(pieces(picked))
		if len(picked) == 0 || v.Count(text) <= room {
			return text
		}
		picked = picked[:len(picked)-1-len(picked)/20]
	}
}

// standing notes the lines of files that stay in the conversation.
func (h *hand) standing(c Cut) {
	for i, m := range h.Messages {
		for _, copy := range h.Facts[i].Copies {
			if !c.Gone[i] && copy.Kind != files.Output && !copy.Old {
				h.show(linesOf(copy.Path, copy.Text(m)))
			}
		}
	}
}

// leastLine is how many bytes a line has that is not found everywhere.
const leastLine = 12

// linesOf returns the lines of a text of a file that say which place it is.
func linesOf(path, text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= leastLine {
			lines = append(lines, path+"\x00"+line)
		}
	}
	return lines
}

func (h *hand) show(lines []string) {
	for _, line := range lines {
		h.shown[line] = true
	}
}

// fresh returns the part of lines that stands nowhere yet.
func (h *hand) fresh(lines []string) float64 {
	n := 0
	for _, line := range lines {
		if !h.shown[line] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(lines)))
}

// leastFresh is the part of a block's lines that must not stand elsewhere.
const leastFresh = 0.25

// pick returns the units that are worth the most and fit, the most worth first.
func (h *hand) pick(units []unit, room int) []unit {
	slices.SortStableFunc(units, func(a, b unit) int { return cmp.Compare(b.worth, a.worth) })
	var picked []unit
	used := 0
	for _, u := range units {
		if used+u.size > room {
			continue
		}
		if lines := linesOf(u.piece.Path, u.piece.Text); h.fresh(lines) >= leastFresh {
			h.show(lines)
			used += u.size
			picked = append(picked, u)
		}
	}
	return picked
}

// units returns the blocks of the copies that c takes out.
func (h *hand) units(c Cut) (out []unit) {
	for i, m := range h.Messages {
		if !c.Gone[i] {
			continue
		}
		for k, copy := range h.Facts[i].Copies {
			if copy.Kind == files.Output || copy.Old || h.index.Superseded(i, copy) >= 0 || h.index.Repeated(i, copy) >= 0 {
				continue
			}
			out = h.blocks(out, i, k, m.Parts[copy.Part].Kind == chat.Call || copy.Framed())
		}
	}
	return out
}

// blocks adds the blocks of a copy.
func (h *hand) blocks(out []unit, i, k int, called bool) []unit {
	c := h.Facts[i].Copies[k]
	now := h.index.Current(i, c)
	worth := h.worth(i, c, called) * h.lasting(i, c)
	spans, scores := now.Copy.Blocks(h.near)
	if spans == nil && now.Text != "" {
		spans, scores = []files.Span{{End: len(now.Text), Line: 1}}, []float32{0}
	}
	for j, s := range spans {
		p := files.Piece{Path: c.Path, Edited: c.Kind == files.Edit || c.Kind == files.Write, Text: now.Text[s.Start:min(s.End, len(now.Text))]}
		if strings.TrimSpace(p.Text) == "" {
			continue
		}
		if c.First > 0 && now.Note == "" {
			p.First = c.First + s.Line - 1
		}
		n := tokensIn(len(p.Text)) + unitHead
		out = append(out, unit{i, k, j, p, n, worth * blockWorth(n, scores[j])})
	}
	return out
}

// unitHead is about how many tokens name a block.
const unitHead = 8

// pieces returns the pieces of units by file, the file that was newest shown or
// edited last, joined where they follow one another.
func pieces(units []unit) (out []files.Piece) {
	newest := make(map[string]int)
	for _, u := range units {
		newest[u.file()] = max(newest[u.file()], u.message)
	}
	units = slices.SortedFunc(slices.Values(units), func(a, b unit) int {
		return cmp.Or(cmp.Compare(newest[a.file()], newest[b.file()]), cmp.Compare(a.file(), b.file()),
			cmp.Compare(a.message, b.message), cmp.Compare(a.copy, b.copy), cmp.Compare(a.block, b.block))
	})
	for k, u := range units {
		if k > 0 && u.follows(units[k-1]) {
			out[len(out)-1].Text += u.piece.Text
			continue
		}
		out = append(out, u.piece)
	}
	return out
}

// file names the file of a block, and whether an edit put it there.
func (u unit) file() string {
	if u.piece.Edited {
		return u.piece.Path + "\x00"
	}
	return u.piece.Path
}

// follows reports whether u begins where b ends.
func (u unit) follows(b unit) bool {
	return b.message == u.message && b.copy == u.copy && b.block+1 == u.block
}
