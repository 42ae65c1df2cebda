package filetools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// A search is one walk through a folder.
type search struct {
	folder  *Folder
	text    string // in lower case
	result  resultWriter
	bytes   int64 // read so far
	entries int
	files   int // read so far
	skipped int // too large, or not text
}

// errLimit ends a walk that has read as much as it may.
var errLimit = errors.New("limit of a search")

// maxDepth is how deep a search goes.
const maxDepth = 64

// maxShown is the longest part of a found line, in bytes.
const maxShown = 200

// searchFiles finds the lines with a text. Hidden folders, links and files that are
// not text are left out.
func (f *Folder) searchFiles(ctx context.Context, c Call, limit int) (string, error) {
	x, err := f.findPath(c.Path)
	if err != nil {
		return "", err
	}
	defer x.Close()
	s := search{folder: f, text: strings.ToLower(strings.TrimSpace(c.Text)), result: resultWriter{limit: limit}}
	if x.info.IsDir() {
		err = s.walkFolder(ctx, x)
	} else if err = checkPlain(c.Path, x.info, maxSearched); err == nil {
		err = s.searchFile(x)
	}
	if err != nil && !errors.Is(err, errLimit) {
		return "", err
	}
	return s.report(err != nil), nil
}

// walkFolder searches the files below a folder, in the order of their names. What
// cannot be opened is counted.
func (s *search) walkFolder(ctx context.Context, x target) error {
	in, err := s.folder.openFolder(x)
	if err != nil {
		s.skipped++
		return nil
	}
	defer in.Close()
	entries, err := s.folder.readEntries(in, x.path)
	if err != nil {
		s.skipped++
	}
	for _, e := range entries {
		s.entries++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.entries > maxEntries || s.bytes > maxSearchBytes:
			return errLimit
		case strings.HasPrefix(e.Name(), "."):
			continue
		}
		if err := s.searchEntry(ctx, in, e.Name(), path.Join(x.path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// searchEntry searches a file, or the files below a folder. A link is neither.
func (s *search) searchEntry(ctx context.Context, in *os.Root, name, at string) error {
	info, err := in.Lstat(name)
	x := target{in: in, name: name, path: at, info: info}
	switch {
	case err != nil, info.IsDir() && strings.Count(at, "/") >= maxDepth:
		s.skipped++
	case info.IsDir():
		return s.walkFolder(ctx, x)
	case info.Mode().IsRegular():
		return s.searchFile(x)
	}
	return nil
}

// searchFile adds the lines of one file that have the text. A file that cannot be
// read is counted.
func (s *search) searchFile(x target) error {
	text, err := s.folder.readText(x, maxSearched)
	if err != nil {
		s.skipped++
		return nil
	}
	s.files++
	s.bytes += int64(len(text))
	if !strings.Contains(strings.ToLower(text), s.text) {
		return nil
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.Contains(strings.ToLower(line), s.text) {
			s.result.addLine(fmt.Sprintf("%s:%d: %s", printable(x.path), n, shownLine(line, s.text)))
		}
	}
	return nil
}

// shownLine returns the part of a line around the text.
func shownLine(line, text string) string {
	line = strings.TrimSpace(line)
	if len(line) <= maxShown {
		return line
	}
	from := 0
	if at := strings.Index(strings.ToLower(line), text); at > maxShown/2 {
		from = len(clipBytes(line, min(at, len(line))-maxShown/2))
	}
	part := clipBytes(line[from:], maxShown)
	if from > 0 {
		part = "…" + part
	}
	return part + "…"
}

// report returns the found lines, and what was left out.
func (s *search) report(ended bool) string {
	var notes []string
	switch {
	case s.result.lines+s.result.left == 0:
		notes = append(notes, fmt.Sprintf("no line has the text; %d files were searched", s.files))
	case s.result.left > 0:
		notes = append(notes, fmt.Sprintf("%d more lines have it; search below a path, or for a longer text", s.result.left))
	}
	if s.skipped > 0 {
		notes = append(notes, fmt.Sprintf("%d files are not text, or larger than %d bytes", s.skipped, maxSearched))
	}
	if ended {
		notes = append(notes, fmt.Sprintf("the search ended after %d entries; search below a path", s.entries))
	}
	if len(notes) > 0 {
		s.result.close("(" + strings.Join(notes, "; ") + ")")
	}
	return s.result.String()
}
