package wire

import "io"

// openAIFormat is Chat Completions: a list of messages or a request body, also
// inside a log object, and files of several chats.
func openAIFormat() format {
	d := flatDialect("openai", false)
	return format{
		name:   d.name,
		about:  "OpenAI chat: a list of messages or a request body; also several chats in a file",
		write:  true,
		match:  func(p probe) int { return p.formatScore(d.name) },
		decode: func(src *source) ([]Conversation, error) { return readChats(src, d) },
		encode: func(w io.Writer, c Conversation) error { return encodeChat(w, c, d) },
	}
}
