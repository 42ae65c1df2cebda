package wire

func ollama() format {
	return format{name: "ollama", write: true, match: func(probe) int { return 0 }}
}
