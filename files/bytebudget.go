package files

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A byteBudget limits a text to a number of tokens. Until the whole is
// counted, the tokens of a text are estimated from its bytes.
type byteBudget struct {
	left float64 // bytes
}

// takeBytes reports whether a text of n bytes still has room, and takes it.
func (p *byteBudget) takeBytes(n int) bool {
	if float64(n)+1 > p.left {
		return false
	}
	p.left -= float64(n) + 1
	return true
}

// bytesPerToken is the average of code, used before anything was counted.
const bytesPerToken = 3.2

// fillToTokens returns what write produces for the number of bytes that gives
// at most limit tokens. It counts a whole text at most six times. The empty
// string means that nothing fits.
func fillToTokens(limit int, count func(string) int, write func(size int) string) string {
	if limit <= 0 {
		return ""
	}
	if count == nil {
		count = func(s string) int { return (len(s) + 2) / 3 }
	}
	size, best := float64(limit)*bytesPerToken, ""
	for try := range 6 {
		text := write(int(size))
		n := count(text)
		if n <= limit {
			best = longerText(best, text)
			full := float64(len(text)) < size*0.85 // nothing is left to add
			if full || float64(n) > 0.9*float64(limit) || try >= 2 {
				return best
			}
		} else if best != "" {
			return best
		}
		size *= min(1.6, 0.96*float64(limit)/float64(max(n, 1)))
		if size < 40 {
			break
		}
	}
	return best
}

func longerText(a, b string) string {
	if len(a) > len(b) {
		return a
	}
	return b
}

// cleanUTF8 returns text as valid UTF-8, which every message must be, without
// invisible characters.
func cleanUTF8(text string) string {
	return chat.Visible(strings.ToValidUTF8(text, "\uFFFD"))
}
