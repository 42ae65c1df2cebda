package embed

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxChunkTokens = 1900 // of one chunk, whatever the model reads
	maxChunks      = 32   // of one text
	minChunk       = 8    // bytes; a shorter chunk is not halved
)

// chunkTokens returns how many estimated tokens of text go into one chunk,
// beside the prefix and the two tokens that frame it.
func chunkTokens(window int, prefix string) int {
	if window <= 0 {
		window = defaultWindow
	}
	return max(8, min(maxChunkTokens, window*9/10)-2-int(cost(prefix)/scale))
}

// split cuts text into chunks of at most size estimated tokens, and returns at
// most maxChunks of them: of a longer text the quarter at its head, the quarter
// at its tail, and what lies at even distances between.
func split(text string, size int) []string {
	var chunks []string
	for text != "" || chunks == nil {
		n := cut(text, size*scale)
		chunks = append(chunks, text[:n])
		text = text[n:]
	}
	if len(chunks) <= maxChunks {
		return chunks
	}
	return spread(chunks)
}

func spread(chunks []string) []string {
	const end, middle = maxChunks / 4, maxChunks / 2
	kept := append(make([]string, 0, maxChunks), chunks[:end]...)
	between := chunks[end : len(chunks)-end]
	for i := range middle {
		kept = append(kept, between[i*len(between)/middle])
	}
	return append(kept, chunks[len(chunks)-end:]...)
}

// cut returns the length of the first chunk of text: as much as costs at most
// most, ended where a line ends, else at a space, else at a rune's border. It
// gives up at most half of what it could take for the better end.
func cut(text string, most int) int {
	line, space, spent := 0, 0, 0
	var last runeKind
	for i, r := range text {
		c, k := costOf(r, last)
		last = k
		if spent += c; spent > most && i > 0 {
			return best(line, space, i)
		}
		switch {
		case r == '\n':
			line = i + 1
		case unicode.IsSpace(r):
			space = i + utf8.RuneLen(r)
		}
	}
	return len(text)
}

// best returns the best end of a chunk that may be end bytes long.
func best(line, space, end int) int {
	switch {
	case line > end/2:
		return line
	case space > end/2:
		return space
	}
	return end
}

// halves cuts a chunk near its middle.
func halves(chunk string) []string {
	half := len(chunk) / 2
	end := half
	for end < len(chunk) && !utf8.RuneStart(chunk[end]) {
		end++
	}
	if i := strings.LastIndexByte(chunk[:half], '\n') + 1; i > half/2 {
		end = i
	} else if i := strings.LastIndexByte(chunk[:half], ' ') + 1; i > half/2 {
		end = i
	}
	return []string{chunk[:end], chunk[end:]}
}

// scale is how many units of cost make one token.
const scale = 12

// A runeKind is what tokenizers of embedding models tell apart.
type runeKind uint8

const (
	isBlank runeKind = iota
	isLetter
	isDigit
	isOther
)

// cost estimates, rather too high than too low, how many tokens text is.
func cost(text string) int {
	sum := 0
	var last runeKind
	for _, r := range text {
		c, k := costOf(r, last)
		sum, last = sum+c, k
	}
	return sum
}

func costOf(r rune, last runeKind) (int, runeKind) {
	switch {
	case unicode.IsSpace(r):
		return 0, isBlank
	case r >= utf8.RuneSelf:
		return scale, isOther
	case r >= '0' && r <= '9':
		return scale * 2 / 3, isDigit
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		if last == isBlank {
			return scale / 2, isLetter
		}
		return scale / 3, isLetter
	}
	return scale, isOther
}
