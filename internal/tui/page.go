package tui

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// A page is the transcript as it is drawn: blocks, one below the other.
type page struct {
	screen screen.Screen
	blocks []*block
	up     int // lines that it is scrolled up from its end

	answer  *block // that is streaming in; nil for none
	thought *block // the same, of thinking
	words   int    // of thought
}

// A block is a text that is drawn in one manner.
type block struct {
	style style
	text  strings.Builder // sound
	width int             // that lines are drawn for; 0: they are not
	lines []string        // drawn, the tail left out
	from  int             // where in text the tail begins, which may still be broken otherwise
	tail  []string        // drawn, at most one line
}

// A style is how a block looks.
type style struct {
	first, ascii string // what stands before its first line
	paint        screen.Paint
	most         int // lines that are shown; 0: all
}

var (
	yours    = style{first: "> ", ascii: "> ", paint: screen.Bold, most: 12}
	theirs   = style{}
	thinking = style{first: "~ ", ascii: "~ ", paint: screen.Dim}
	noted    = style{first: "· ", ascii: "- ", paint: screen.Dim}
	result   = style{first: "← ", ascii: "< ", paint: screen.Dim, most: 4}
	warned   = style{first: "! ", ascii: "! ", paint: screen.Yellow}
	failed   = style{first: "✗ ", ascii: "x ", paint: screen.Red}
	rounds   = style{first: "↓ ", ascii: "v ", paint: screen.Violet}
)

// sound returns text without what would steer a terminal or turn its writing
// direction. Tabs become blanks.
func sound(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\t", "    ")
	return strings.Map(func(r rune) rune {
		joins := r == '\u200c' || r == '\u200d' // within words and emoji
		if r != '\n' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Cf, r) && !joins) {
			return -1
		}
		return r
	}, text)
}

// add puts a block at the end.
func (p *page) add(s style, text string) *block {
	b := &block{style: s}
	b.text.WriteString(strings.Trim(sound(text), "\n"))
	p.blocks = append(p.blocks, b)
	p.grown(0, p.height(b)+1)
	return b
}

// grown keeps what is shown in its place where it is scrolled up.
func (p *page) grown(before, after int) {
	if p.up > 0 {
		p.up = max(0, p.up+after-before)
	}
}

// stream puts a piece of an answer behind what came before it.
func (p *page) stream(text string) {
	if p.answer == nil {
		if strings.TrimSpace(text) == "" {
			return
		}
		p.answer = p.add(theirs, "")
		text = strings.TrimLeft(text, "\n")
	}
	before := p.height(p.answer)
	p.answer.text.WriteString(sound(text))
	p.grown(before, p.height(p.answer))
}

// think counts a piece of thinking.
func (p *page) think(text string) {
	if p.thought == nil {
		p.thought = p.add(thinking, "")
		p.words = 0
	}
	p.words += len(strings.Fields(text))
	p.thought.replace("thinking, about " + screen.Plural(p.words, "word"))
}

// end ends a stream with the text that it came to. The empty text drops it.
func (p *page) end(text string) {
	text = strings.Trim(sound(text), "\n")
	switch {
	case p.answer == nil && text != "":
		p.add(theirs, text)
	case p.answer != nil && text == "":
		p.drop(p.answer)
	case p.answer != nil:
		before := p.height(p.answer)
		p.answer.replace(text)
		p.grown(before, p.height(p.answer))
	}
	p.answer, p.thought = nil, nil
}

func (p *page) drop(b *block) {
	for i := range p.blocks {
		if p.blocks[i] == b {
			p.grown(p.height(b)+1, 0)
			p.blocks = append(p.blocks[:i], p.blocks[i+1:]...)
			return
		}
	}
}

func (b *block) replace(text string) {
	*b = block{style: b.style}
	b.text.WriteString(text)
}

// message adds a message that stands in a conversation.
func (p *page) message(m chat.Message) {
	switch {
	case m.Role == chat.System || m.Role == chat.Developer:
	case m.IsSummary():
		p.add(result, m.Text())
	case m.State == chat.Marked:
		p.add(noted, m.Text())
	case m.Role == chat.Tool:
		p.add(result, m.Text())
	case m.Role == chat.User && m.Machine:
		p.add(result, m.Text())
	case m.Role == chat.User:
		p.add(yours, m.Text())
	default:
		p.said(m)
	}
}

// said adds a message of the assistant, or ends the stream that it came in.
func (p *page) said(m chat.Message) {
	p.end(m.Text())
	for _, c := range m.Parts {
		if c.Kind == chat.Call {
			p.add(noted, screen.Clip(c.Name+" "+c.Args, 200))
		}
	}
}

// at returns line i of b, which is below its height.
func (p *page) at(b *block, i int) string {
	all := len(b.lines) + len(b.tail)
	switch {
	case i == b.style.most-1 && i < all-1:
		return p.line(b, 1, fmt.Sprintf("(%s more lines)", screen.Grouped(all-i)))
	case i < len(b.lines):
		return b.lines[i]
	}
	return b.tail[i-len(b.lines)]
}

// height returns how many lines b takes.
func (p *page) height(b *block) int {
	if width := max(p.screen.Width, 8); b.width != width {
		b.width, b.lines, b.from, b.tail = width, nil, 0, nil
	}
	p.wrap(b)
	n := len(b.lines) + len(b.tail)
	if b.style.most > 0 {
		n = min(n, b.style.most)
	}
	return n
}

// wrap breaks what b has more of since it was drawn. Only the last line can
// still change, so a text that streams in is broken once.
func (p *page) wrap(b *block) {
	text := b.text.String()
	rest := text[b.from:]
	if rest == "" && len(b.lines)+len(b.tail) > 0 {
		return
	}
	room := b.width - len([]rune(b.style.first))
	last := ""
	b.tail = nil
	for line := range strings.SplitSeq(rest, "\n") {
		b.lines = append(b.lines, b.tail...)
		lines := broken(line, room)
		last = lines[len(lines)-1]
		for _, l := range lines[:len(lines)-1] {
			b.lines = append(b.lines, p.line(b, len(b.lines), l))
		}
		b.tail = []string{p.line(b, len(b.lines), last)}
	}
	b.from = len(text) - len(last)
}

// line draws line i of b.
func (p *page) line(b *block, i int, text string) string {
	lead := p.screen.Sign(b.style.first, b.style.ascii)
	if i > 0 {
		lead = strings.Repeat(" ", len([]rune(lead)))
	}
	if p.screen.ASCII {
		text = strings.Map(func(r rune) rune {
			if r > unicode.MaxASCII {
				return '?'
			}
			return r
		}, text)
	}
	return p.screen.Paint(b.style.paint, strings.TrimRight(lead+text, " "))
}

// shown returns the height lines that are to be seen, the last of them at the
// bottom. It scrolls back where it was scrolled beyond the first.
func (p *page) shown(height int) []string {
	var back []string // from the last line up
	want := height + p.up
	for i := len(p.blocks) - 1; i >= 0 && len(back) < want; i-- {
		b := p.blocks[i]
		for n := p.height(b) - 1; n >= 0; n-- {
			back = append(back, p.at(b, n))
		}
		if i > 0 && apart(p.blocks[i-1].style, b.style) {
			back = append(back, "")
		}
	}
	p.up = max(0, min(p.up, len(back)-height))
	out := make([]string, height)
	for i := range out {
		if n := p.up + height - 1 - i; n < len(back) {
			out[i] = back[n]
		}
	}
	return out
}

// apart reports whether a blank line stands between two blocks.
func apart(above, below style) bool {
	return above != below || below == yours || below == theirs
}
