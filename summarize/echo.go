package summarize

import (
	"strings"
)

// echoesRequest reports whether a text only repeats what the request for it says: at
// least half of its lines are, word for word, from the instructions, the form with
// its example, or the user's wish.
func echoesRequest(text string, r Request) bool {
	asked := wordPairs(Instructions() + "\n" + Prompt(Request{Strategy: r.Strategy, Note: r.Note}))
	echoes, lines := 0, 0
	for line := range strings.Lines(text) {
		if isHeading(line) || sentenceKey(line) == "" {
			continue
		}
		lines++
		if isEcho(line, asked) {
			echoes++
		}
	}
	return echoes > 0 && 2*echoes >= lines
}

// minEcho is the minimum number of words of a line that shows an echo: shorter ones
// occur by chance.
const minEcho = 4

func isEcho(line string, asked map[string]bool) bool {
	words := lowerWords(line)
	if len(words) < minEcho {
		return false
	}
	for i := range len(words) - 1 {
		if !asked[words[i]+" "+words[i+1]] {
			return false
		}
	}
	return true
}

// wordPairs returns the pairs of neighbouring words of each line.
func wordPairs(text string) map[string]bool {
	pairs := make(map[string]bool)
	for line := range strings.Lines(text) {
		words := lowerWords(line)
		for i := range max(0, len(words)-1) {
			pairs[words[i]+" "+words[i+1]] = true
		}
	}
	return pairs
}

func lowerWords(line string) (words []string) {
	for w := range wordTokens(strings.ToLower(line)) {
		words = append(words, w.text)
	}
	return words
}
