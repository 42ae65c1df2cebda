package filetools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// listFolder lists a folder: folders with a slash, files with their sizes.
func (f *Folder) listFolder(c Call, limit int) (string, error) {
	x, err := f.findPath(c.Path)
	if err != nil {
		return "", err
	}
	defer x.Close()
	if !x.info.IsDir() {
		return "", fmt.Errorf("%s is not a folder; read_file reads it", c.Path)
	}
	in, err := f.openFolder(x)
	if err != nil {
		return "", err
	}
	defer in.Close()
	entries, err := f.readEntries(in, c.Path)
	if err != nil {
		return "", err
	}
	r := resultWriter{limit: limit}
	for _, e := range entries {
		r.addLine(entryLine(e))
	}
	if r.lines+r.left == 0 {
		return "the folder is empty", nil
	}
	if r.left > 0 {
		r.close(fmt.Sprintf("(%d more entries; search_files finds files by their lines)", r.left))
	}
	return r.String(), nil
}

// readEntries returns the entries of a folder, sorted, without those that are private.
func (f *Folder) readEntries(in *os.Root, at string) ([]fs.DirEntry, error) {
	d, err := in.Open(".")
	if err != nil {
		return nil, fmt.Errorf("%s cannot be listed: %w", at, cause(err))
	}
	defer d.Close()
	entries, err := d.ReadDir(maxEntries)
	if err != nil && len(entries) == 0 && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s cannot be listed: %w", at, cause(err))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.DeleteFunc(entries, f.isPrivateEntry), nil
}

func (f *Folder) isPrivateEntry(e fs.DirEntry) bool {
	if isPrivate(e.Name()) {
		return true
	}
	if !e.IsDir() || len(f.private) == 0 {
		return false
	}
	info, err := e.Info()
	return err == nil && f.isPrivateFolder(info)
}

// entryLine describes an entry of a folder.
func entryLine(e fs.DirEntry) string {
	name := printable(e.Name())
	info, err := e.Info()
	switch {
	case err != nil:
		return name + "  (gone)"
	case isLink(info):
		return name + "  (a link, not followed)"
	case info.IsDir():
		return name + "/"
	case !info.Mode().IsRegular():
		return name + "  (not a plain file)"
	}
	return fmt.Sprintf("%s  %d bytes", name, info.Size())
}

// printable returns a name without what would break its line, or steer a terminal.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if steersText(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
}

// readLines returns lines of a text file, as they are, and after them which lines they
// are, if they are not the whole file.
func (f *Folder) readLines(c Call, limit int) (string, error) {
	x, err := f.findPath(c.Path)
	if err != nil {
		return "", err
	}
	defer x.Close()
	text, err := f.readText(x, maxFileBytes)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	n := len(lines)
	switch {
	case n == 0:
		return "the file is empty", nil
	case c.Start > n:
		return "", fmt.Errorf("%s has only %d lines", c.Path, n)
	}
	end := n
	if c.End > 0 {
		end = min(c.End, n)
	}
	var b strings.Builder
	at := c.Start - 1
	for at < end && b.Len()+len(lines[at]) <= limit {
		b.WriteString(lines[at])
		at++
	}
	if at == c.Start-1 { // one line is longer than a result
		b.WriteString(clipBytes(lines[at], limit))
		return fmt.Sprintf("%s\n(the beginning of line %d of %d, which has %d bytes)", b.String(), at+1, n, len(lines[at])), nil
	}
	if c.Start == 1 && at == n {
		return b.String(), nil
	}
	note := fmt.Sprintf("(lines %d to %d of %d)", c.Start, at, n)
	if at < end {
		note = fmt.Sprintf("(lines %d to %d of %d; the rest begins at start_line %d)", c.Start, at, n, at+1)
	}
	return strings.TrimRight(b.String(), "\n") + "\n" + note, nil
}

// readText returns the text of a file.
func (f *Folder) readText(x target, most int64) (string, error) {
	file, err := f.openFile(x, most)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return textOf(file, x.path, most)
}

// maxReadTime bounds the reading of a file that has no end, such as /proc/kmsg.
var maxReadTime = 10 * time.Second

// textOf reads a text to its end. It does not trust the size that a file reports:
// files of the kernel have none, and a log grows.
func textOf(file *os.File, p string, most int64) (string, error) {
	_ = file.SetReadDeadline(time.Now().Add(maxReadTime)) // refused by files that are never waited for
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s cannot be read: %w", p, cause(err))
	case int64(len(b)) > most:
		return "", fmt.Errorf("%s has more than the %d bytes that can be read", p, most)
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		return "", fmt.Errorf("%s is not text in UTF-8", p)
	}
	return string(b), nil
}

// clipBytes returns the beginning of a text, at most n bytes, cut between characters.
func clipBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// A resultWriter collects lines up to a limit in bytes, and counts the rest.
type resultWriter struct {
	strings.Builder
	limit       int
	lines, left int
}

func (r *resultWriter) addLine(line string) {
	if r.left > 0 || r.Len()+len(line)+1 > r.limit {
		r.left++
		return
	}
	r.lines++
	r.WriteString(line + "\n")
}

// close adds a last line, even beyond the limit.
func (r *resultWriter) close(line string) { r.WriteString(line) }
