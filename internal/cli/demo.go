package cli

import (
	_ "embed"
	"fmt"

	"github.com/tiercompact/tiercompact/wire"
)

//go:embed demo.jsonl
var demoSession []byte

// demoTranscript returns the session that comes with the program.
func demoTranscript() (input, error) {
	c, err := wire.DecodeBytes(demoSession, wire.Options{Name: "demo.jsonl"})
	if err != nil {
		return input{}, fmt.Errorf("read the demo session: %w", err)
	}
	return input{Conversation: c, name: "a coding session that comes with tiercompact", session: "demo"}, nil
}
