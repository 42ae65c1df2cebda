package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/markdown"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// A transcriptPage is the drawn transcript: blocks, one below the other.
type transcriptPage struct {
	screen screen.Screen
	blocks []*block
	up     int // lines scrolled up from the end

	answer  *block // the streaming answer; nil for none
	thought *block // the same, for thinking
	words   int    // in thought
}

// A block is a text in one style.
type block struct {
	style style
	text  strings.Builder // safe for a terminal
	width int             // for which lines were drawn; 0: they were not
	lines []string        // drawn, without the tail
	from  int             // start of the tail in text; its line breaks may still change
	tail  []string        // drawn; one line, or a block of Markdown

	marks markdown.Renderer // of an answer
}

// A style is the look of a block.
type style struct {
	first, ascii string // prefix of its first line
	paint        screen.Paint
	most         int  // maximum number of shown lines; 0: all
	markdown     bool // the text is Markdown
	columns      bool // its lines can have columns; it is added as a whole
}

var (
	yours       = style{first: "> ", ascii: "> ", paint: screen.Bold, most: 12}
	theirs      = style{markdown: true}
	unsentInput = style{first: "> ", ascii: "> "}
	thinking    = style{first: "~ ", ascii: "~ ", paint: screen.Dim}
	noted       = style{first: "· ", ascii: "- ", paint: screen.Dim, columns: true}
	result      = style{first: "← ", ascii: "< ", paint: screen.Dim, most: 4}
	asks        = style{first: "? ", ascii: "? ", paint: screen.Yellow}
	warned      = style{first: "! ", ascii: "! ", paint: screen.Yellow}
	failed      = style{first: "✗ ", ascii: "x ", paint: screen.Red}
	rounds      = style{first: "↓ ", ascii: "v ", paint: screen.Violet}
)

// safeForTerminal returns text without control characters and changes of the
// writing direction. Tabs become blanks.
func safeForTerminal(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\t", "    ")
	return strings.Map(func(r rune) rune {
		joins := r == '\u200c' || r == '\u200d' // within words and emoji
		if r != '\n' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Cf, r) && !joins) {
			return -1
		}
		return r
	}, text)
}

// addBlock appends a block.
func (p *transcriptPage) addBlock(s style, text string) *block {
	b := &block{style: s}
	b.text.WriteString(strings.Trim(safeForTerminal(text), "\n"))
	p.blocks = append(p.blocks, b)
	p.keepScrolled(0, p.blockHeight(b)+1)
	return b
}

// keepScrolled keeps the shown lines in place if the page is scrolled up.
func (p *transcriptPage) keepScrolled(before, after int) {
	if p.up > 0 {
		p.up = max(0, p.up+after-before)
	}
}

// streamText appends a piece of an answer.
func (p *transcriptPage) streamText(text string) {
	if p.answer == nil {
		if strings.TrimSpace(text) == "" {
			return
		}
		p.answer = p.addBlock(theirs, "")
		text = strings.TrimLeft(text, "\n")
	}
	before := p.blockHeight(p.answer)
	p.answer.text.WriteString(safeForTerminal(text))
	p.keepScrolled(before, p.blockHeight(p.answer))
}

// countThinking counts the words of a piece of thinking.
func (p *transcriptPage) countThinking(text string) {
	if p.thought == nil {
		p.thought = p.addBlock(thinking, "")
		p.words = 0
	}
	p.words += len(strings.Fields(text))
	p.thought.replaceText("thinking, about " + screen.Plural(p.words, "word"))
}

// endStream replaces a stream by its final text. The empty text drops it.
func (p *transcriptPage) endStream(text string) {
	text = strings.Trim(safeForTerminal(text), "\n")
	switch {
	case p.answer == nil && text != "":
		p.addBlock(theirs, text)
	case p.answer != nil && text == "":
		p.dropBlock(p.answer)
	case p.answer != nil:
		before := p.blockHeight(p.answer)
		p.answer.replaceText(text)
		p.keepScrolled(before, p.blockHeight(p.answer))
	}
	p.answer, p.thought = nil, nil
}

func (p *transcriptPage) dropBlock(b *block) {
	for i := range p.blocks {
		if p.blocks[i] == b {
			p.keepScrolled(p.blockHeight(b)+1, 0)
			p.blocks = append(p.blocks[:i], p.blocks[i+1:]...)
			return
		}
	}
}

func (b *block) replaceText(text string) {
	*b = block{style: b.style}
	b.text.WriteString(text)
}

// addMessage adds a message of the conversation.
func (p *transcriptPage) addMessage(m chat.Message) {
	switch {
	case m.Role == chat.System || m.Role == chat.Developer:
	case m.IsSummary():
		p.addBlock(result, m.Text())
	case m.State == chat.Marked:
		p.addBlock(noted, m.Text())
	case m.Role == chat.Tool:
		p.addBlock(result, m.Text())
	case m.Role == chat.User && m.Machine:
		p.addBlock(result, m.Text())
	case m.Role == chat.User:
		p.addBlock(yours, m.Text())
	default:
		p.addAssistant(m)
	}
}

