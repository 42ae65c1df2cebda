package proxy

import (
	"bytes"
	"encoding/json"
)

// A usageReader finds the count of prompt tokens in an answer: NDJSON, server-sent
// events or one JSON document, in pieces of any size.
type usageReader struct {
	line   []byte
	skips  bool // the rest of a line that is too long
	all    []byte
	many   bool // all is not the whole answer
	prompt int  // the newest count; 0: none yet
	cached bool // prompt includes the tokens of a cache
}

const (
	maxUsageLine = 256 << 10 // events with a count are short; some repeat the whole answer
	maxUsageBody = 4 << 20
)

var countKeys = [][]byte{[]byte(`"prompt_eval_count"`), []byte(`"prompt_tokens"`), []byte(`"input_tokens"`)}

// feed reads the next piece.
func (u *usageReader) feed(piece []byte) {
	if !u.many {
		if len(u.all)+len(piece) <= maxUsageBody {
			u.all = append(u.all, piece...)
		} else {
			u.all, u.many = nil, true
		}
	}
	for len(piece) > 0 {
		n := bytes.IndexByte(piece, '\n')
		part := piece
		if n >= 0 {
			part = piece[:n]
		}
		if !u.skips && len(u.line)+len(part) <= maxUsageLine {
			u.line = append(u.line, part...)
		} else {
			u.line, u.skips = u.line[:0], true
		}
		if n < 0 {
			return
		}
		if u.readLine(u.line) {
			u.all, u.many = nil, true // it is a stream
		}
		u.line, u.skips = u.line[:0], false
		piece = piece[n+1:]
	}
}

// end reads what is left after the last piece.
func (u *usageReader) end() {
	u.readLine(u.line)
	if u.prompt == 0 && !u.many {
		u.readDocument(u.all)
	}
	u.line, u.all = nil, nil
}

// readLine reports whether line is an event of a stream.
func (u *usageReader) readLine(line []byte) bool {
	line = bytes.TrimSpace(line)
	data, event := bytes.CutPrefix(line, []byte("data:"))
	if len(data) < 2 || data[len(data)-1] != '}' {
		return event
	}
	return u.readDocument(data) || event
}

// counted are the places of the count in the servers' answers.
type counted struct {
	PromptEvalCount int    `json:"prompt_eval_count"` // Ollama
	Usage           *usage `json:"usage"`             // OpenAI, Anthropic
	Message         struct {
		Usage *usage `json:"usage"`
	} `json:"message"` // Anthropic's first event
	Response struct {
		Usage *usage `json:"usage"`
	} `json:"response"` // the last event of OpenAI's Responses API
}

type usage struct {
	PromptTokens  int `json:"prompt_tokens"`
	InputTokens   int `json:"input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
}

// readDocument reports whether text is JSON that may hold a count.
func (u *usageReader) readDocument(text []byte) bool {
	some := false
	for _, key := range countKeys {
		some = some || bytes.Contains(text, key)
	}
	if !some {
		return false
	}
	var c counted
	if json.Unmarshal(text, &c) != nil {
		return false
	}
	n, cached := c.PromptEvalCount, false
	for _, own := range []*usage{c.Usage, c.Message.Usage, c.Response.Usage} {
		if own != nil {
			n = max(n, own.PromptTokens, own.InputTokens+own.CacheRead+own.CacheCreation)
			cached = cached || own.CacheRead+own.CacheCreation > 0
		}
	}
	// The first event of Ollama's /v1/messages has an estimate, only the last one the
	// count.
	if n > 0 && (cached || !u.cached) {
		u.prompt, u.cached = n, cached
	}
	return true
}
