package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errStop ends eachLine early, without an error.
var errStop = errors.New("stop")

// eachLine calls f with each line of r, without its line feed. The error names
// the line. A last line without a line feed is damaged.
func eachLine(r io.Reader, f func(line []byte) error) error {
	b := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(b)
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err == io.EOF {
			return fmt.Errorf("line %d: %w: the end is missing", n, ErrDamaged)
		}
		if err == nil {
			err = f(line)
		}
		if err == errStop {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// readLine returns the next line without its line feed. With io.EOF it returns
// what stands behind the last line feed. The line is valid until the next read.
func readLine(b *bufio.Reader) ([]byte, error) {
	line, err := b.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
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

// decodeLine decodes one record into x. A record of a later version is
// ErrVersion, whatever else is in it.
func decodeLine(line []byte, x interface{ version() int }) error {
	err := json.Unmarshal(line, x)
	v := x.version()
	if err != nil {
		var h head
		if json.Unmarshal(line, &h) == nil {
			v = h.V
		}
	}
	switch {
	case v > Version:
		return fmt.Errorf("%w (format %d, this one reads %d); read it with that one", ErrVersion, v, Version)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case v < 1:
		return fmt.Errorf("%w: no format version", ErrDamaged)
	}
	return nil
}
