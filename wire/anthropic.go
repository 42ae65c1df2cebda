package wire

func anthropic() format {
	return format{name: "anthropic", write: true, match: func(probe) int { return 0 }}
}
