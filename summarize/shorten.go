package summarize

import (
	"cmp"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/clip"
)

// A shortness limits the tokens that are read of a message.
type shortness struct{ result, arg, text int }

// shortnesses returns the steps from mild to strong. The first and the last lines
// of a tool's output and its errors are what a summary uses; texts of people are
// shortened last.
func shortnesses() []shortness {
	return []shortness{{400, 200, 4000}, {200, 100, 1000}, {100, 50, 400}, {40, 30, 200}, {20, 20, 80}}
}

// shortenedBlocks returns the messages, shortened: at most the model's MaxInput
// tokens, and as many as fit into chunks whose summaries can be merged in two
// steps.
func (w *summaryRun) shortenedBlocks() []promptBlock {
	room := w.dataRoom(maxPartOf(w.window))
	records := w.dataRoom(w.limit)/minPart + 1 // that one request can merge
	most := min(cmp.Or(w.model.MaxInput, defaultInput), min(maxChunks, records*records)*max(room, minRoom/2))
	most = within(most, w.pace.input)
	var data []promptBlock
	for _, s := range shortnesses() {
		data = promptBlocks(s.shortenMessages(w.r.Messages, w.r.Count), w.r.Count)
		if blocksSize(data) <= most {
			return data
		}
	}
	return newestBlocks(data, most)
}

// newestBlocks omits the oldest blocks until the rest fits.
func newestBlocks(data []promptBlock, room int) []promptBlock {
	from, size := len(data), 0
	for from > 0 && size+data[from-1].size <= room {
		from--
		size += data[from].size
	}
	for from < len(data) && data[from].follows {
		from++
	}
	return data[from:]
}

// shortenMessages returns shortened copies of messages, with thinking left out.
func (s shortness) shortenMessages(messages []chat.Message, count func(string) int) []chat.Message {
	out := make([]chat.Message, len(messages))
	for i, m := range messages {
		parts := make([]chat.Part, 0, len(m.Parts))
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.Thinking:
				continue
			case chat.Result, chat.ServerResult:
				p.Text = digestOutput(p.Text, s.result, count)
			case chat.Call, chat.ServerCall:
				p.Args = files.ShortenArgs(p.Args, func(_, v string) string { return bothEnds(v, s.arg, count) })
				p.Args = bothEnds(p.Args, 8*s.arg, count)
			default:
				p.Text = bothEnds(p.Text, s.text, count)
			}
			parts = append(parts, p)
		}
		m.Parts = parts
		out[i] = m
	}
	return out
}

// digestOutput shortens a tool's output.
func digestOutput(text string, room int, count func(string) int) string {
	if len(text) <= room || count(text) <= room {
		return text
	}
	short := files.Digest(text, files.DigestOptions{Max: room, Count: count})
	if short == "" || !strings.Contains(short, "\n") {
		return bothEnds(text, room, count)
	}
	return strings.Replace(short, "; recall ]", "]", 1)
}

// bothEnds returns the beginning and the end of text, in about the given
// number of tokens.
func bothEnds(text string, room int, count func(string) int) string {
	if len(text) <= room {
		return text
	}
	size := count(text)
	if size <= room {
		return text
	}
	head := len(text) * room / size * 2 / 3
	tail := len(text) - len(text)*room/size/3
	return clip.Bytes(text, head) + " … " + clip.From(text, tail)
}

// shownMessage returns a message in the form of a request: its id, its role, its
// content.
func shownMessage(m chat.Message) (head, text string) {
	head = string(m.Role) + ":\n"
	if m.ID != "" {
		head = "[" + m.ID + "] " + head
	}
	var b strings.Builder
	for _, p := range m.Parts {
		writePart(&b, p)
	}
	return head, strings.TrimSuffix(b.String(), "\n")
}
