package embed

import (
	"strings"
	"unicode/utf8"
)

const (
	maxChunkTokens = 1900 // of one chunk, whatever the model's window
	maxChunks      = 32   // of one text
	minChunk       = 8    // bytes; a shorter chunk is not halved
)

// chunkTokens returns the estimated tokens of text in one chunk, beside the prefix
// and the two tokens that frame it.
func chunkTokens(window int, prefix string) int {
	if window <= 0 {
		window = defaultWindow
	}
	return max(8, min(maxChunkTokens, window*9/10)-2-estimateTokens(prefix))
}

// splitChunks cuts text into chunks of at most size estimated tokens, and returns
// at most maxChunks of them: of a longer text the quarter at its head, the quarter
// at its tail, and chunks at even distances between.
func splitChunks(text string, size int) []string {
	var chunks []string
	for text != "" || chunks == nil {
		n := firstChunkSize(text, size)
		chunks = append(chunks, text[:n])
		text = text[n:]
	}
	if len(chunks) <= maxChunks {
		return chunks
	}
	return spreadChunks(chunks)
}

func spreadChunks(chunks []string) []string {
	const end, middle = maxChunks / 4, maxChunks / 2
	kept := append(make([]string, 0, maxChunks), chunks[:end]...)
	between := chunks[end : len(chunks)-end]
	for i := range middle {
		kept = append(kept, between[i*len(between)/middle])
	}
	return append(kept, chunks[len(chunks)-end:]...)
}

// firstChunkSize returns the length of the first chunk of text: at most size
// estimated tokens, ended at the end of a line, else at a space, else at the border
// of a rune. It gives up at most half for the better end.
func firstChunkSize(text string, size int) int {
	var line, space int
	var m tokenMeter
	for i, r := range text {
		if m.addRune(r); m.estimatedTokens() > size && i > 0 {
			return betterEnd(line, space, i)
		}
		switch {
		case r == '\n':
			line = i + 1
		case r == ' ' || r == '\t':
			space = i + 1
		}
	}
	return len(text)
}

func betterEnd(line, space, end int) int {
	switch {
	case line > end/2:
		return line
	case space > end/2:
		return space
	}
	return end
}

// halveChunk cuts a chunk of at least two bytes before its middle, by the rule of
// [firstChunkSize].
func halveChunk(chunk string) [2]string {
	end := len(chunk) / 2
	for n := range min(utf8.UTFMax, end) {
		if utf8.RuneStart(chunk[end-n]) {
			end -= n
			break
		}
	}
	head := chunk[:end]
	end = betterEnd(strings.LastIndexByte(head, '\n')+1, strings.LastIndexAny(head, " \t")+1, end)
	return [2]string{chunk[:end], chunk[end:]}
}

// estimateTokens returns an estimate of the tokens of text, rather too high than
// too low.
func estimateTokens(text string) int {
	var m tokenMeter
	for _, r := range text {
		m.addRune(r)
	}
	return m.estimatedTokens()
}

// A tokenMeter estimates tokens rune by rune, by the cost of the kinds of runes in
// the vocabulary of BERT, which most embedding models use: a word of up to eight
// letters is about one token, a mark is one, and random letters (base64, hashes)
// are recognised by their changes of case and their length.
type tokenMeter struct {
	percent int // of one token
	last    runeKind
	run     int // letters since the last change of case that began a word
	word    int // letters and digits since the last blank or mark
}

// longWord is the maximum length of a run of letters and digits that counts as
// words.
const longWord = 20

// A runeKind is a kind of rune that the vocabularies distinguish.
type runeKind uint8

const (
	isBlank runeKind = iota
	isLower
	isUpper
	isDigit
	isOther
)

func (m *tokenMeter) estimatedTokens() int { return (m.percent + 99) / 100 }

func (m *tokenMeter) addRune(r rune) {
	kind, cost := isOther, 100
	switch {
	case r == ' ' || r >= '\t' && r <= '\r':
		kind, cost = isBlank, 3
	case r >= 'a' && r <= 'z':
		kind = isLower
	case r >= 'A' && r <= 'Z':
		kind = isUpper
	case r >= '0' && r <= '9':
		kind, cost = isDigit, 65
	case r < utf8.RuneSelf:
		cost = 115
	}
	if kind == isLower || kind == isUpper {
		cost = m.addLetter(kind)
	}
	if m.word++; kind == isBlank || kind == isOther {
		m.word = 0
	} else if m.word > longWord {
		cost = max(cost, 65)
	}
	m.percent += cost
	m.last = kind
}

func (m *tokenMeter) addLetter(kind runeKind) int {
	switch {
	case m.last != isLower && m.last != isUpper, kind == isUpper && m.last == isLower:
		m.run = 1
		return 105
	case kind == isLower && m.last == isUpper && m.run > 1: // HTTPServer
		m.run++
		return 50
	}
	switch m.run++; {
	case m.run > 8:
		return 50
	case m.run > 4:
		return 18
	}
	return 5
}
