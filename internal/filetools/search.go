package filetools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// maxShown is the longest part of a found line, in bytes.
const maxShown = 200

// searchFiles finds the lines with a text. Hidden folders, links and files that are
// not text are left out.
func (f *Folder) searchFiles(ctx context.Context, c Call, limit int) (string, error) {
	info, err := f.status(c.Path)
	if err != nil {
		return "", err
	}
	s := search{folder: f, text: strings.ToLower(strings.TrimSpace(c.Text)), result: resultWriter{limit: limit}}
	if info.IsDir() {
		err = s.walkFolder(ctx, c.Path)
	} else if err = checkPlain(c.Path, info, maxSearched); err == nil {
		err = s.searchFile(c.Path)
	}
	if err != nil && !errors.Is(err, errLimit) {
		return "", err
	}
	return s.report(err != nil), nil
}

// walkFolder searches the files below a folder.
func (s *search) walkFolder(ctx context.Context, dir string) error {
	return fs.WalkDir(s.folder.root.FS(), dir, func(at string, e fs.DirEntry, err error) error {
		s.entries++
		hidden := at != dir && strings.HasPrefix(path.Base(at), ".")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.entries > maxEntries || s.bytes > maxSearchBytes:
			return errLimit
		case err != nil:
			s.skipped++
			return skipFolder(e)
		case hidden || isPrivate(path.Base(at)):
			return skipFolder(e)
		case e.Type().IsRegular():
			return s.searchFile(at)
		}
		return nil
	})
}

func skipFolder(e fs.DirEntry) error {
	if e != nil && e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// searchFile adds the lines of one file that have the text. A file that cannot be
// read is counted.
func (s *search) searchFile(at string) error {
	text, err := s.folder.readText(at, maxSearched)
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
			s.result.addLine(fmt.Sprintf("%s:%d: %s", printable(at), n, shownLine(line, s.text)))
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
