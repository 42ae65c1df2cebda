package wire

import "io"

// ollamaFormat is /api/chat: contents are strings, arguments are objects, images
// are bare base64 beside the content, and results are matched by order and tool
// name.
func ollamaFormat() format {
	d := flatDialect("ollama", true)
	return format{
		name:   d.name,
		about:  "Ollama /api/chat: a list of messages or a request body",
		write:  true,
		match:  func(p probe) int { return p.formatScore(d.name) },
		decode: func(src *source) ([]Conversation, error) { return readChats(src, d) },
		encode: func(w io.Writer, c Conversation) error { return encodeChat(w, c, d) },
	}
}
