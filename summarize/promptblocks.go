package summarize

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A promptBlock is one message in a request, or the record of a part.
type promptBlock struct {
	head, text string
	size       int  // tokens of both
	message    int  // its index among the messages of the request
	follows    bool // it is the result of a call before it
	record     bool // it is the summary of other blocks
}

// promptBlocks returns one block for each message.
func promptBlocks(messages []chat.Message, count func(string) int) []promptBlock {
	_, group := chat.Groups(messages)
	all := make([]promptBlock, 0, len(messages))
	for i, m := range messages {
		head, text := shownMessage(m)
		all = append(all, promptBlock{
			head: head, text: text, size: count(head) + count(text), message: i,
			follows: i > 0 && group[i] == group[i-1],
		})
	}
	return all
}

func blocksSize(data []promptBlock) (sum int) {
	for _, p := range data {
		sum += p.size
	}
	return sum
}

// blocksText returns the text of blocks in a request.
func blocksText(data []promptBlock) string {
	var b strings.Builder
	for i, p := range data {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.head)
		b.WriteString(p.text)
	}
	return b.String()
}

// cutBlocks returns the blocks from the beginning of data that fit, at least one or
// a part of one, and the rest. Results stay with their calls if they fit together.
func cutBlocks(data []promptBlock, room int, count func(string) int) (chunk, rest []promptBlock) {
	n, used := 0, 0
	for n < len(data) && used+data[n].size <= room {
		used += data[n].size
		n++
	}
	if n == len(data) {
		return data, nil
	}
	whole := n
	for whole > 0 && data[whole].follows {
		whole--
	}
	if whole > 0 {
		return data[:whole], data[whole:]
	}
	if n > 0 {
		return data[:n], data[n:]
	}
	first, more := data[0].cutBlock(room, count)
	return []promptBlock{first}, append([]promptBlock{more}, data[1:]...)
}

// cutBlock cuts a block that is longer than room, between lines if possible.
func (p promptBlock) cutBlock(room int, count func(string) int) (first, more promptBlock) {
	at := len(p.text)
	for size := p.size; size > room && at > 1; size = count(p.head) + count(p.text[:at]) {
		at = max(1, min(at*9/10, at*room/size))
	}
	at = cutBefore(p.text, at)
	first, more = p, p
	first.text, more.text = p.text[:at], strings.TrimPrefix(p.text[at:], "\n")
	first.size, more.size = count(p.head)+count(first.text), count(p.head)+count(more.text)
	return first, more
}

// cutBefore returns a place at or before at, but not at the beginning, at which
// text may be cut: the end of a line if there is one in the last quarter, else
// between characters.
func cutBefore(text string, at int) int {
	if line := strings.LastIndexByte(text[:at], '\n'); line > at*3/4 {
		return line
	}
	if cut := len(bytePrefix(text, at)); cut > 0 {
		return cut
	}
	return len(bytePrefix(text, at+4)) // one character is longer than room
}
