package wire

import (
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
)

// lineFormat is one message a line: {role, content}, with the fields of OpenAI or
// the blocks of Anthropic if a line has them, and meta.protected.
func lineFormat(about string) format {
	d := lineDialect()
	f := chatFormat(d, about)
	f.match, f.decode = matchLines, func(src *source) ([]Conversation, error) { return readLines(src, d) }
	return f
}

// matchLines matches lines, or one object, with a role and a content.
func matchLines(p probe) int {
	if p.shape != lines && p.shape != object || len(p.values) == 0 {
		return 0
	}
	for _, v := range p.values {
		if !v.hasValueKind("role", `"`) || !v.hasMember("content") && !v.hasMember("tool_calls") && !v.hasMember("function_call") {
			return 0
		}
	}
	return likely
}

func lineDialect() dialect {
	d := flatDialect("jsonl", false)
	plain, fresh := d.rewrite, d.fresh
	d.fresh = func(group []chat.Message) string {
		if holdsAnthropicBlocks(group[0]) {
			return compactJSON(freshAnthropic(group)) // blocks may have line feeds between their tokens
		}
		return compactJSON(fresh(group))
	}
	d.read = func(o jsonObject) ([]chat.Message, error) {
		if hasBlocks(o) {
			return readAnthropic(o)
		}
		return readFlat(o)
	}
	d.rewrite = func(o jsonObject, group []chat.Message) string {
		if hasBlocks(o) {
			return rewriteAnthropic(o, group)
		}
		return plain(o, group)
	}
	return d
}

// hasBlocks reports whether the content of a message has blocks of kinds that only
// Anthropic uses.
func hasBlocks(o jsonObject) bool {
	return isDialect(o.rawValue("content"), "anthropic")
}

func readLines(src *source, d dialect) ([]Conversation, error) {
	r := layoutReader{src: src, sep: "\n"}
	err := src.eachJSONLine(func(v value) error {
		return r.addObject(d, v.offset, v.offset+len(v.raw))
	})
	if err != nil {
		return nil, err
	}
	if len(r.t) == 0 {
		return nil, src.sourceError(ErrNoMessages, 0, "", fmt.Sprintf("no message in %d lines", src.skipped), "check the file")
	}
	if last := src.text[r.end:]; skipSpace(last, 0) == len(last) {
		r.list.last = last
	} else {
		r.list.last = "\n"
	}
	fillCallIDs(r.t)
	l := &layout{before: src.bom, lines: true, list: r.list}
	return []Conversation{{Format: d.name, Messages: r.t, layout: l}}, nil
}