// addAssistant adds a message of the assistant, or ends its stream.
func (p *transcriptPage) addAssistant(m chat.Message) {
	p.endStream(m.Text())
	for _, c := range m.Parts {
		if c.Kind == chat.Call {
			p.addBlock(noted, screen.Clip(c.Name+" "+c.Args, 200))
		}
	}
}

// lineOfBlock returns line i of b, which must be below its height.
func (p *transcriptPage) lineOfBlock(b *block, i int) string {
	all := len(b.lines) + len(b.tail)
	switch {
	case i == b.style.most-1 && i < all-1:
		return p.drawLine(b, 1, fmt.Sprintf("(%s more lines)", screen.Grouped(all-i)))
	case i < len(b.lines):
		return b.lines[i]
	}
	return b.tail[i-len(b.lines)]
}

// blockHeight returns the number of lines of b.
func (p *transcriptPage) blockHeight(b *block) int {
	if width := max(p.screen.Width, 8); b.width != width {
		b.width, b.lines, b.from, b.tail = width, nil, 0, nil
		b.marks = markdown.Renderer{Screen: p.screen}
	}
	p.wrapBlock(b)
	n := len(b.lines) + len(b.tail)
	if b.style.most > 0 {
		n = min(n, b.style.most)
	}
	return n
}

// wrapBlock breaks the text added to b since it was drawn. Only the last line can
// still change, so streamed text is broken once.
func (p *transcriptPage) wrapBlock(b *block) {
	text := b.text.String()
	rest := text[b.from:]
	if rest == "" && len(b.lines)+len(b.tail) > 0 {
		return
	}
	if b.style.markdown {
		p.drawMarkdown(b, rest)
		return
	}
	room := b.width - len([]rune(b.style.first))
	if b.style.columns {
		for line := range strings.SplitSeq(rest, "\n") {
			for _, l := range wrapColumns(line, room) {
				b.lines = append(b.lines, p.drawLine(b, len(b.lines), l))
			}
		}
		b.from = len(text)
		return
	}
	last := ""
	b.tail = nil
	for line := range strings.SplitSeq(rest, "\n") {
		b.lines = append(b.lines, b.tail...)
		lines := wrapLine(line, room)
		last = lines[len(lines)-1]
		for _, l := range lines[:len(lines)-1] {
			b.lines = append(b.lines, p.drawLine(b, len(b.lines), l))
		}
		b.tail = []string{p.drawLine(b, len(b.lines), last)}
	}
	b.from = len(text) - len(last)
}

// drawMarkdown draws the text added to b. What is finished is drawn once.
func (p *transcriptPage) drawMarkdown(b *block, rest string) {
	lines, used := b.marks.Take(rest)
	for _, l := range lines {
		b.lines = append(b.lines, p.drawLine(b, len(b.lines), l))
	}
	b.from += used
	b.tail = nil
	for _, l := range b.marks.Rest(rest[used:]) {
		b.tail = append(b.tail, p.drawLine(b, len(b.lines)+len(b.tail), l))
	}
}

// drawLine draws line i of b.
func (p *transcriptPage) drawLine(b *block, i int, text string) string {
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

// visibleLines returns the height visible lines, the last at the bottom. It
// corrects a scroll beyond the first line.
func (p *transcriptPage) visibleLines(height int) []string {
	back := p.linesBack(height + p.up)
	p.up = max(0, min(p.up, len(back)-height))
	out := make([]string, height)
	for i := range out {
		if n := p.up + height - 1 - i; n < len(back) {
			out[i] = back[n]
		}
	}
	return out
}

// lastLines returns the last lines, at most n.
func (p *transcriptPage) lastLines(n int) []string {
	lines := p.linesBack(n)
	lines = lines[:min(n, len(lines))]
	slices.Reverse(lines)
	return lines
}

// clear removes all blocks.
func (p *transcriptPage) clear() { *p = transcriptPage{screen: p.screen} }

// linesBack returns lines from the last one up, n or a few more.
func (p *transcriptPage) linesBack(want int) []string {
	var back []string
	for i := len(p.blocks) - 1; i >= 0 && len(back) < want; i-- {
		b := p.blocks[i]
		for n := p.blockHeight(b) - 1; n >= 0; n-- {
			back = append(back, p.lineOfBlock(b, n))
		}
		if i > 0 && needsBlankLine(p.blocks[i-1].style, b.style) {
			back = append(back, "")
		}
	}
	return back
}

// needsBlankLine reports whether a blank line separates two blocks.
func needsBlankLine(above, below style) bool {
	return above != below || below == yours || below == theirs
}
