package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/clip"
)

// RecallID returns the id under which the archive returns the text that parts
// identify: the id of a message, the part, the text. It is a short hash, so
// the same text of the same message has the same id in every run.
func RecallID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:4])
}

// Superseded returns the pointer that replaces an older copy of a file.
func Superseded(path, recall string) string {
	return "[superseded " + clipToOneLine(path, 200) + " by a newer copy below; recall " + recall + "]"
}

// Replaced returns the pointer that replaces a text that an edit removed.
func Replaced(recall string) string {
	return "[superseded old text of this edit; recall " + recall + "]"
}

// Repeated returns the pointer that replaces a text that is repeated below.
func Repeated(recall string) string {
	return "[repeated below, word for word; recall " + recall + "]"
}

// RepeatedCall returns the head of the first of the given number of results of
// one call in a row, of which some were removed. same says that the last is
// the same as the first, word for word: it follows below.
func RepeatedCall(calls, gone int, same bool, recall string) string {
	text := fmt.Sprintf("[repeated call: %d times in a row, %d left out; ", calls, gone)
	if same {
		return text + "the result was the one that stands below; recall " + recall + "]"
	}
	return text + "the results were like this first one and the last one below; recall " + recall + "]"
}

// clipToOneLine returns s on one line, cut to size bytes.
func clipToOneLine(s string, size int) string {
	s = chat.Visible(strings.ToValidUTF8(clip.Bytes(s, size+4), ""))
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
