package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/clip"
)

// RecallID returns the id under which the archive gives back what parts stand
// for: the id of a message, the part, the text. It is a short hash, so the same
// text of the same message has the same id in every run.
func RecallID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:4])
}

// Superseded returns the pointer that stands for an older copy of a file.
func Superseded(path, recall string) string {
	return "[superseded " + clipToOneLine(path, 200) + " by a newer copy below; recall " + recall + "]"
}

// Replaced returns the pointer that stands for text that an edit took away.
func Replaced(recall string) string {
	return "[superseded old text of this edit; recall " + recall + "]"
}

// Repeated returns the pointer that stands for a text that stands again below.
func Repeated(recall string) string {
	return "[repeated below, word for word; recall " + recall + "]"
}

// RepeatedCall returns the head of the first of so many results of one call in a
// row, of which some are gone. same says that the last is the first, word for
// word: it stands below.
func RepeatedCall(calls, gone int, same bool, recall string) string {
	text := fmt.Sprintf("[repeated call: %d times in a row, %d left out; ", calls, gone)
	if same {
		return text + "the result was the one that stands below; recall " + recall + "]"
	}
	return text + "the results were like this first one and the last one below; recall " + recall + "]"
}

// clipToOneLine returns s on one line, cut to size bytes.
func clipToOneLine(s string, size int) string {
	s = chat.Visible(strings.ToValidUTF8(s[:min(len(s), size+4)], ""))
	s = strings.NewReplacer("\n", " ", "\t", " ").Replace(s)
	return clipBytes(s, size)
}

// clipBytes cuts s to at most size bytes, between characters.
func clipBytes(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return clip.Bytes(s, size) + "…"
}
