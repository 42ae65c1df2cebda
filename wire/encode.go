package wire

import (
	"fmt"
	"io"
)

// A layout is the document that a conversation was read from.
type layout struct{}

// Encode writes c in the named format. to "" is c.Format, or openai where that
// format is only read. c.Messages may be a compacted version of what was read.
func Encode(w io.Writer, c Conversation, to string) error {
	return fmt.Errorf("not yet")
}
