package wire

func openAI() format {
	return format{name: "openai", write: true, match: func(probe) int { return 0 }}
}
