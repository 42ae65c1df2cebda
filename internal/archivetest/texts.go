package archivetest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Texts returns the content of the files below an archive's folder, by path below
// it: unchanged, or decompressed. It is for tests of what must not be in an
// archive.
func Texts(root string) (map[string]string, error) {
	texts := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		inflated := []byte(nil)
		switch filepath.Ext(path) {
		case ".pack":
			inflated, err = inflateFrames(b)
		case ".gz":
			inflated, err = inflate(bytes.NewReader(b))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		texts[filepath.ToSlash(name)] = string(b) + string(inflated)
		return nil
	})
	return texts, err
}

func inflate(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// inflateFrames returns the text of each frame of a pack: a line that begins with
// ~~ and ends with a length and a hash, followed by that number of bytes of
// deflate.
func inflateFrames(b []byte) (text []byte, err error) {
	frames := 0
	for len(b) > 0 {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		words := bytes.Fields(line)
		var length int
		if ok && len(words) == 6 && string(words[0]) == "~~" {
			_, err = fmt.Sscan(string(words[4]), &length)
		}
		if err != nil || length <= 0 || length >= len(rest) {
			return nil, fmt.Errorf("frame %d is not whole", frames+1)
		}
		part, err := io.ReadAll(flate.NewReader(bytes.NewReader(rest[:length])))
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", frames+1, err)
		}
		text, b = append(text, part...), rest[length+1:]
		frames++
	}
	if frames < 2 {
		return nil, errors.New("it has no frames")
	}
	return text, nil
}
