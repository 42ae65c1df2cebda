package wire

import "io"

// ollama is /api/chat: contents are strings, arguments are objects, images are
// bare base64 beside the content, and results go by order and tool name.
func ollama() format {
	d := flat("ollama", true)
	return format{
		name:   d.name,
		about:  "Ollama /api/chat: a list of messages or a request body",
		write:  true,
		match:  func(p probe) int { return p.speaks(d.name) },
		decode: func(src *source) ([]Conversation, error) { return readChats(src, d) },
		encode: func(w io.Writer, c Conversation) error { return encodeChat(w, c, d) },
	}
}
