package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// readLines yields the lines of r, without their line feeds; each is valid until
// the next. An error is the last value: a last line without a line feed is damaged.
func readLines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		b := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := readLine(b)
			switch {
			case errors.Is(err, io.EOF) && len(line) == 0:
				return
			case errors.Is(err, io.EOF):
				yield(line, errTorn)
				return
			case !yield(line, err) || err != nil:
				return
			}
		}
	}
}

// readLine returns the next line without its line feed. With io.EOF it returns the
// text after the last line feed. The line is valid until the next read.
func readLine(b *bufio.Reader) ([]byte, error) {
	line, err := b.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		rest, readErr := b.ReadBytes('\n')
		line, err = append(long, rest...), readErr
	}
	if err == nil {
		line = line[:len(line)-1]
	}
	return line, err
}

// A head begins every record: its format version.
type head struct {
	V int `json:"v"`
}

func (h *head) version() int { return h.V }

// decodeLine decodes one record into x. A record of a later version is ErrVersion,
// whatever else it contains.
func decodeLine(line []byte, x interface{ version() int }) error {
	return decodeVersion(line, x, Version)
}

// decodeVersion is decodeLine for a format whose newest version is not Version.
func decodeVersion(line []byte, x interface{ version() int }, newest int) error {
	err := json.Unmarshal(line, x)
	v := x.version()
	if err != nil {
		var h head
		if json.Unmarshal(line, &h) == nil {
			v = h.V
		}
	}
	switch {
	case v > newest:
		return fmt.Errorf("%w (format %d, this one reads %d); read it with that one", ErrVersion, v, newest)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case v < 1:
		return fmt.Errorf("%w: no format version", ErrDamaged)
	}
	return nil
}
