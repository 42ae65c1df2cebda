package tui

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// An attachedFile is a file, or a range of its lines, that the user adds.
type attachedFile struct {
	path string // as the user wrote it, with the range
	text string
}

// message returns the message that a session has for the file.
func (f attachedFile) message() chat.Message {
	return chat.NewText(chat.User, files.AttachText(f.path, f.text))
}

// A tooLarge is the error of a message that does not fit even if all that can leave the
// conversation leaves it. It was not sent.
type tooLarge struct{ tokens, room, window int }

func (e *tooLarge) Error() string {
	return fmt.Sprintf("the message is too large, and not sent: about %s tokens, but at most %s of the window of %s can be free; put it into a file and send a part of it by @FILE:1-200, or use a larger --window",
		screen.Grouped(e.tokens), screen.Grouped(e.room), screen.Grouped(e.window))
}

// Unwrap returns [tiercompact.ErrInsufficientBudget].
func (e *tooLarge) Unwrap() error { return tiercompact.ErrInsufficientBudget }

// checkRoom returns a [tooLarge] if a message of the user cannot fit.
func (t *Talk) checkRoom(m chat.Message) error {
	if tokens, room := t.session.Room(m); tokens > room {
		return &tooLarge{tokens, room, t.model.Window}
	}
	return nil
}

func (t *Talk) addFileCommand(ctx context.Context, path string) error {
	if path == "" {
		return errors.New("/add needs the path of a file")
	}
	path = fromHome(path)
	text, err := readText(ctx, path)
	if err != nil {
		return err
	}
	return t.addFile(ctx, attachedFile{path, text})
}

// addFile adds a file to the conversation, which is cut before the next answer if it
// cannot fit.
func (t *Talk) addFile(ctx context.Context, f attachedFile) error {
	t.emitNote("%s: %s bytes", f.path, screen.Grouped(len(f.text)))
	if tokens, room := t.session.Room(f.message()); tokens > room {
		t.emitNote("%s is about %s tokens, but at most %s of the window of %s can be free, so it will be cut; @%s:1-200 adds a part of it instead",
			f.path, screen.Grouped(tokens), screen.Grouped(room), screen.Grouped(t.model.Window), partOf.ReplaceAllString(f.path, "$1"))
	}
	report, err := t.session.AddFile(ctx, f.path, f.text)
	t.noteReport(report)
	if u := t.session.Usage(); err == nil && u.Tokens > u.Budget {
		t.emitNote("the conversation is over its budget; it will be compacted before the next answer, or now by /compact")
	}
	return err
}

// readAttached returns the files that a message names as @PATH, as @"PATH" with blanks,
// or with a range of lines as @PATH:1-200. Other words with an @ stay what they are.
func (t *Talk) readAttached(ctx context.Context, text string) ([]attachedFile, error) {
	var all []attachedFile
	for _, name := range attachedPaths(text) {
		path := fromHome(name)
		whole, _, _ := partOfFile(path)
		info, err := os.Stat(whole)
		switch {
		case err == nil && info.IsDir():
			t.emitNote("%s is a folder, which is not added; name a file of it", name)
		case err == nil:
			text, err := readText(ctx, path)
			if err != nil {
				return nil, err
			}
			all = append(all, attachedFile{path, text})
		case strings.ContainsAny(whole, "/.") && !strings.ContainsAny(whole, "@:()"): // no name of a person, no address
			t.emitNote("there is no file %s, so none is added", name)
		}
	}
	return all, nil
}

// attachedPaths returns the paths after an @ at the beginning of a word.
func attachedPaths(text string) []string {
	var paths []string
	for _, m := range attachment.FindAllStringSubmatch(text, -1) {
		if path := cmp.Or(m[1], strings.TrimRight(m[2], ".,;:!?)")); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

var attachment = regexp.MustCompile(`(?:^|\s)@(?:"([^"\n]+)"|([^\s"]\S*))`)

// fromHome returns a path with the user's home folder in place of a leading ~/.
func fromHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// partOf matches a path with a range of lines.
var partOf = regexp.MustCompile(`^(.+):([0-9]{1,9})-([0-9]{1,9})$`)

// partOfFile returns the file of a path and the range of its lines, from 1, both
// inclusive; 0 means the whole file. An existing file is never a part of another.
func partOfFile(path string) (file string, from, to int) {
	m := partOf.FindStringSubmatch(path)
	if m == nil {
		return path, 0, 0
	}
	if _, err := os.Lstat(path); err == nil {
		return path, 0, 0
	}
	from, _ = strconv.Atoi(m[2]) // of at most nine digits
	to, _ = strconv.Atoi(m[3])
	return m[1], max(from, 1), max(to, 1)
}

// maxFile is the largest size of an added file; such a file fills a window of
// 250,000 tokens.
const maxFile = 1 << 20

// readText returns the text of a text file, or of the lines that the path names.
func readText(ctx context.Context, path string) (string, error) {
	file, from, to := partOfFile(path)
	// Stat first: opening a pipe waits for its other end.
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("add file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("add file %s: it is not a plain file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("add file: %w", err)
	}
	defer f.Close()
	var b []byte
	if from == 0 {
		b, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	} else {
		b, err = readLinesOf(ctx, f, from, to)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("add file %s: %w", path, err)
	case len(b) > maxFile:
		return "", fmt.Errorf("add file %s: it is larger than %s bytes; add a part of it, such as %s:1-200", path, screen.Grouped(maxFile), file)
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		return "", fmt.Errorf("add file %s: it is not text in UTF-8", path)
	}
	return string(b), nil
}

// readLinesOf returns the lines from one number to another of r, counted from 1. It
// stops after maxFile bytes of them.
func readLinesOf(ctx context.Context, r io.Reader, from, to int) ([]byte, error) {
	if from > to {
		return nil, fmt.Errorf("a range of lines begins with its smaller number, such as %d-%d", to, from)
	}
	in := bufio.NewReaderSize(r, 1<<16)
	var lines []byte
	n := 1
	for n <= to && len(lines) <= maxFile {
		if err := ctx.Err(); err != nil { // a file can be endless to read
			return nil, err
		}
		piece, err := in.ReadSlice('\n')
		if n >= from {
			lines = append(lines, piece...)
		}
		switch {
		case err == nil:
			n++
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(lines) > 0:
			return lines, nil
		case errors.Is(err, io.EOF) && len(piece) > 0:
			return nil, fmt.Errorf("it has only %s", screen.Plural(n, "line"))
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("it has only %s", screen.Plural(n-1, "line"))
		default:
			return nil, err
		}
	}
	return lines, nil
}
