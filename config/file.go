package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// FileVariable names the variable that holds the path of the file.
const FileVariable = "COMPACT_CONFIG"

// Names are the files that are found automatically, in the current folder.
func Names() []string { return []string{"compact.yaml", "compact.yml", "compact.json"} }

// maxBytes is the maximum size of a file.
const maxBytes = 1 << 20

// Find returns the file of settings in a folder, or "". Two such files are an error,
// because one would be ignored silently. So are a broken link, and a pipe, which would
// block every command.
func Find(dir string) (string, error) {
	var found []string
	for _, name := range Names() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			found = append(found, filepath.Join(dir, name))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for settings: %w", err)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], readable(found[0])
	}
	return "", fmt.Errorf("find settings: there are %s; keep one, or name it with --config", strings.Join(found, " and "))
}

// readable rejects an existing path that is not a regular file.
func readable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("find settings: %s is a link that leads nowhere; take it away, or name another file with --config", path)
	case err != nil:
		return fmt.Errorf("find settings: %w", err)
	case !info.Mode().IsRegular() && !info.IsDir(): // for a folder the read reports the error
		return fmt.Errorf("find settings: %s is no file; take it away, or name one with --config", path)
	}
	return nil
}

// readFile returns the contents of a file, without a byte order mark.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("read settings: %s is a folder; name the file in it", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read settings: %w", err)
	case len(data) > maxBytes:
		return nil, fmt.Errorf("read settings: %s is larger than 1 MB, the limit for a file of settings; name another", path)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// parseFile returns the settings of a file. The error is about its syntax.
func parseFile(name string, data []byte) (node, *Error) {
	n, err := node{}, error(nil)
	switch {
	case !utf8.Valid(data):
		valid := 0
		for r, size := utf8.DecodeRune(data); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(data[valid:]) {
			valid += size
		}
		err = &lineError{lineOfByte(data, valid), "it is no UTF-8 text; save it as such"}
	case hasJSONExt(name):
		n, err = parseJSON(data)
	default:
		n, err = parseYAML(data)
	}
	if err == nil {
		return n, nil
	}
	bad := &Error{Want: "plain YAML", Remedy: err.Error(), Origin: Origin{Kind: File, Name: name}}
	if hasJSONExt(name) {
		bad.Want = "plain JSON"
	}
	var at *lineError
	if errors.As(err, &at) {
		bad.Origin.Line = at.line
	}
	return n, bad
}
