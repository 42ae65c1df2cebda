package levels

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
)

// A fileBlock is a block of a copy of a file.
type fileBlock struct {
	message, copy, block int
	part                 int // of a block with lines left out, from 1; 0: all of it
	piece                files.Excerpt
	size                 int     // tokens, about
	worth                float64 // of each token
}

// An excerptPicker collects the excerpts of files that replace removed copies.
type excerptPicker struct {
	View
	index *files.Index
	near  *files.Focus
	ages  []float64
	shown map[string]bool // lines that stay, by file
}

// pickExcerpts returns the excerpts of files, in their present state, that the work
// will most likely need again: from copies that c removes, without text that remains
// elsewhere, at most room tokens, in the form that [files.Scan] reads from a summary.
func pickExcerpts(v View, c Cut, room int) string {
	if room <= 0 {
		return ""
	}
	h := excerptPicker{View: v, index: files.NewIndex(v.Messages, v.Facts), near: files.FocusOf(v.Messages, v.Facts), ages: v.messageAges(), shown: make(map[string]bool)}
	h.markStanding(c)
	picked := h.pickBlocks(h.removedBlocks(c), room)
	for k := range picked {
		p := &picked[k].piece
		p.Path = h.index.PathOf(p.Path)
		p.Edited = p.Edited || h.index.Edited(p.Path)
	}
	for {
		text := files.Held(joinBlocks(picked))
		if len(picked) == 0 || v.Count(text) <= room {
			return text
		}
		picked = picked[:len(picked)-1-len(picked)/20]
	}
}

// markStanding notes the file lines that stay in the conversation.
func (h *excerptPicker) markStanding(c Cut) {
	for i, m := range h.Messages {
		for _, place := range h.Facts[i].Copies {
			if !c.Gone[i] && place.Kind != files.Output && !place.Old {
				h.markShown(distinctLines(place.Path, place.Text(m)))
			}
		}
	}
}

// minLineBytes is the minimum length of a line that is distinctive.
const minLineBytes = 12

// distinctLines returns the lines of a file's text that identify a place in it.
func distinctLines(path, text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= minLineBytes {
			lines = append(lines, path+"\x00"+line)
		}
	}
	return lines
}

func (h *excerptPicker) markShown(lines []string) {
	for _, line := range lines {
		h.shown[line] = true
	}
}

// freshShare returns the share of lines that remain nowhere yet.
func (h *excerptPicker) freshShare(lines []string) float64 {
	n := 0
	for _, line := range lines {
		if !h.shown[line] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(lines)))
}

// minFreshShare is the minimum share of a block's lines that remain nowhere else.
const minFreshShare = 0.25

// minFreshShareAgain is that share if the block begins with a declaration that is shown
// already: it is another version of the same function.
const minFreshShareAgain = 0.7

// firstDeclaration returns the first line of an excerpt that declares something, as a
// key of shown; "" if there is none.
func firstDeclaration(p files.Excerpt) string {
	for line := range strings.Lines(p.Text) {
		line = strings.TrimSpace(line)
		if slices.ContainsFunc([]string{"func ", "def ", "class ", "fn ", "pub fn ", "function ", "export ", "type ", "async ", "impl ", "struct ", "interface "}, func(head string) bool { return strings.HasPrefix(line, head) }) {
			name, _, _ := strings.Cut(line, "{")
			return p.Path + "\x00\x00" + strings.TrimSpace(name)
		}
	}
	return ""
}

// pickBlocks returns the most valuable blocks that fit, by falling worth.
func (h *excerptPicker) pickBlocks(units []fileBlock, room int) []fileBlock {
	slices.SortStableFunc(units, func(a, b fileBlock) int { return cmp.Compare(b.worth, a.worth) })
	var picked []fileBlock
	used := 0
	for _, u := range units {
		if used+u.size > room {
			continue
		}
		lines, declared := distinctLines(u.piece.Path, u.piece.Text), firstDeclaration(u.piece)
		share := minFreshShare
		if declared != "" && h.shown[declared] {
			share = minFreshShareAgain
		}
		if h.freshShare(lines) >= share {
			h.markShown(append(lines, declared))
			used += u.size
			picked = append(picked, u)
		}
	}
	return picked
}

