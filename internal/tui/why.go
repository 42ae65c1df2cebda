package tui

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/filetools"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

// roundLines returns the actions of a round, one line per level and one per failed
// attempt, without colours: the page paints them.
func roundLines(s screen.Screen, r tiercompact.Report) []string {
	s.Colour = false
	var lines []string
	if other := screen.OtherLevel(r); other != "" {
		lines = append(lines, other)
	}
	for _, a := range r.Applied {
		head := fmt.Sprintf("%s %s%s tokens", a.Level, s.Sign("−", "-"), screen.Grouped(a.Before-a.After))
		parts := append([]string{head}, s.Said(r, a)...)
		if a.Engine == levels.FallbackExtractive && a.Why != "" && len(a.Attempts) == 0 { // an attempt has its own line
			parts = append(parts, "no model wrote it: "+a.Why)
		}
		lines = append(lines, strings.Join(parts, s.Sign(" · ", ", ")))
		for _, tried := range screen.Tried(a) {
			lines = append(lines, "  "+tried)
		}
	}
	lines = append(lines, fmt.Sprintf("%s %s %s of the window, %s tokens freed", screen.Percent(windowShare(r.Before, r.Usage)), s.Sign("→", "->"),
		screen.Percent(r.Usage.Share), screen.Grouped(max(0, r.Freed()))))
	return lines
}

func windowShare(tokens int, u tiercompact.Usage) float64 {
	if u.Window == 0 {
		return 0
	}
	return float64(tokens) / float64(u.Window)
}

// whyWidth is the maximum width of a line about an edit. The page wraps it to the
// screen, whose width changes.
const whyWidth = 200

// whyCommand shows the actions of the newest round, edit by edit, and the result of
// the newest check.
func (t *Talk) whyCommand(context.Context, string) error {
	s := t.o.Screen
	s.Colour = false // a note is painted as a whole
	s.Width = whyWidth
	var lines []string
	if t.round.Compacted() {
		lines = append(lines, fmt.Sprintf("round %d, picked level %s:", t.round.Step, t.round.Picked))
		lines = append(lines, roundLines(s, t.round)...)
		for _, a := range t.round.Applied {
			if a.Why != "" && len(a.Attempts) == 0 { // an attempt has its own line
				lines = append(lines, fmt.Sprintf("%s by %s: %s", a.Level, a.Engine, a.Why))
			}
		}
		for _, e := range t.round.Edits {
			lines = append(lines, s.Planned(e))
		}
	}
	if len(lines) == 0 && t.level != "" {
		lines = append(lines, "the newest compaction ("+t.level+") was made before this chat began; /dropped lists what it removed")
	}
	if len(lines) == 0 && t.check.Reason == "" {
		lines = append(lines, "no check has been made since the chat began")
	}
	if !t.check.Compacted() && t.check.Reason != "" {
		u := t.session.Usage()
		lines = append(lines, fmt.Sprintf("newest check: nothing to do, %s (%s of %s tokens, %s)", screen.Why(t.check.Reason),
			screen.Grouped(u.Tokens), screen.Grouped(u.Window), screen.Percent(u.Share)))
	}
	t.emitNote("%s", strings.Join(lines, "\n"))
	return nil
}

// filesCommand lists the files in the conversation, each with its last occurrence.
func (t *Talk) filesCommand(context.Context, string) error {
	var paths []string
	about := make(map[string]string)
	all := t.session.Messages()
	calls := files.Calls(all)
	for i, m := range all {
		for path, size := range filesInMessage(m, calls[i]) {
			if about[path] == "" {
				paths = append(paths, path)
			}
			about[path] = fmt.Sprintf("%7s bytes  %-8s  %s", screen.Grouped(size), stateText(m), m.ID)
		}
	}
	if len(paths) == 0 {
		t.emitNote("no file is in the conversation; /add FILE adds one")
		return nil
	}
	for i, p := range paths {
		paths[i] = about[p] + "  " + p
	}
	t.emitNote("%s", strings.Join(paths, "\n"))
	return nil
}

// filesInMessage yields the path and the size of each file in a message. An added
// file has its path in its first line and a file that a tool read in its call, whatever
// was made of the text since; it may name other files, too.
func filesInMessage(m chat.Message, call *chat.Part) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		copies := files.ScanMessage(m, call).Copies
		size := len(m.Text())
		if len(copies) > 0 {
			size = copies[0].Size
		}
		if path := attachedPath(m); path != "" {
			if len(copies) == 0 {
				_, body, _ := strings.Cut(m.Text(), "\n")
				size = len(strings.TrimSuffix(body, "</file>"))
			}
			yield(shownPath(path), size)
			return
		}
		if path := readPath(m, call); path != "" {
			yield(shownPath(path), size)
			return
		}
		for _, c := range copies {
			if c.Path != "" && !yield(shownPath(c.Path), c.Size) {
				return
			}
		}
	}
}

// attachedPath returns the path of a file that the user added, "" for other messages.
func attachedPath(m chat.Message) string {
	if !m.Machine {
		return ""
	}
	line, _, _ := strings.Cut(m.Text(), "\n")
	path, ok := strings.CutPrefix(line, `<file path="`)
	if !ok {
		return ""
	}
	path, _, _ = strings.Cut(path, `"`)
	return strings.ReplaceAll(path, "&quot;", `"`)
}

// readPath returns the path of a file that a tool of the chat read, "" for other
// messages.
func readPath(m chat.Message, call *chat.Part) string {
	if call == nil || call.Name != string(filetools.Read) || len(m.Parts) == 0 || m.Parts[0].Error {
		return ""
	}
	c, err := filetools.ParseCall(call.Name, call.Args)
	if err != nil {
		return ""
	}
	return c.Path
}

// shownPath returns a path as the user would write it here, so that a file with two
// names is listed once.
func shownPath(path string) string {
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return filepath.ToSlash(filepath.Clean(path))
}

func stateText(m chat.Message) string {
	if m.Protected {
		return "pinned"
	}
	if m.State == chat.Active {
		return "whole"
	}
	return string(m.State)
}
