package embed

// isStopWord reports whether a lower-case word carries no meaning of its own.
func isStopWord(w []byte) bool {
	if len(w) < 2 {
		return true
	}
	if len(w) > 7 {
		return false
	}
	switch string(w) {
	case "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
		"be", "because", "been", "before", "being", "but", "by", "can", "could", "couldn", "did", "didn", "do", "does", "doesn", "doing", "don", "done", "down",
		"each", "few", "for", "from", "get", "gets", "go", "goes", "going", "gone", "got", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how",
		"if", "in", "into", "is", "isn", "it", "its", "just", "let", "like", "ll", "may", "me", "might", "more", "most", "must", "my",
		"no", "nor", "not", "now", "of", "off", "ok", "okay", "on", "once", "one", "only", "or", "other", "our", "out", "over", "own",
		"please", "re", "same", "shall", "she", "should", "so", "some", "such", "sure",
		"than", "thanks", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too",
		"under", "until", "up", "us", "ve", "very", "was", "wasn", "we", "well", "went", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "wouldn",
		"yes", "yet", "you", "your", "yours":
		return true
	}
	return false
}