// removedBlocks returns the blocks of the copies that c removes.
func (h *excerptPicker) removedBlocks(c Cut) (out []fileBlock) {
	for i, m := range h.Messages {
		if !c.Gone[i] {
			continue
		}
		for k, place := range h.Facts[i].Copies {
			if place.Kind == files.Output || place.Old || place.IsWord() || h.index.Failed(i, place) || h.index.Removed(place.Path) || h.index.Superseded(i, place) >= 0 || h.index.Repeated(i, place) >= 0 {
				continue
			}
			out = h.appendBlocks(out, i, k, m.Parts[place.Part].Kind == chat.Call || place.Framed())
		}
	}
	return out
}

// appendBlocks adds the blocks of a copy.
func (h *excerptPicker) appendBlocks(out []fileBlock, i, k int, called bool) []fileBlock {
	c := h.Facts[i].Copies[k]
	now := h.index.Current(i, c)
	worth := h.copyWorth(i, c, called) * h.ageFactor(i, c)
	spans, scores := now.Copy.Blocks(h.near)
	if spans == nil && now.Text != "" {
		spans, scores = []files.Span{{End: len(now.Text), Line: 1}}, []float32{0}
	}
	for j, s := range spans {
		whole := now.Text[s.Start:min(s.End, len(now.Text))]
		for part, text := range now.Left(whole) {
			if h.Messages[i].State != chat.Active {
				text = files.WithoutLedger(text)
			}
			p := files.Excerpt{Path: c.Path, Edited: c.Kind == files.Edit || c.Kind == files.Write, Text: text}
			if strings.TrimSpace(text) == "" {
				continue
			}
			if part++; text == whole {
				part = 0
			}
			if c.First > 0 && now.Note == "" && part == 0 {
				p.First = c.First + s.Line - 1
			}
			n := tokensForBytes(len(text)) + blockHeadTokens
			out = append(out, fileBlock{i, k, j, part, p, n, worth * blockWorth(n, scores[j])})
		}
	}
	return out
}

// blockHeadTokens is the approximate number of tokens of a block's heading.
const blockHeadTokens = 8

// joinBlocks returns the pieces of blocks by file, the most recently shown or edited
// file last. Adjacent pieces are joined.
func joinBlocks(units []fileBlock) (out []files.Excerpt) {
	newest := make(map[string]int)
	for _, u := range units {
		newest[u.fileKey()] = max(newest[u.fileKey()], u.message)
	}
	units = slices.SortedFunc(slices.Values(units), func(a, b fileBlock) int {
		return cmp.Or(cmp.Compare(newest[a.fileKey()], newest[b.fileKey()]), cmp.Compare(a.fileKey(), b.fileKey()),
			cmp.Compare(a.message, b.message), cmp.Compare(a.copy, b.copy), cmp.Compare(a.block, b.block), cmp.Compare(a.part, b.part))
	})
	for k, u := range units {
		if k > 0 && u.followsBlock(units[k-1]) {
			out[len(out)-1].Text += u.piece.Text
			continue
		}
		out = append(out, u.piece)
	}
	return out
}

// fileKey returns the file of a block, and whether an edit wrote it.
func (u fileBlock) fileKey() string {
	if u.piece.Edited {
		return u.piece.Path + "\x00"
	}
	return u.piece.Path
}

// followsBlock reports whether u begins at the end of b.
func (u fileBlock) followsBlock(b fileBlock) bool {
	return b.part+u.part == 0 && b.message == u.message && b.copy == u.copy && b.block+1 == u.block
}
