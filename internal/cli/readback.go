package cli

import (
	"bytes"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/wire"
)

// readBack returns the readings of c's file, written in a format ("" is its own),
// with other messages: of the file itself, and of what compact or undo make of it
// in each other format.
func readBack(c wire.Conversation, to string) func(chat.Transcript) []archive.Reading {
	to = formatWritten(c, to)
	return func(messages chat.Transcript) []archive.Reading {
		c := c
		c.Messages = messages
		files := rereadAs(c, to)
		all := readingsOf(files, to)
		if len(files) == 0 {
			return nil
		}
		for name := range strings.SplitSeq(formatNames(true), ", ") {
			if name != to {
				all = append(all, readingsOf(rereadAs(files[0], name), name)...)
			}
		}
		return all
	}
}

// formatWritten returns the format in which c is written.
func formatWritten(c wire.Conversation, to string) string {
	switch {
	case to != "":
		return to
	case readOnly(c, to) != "":
		return "openai"
	}
	return c.Format
}

// rereadAs returns c as it is read from its written file: in the detected format,
// and if that is another one, in the written format too.
func rereadAs(c wire.Conversation, to string) []wire.Conversation {
	var file bytes.Buffer
	if err := wire.Encode(&file, c, to); err != nil {
		return nil
	}
	detected, err := wire.DecodeBytes(file.Bytes(), wire.Options{})
	if err != nil {
		return nil // there is nothing in it to read
	}
	if detected.Format == to {
		return []wire.Conversation{detected}
	}
	meant, err := wire.DecodeBytes(file.Bytes(), wire.Options{Format: to})
	if err != nil {
		return []wire.Conversation{detected}
	}
	return []wire.Conversation{detected, meant}
}

func readingsOf(files []wire.Conversation, format string) []archive.Reading {
	var all []archive.Reading
	for _, c := range files {
		all = append(all, archive.Reading{Format: format, Messages: c.Messages})
	}
	return all
}
