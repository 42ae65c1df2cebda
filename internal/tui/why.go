package tui

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// roundLines returns the actions of a round, one line per level and one per failed attempt.
func roundLines(s screen.Screen, r tiercompact.Report) []string {
	var lines []string
	if other := screen.OtherLevel(r); other != "" {
		lines = append(lines, other)
	}
	for _, a := range r.Applied {
		head := fmt.Sprintf("%s %s%s tokens", a.Level, s.Sign("−", "-"), screen.Grouped(a.Before-a.After))
		parts := append([]string{head}, s.Said(r, a)...)
		lines = append(lines, strings.Join(parts, s.Sign(" · ", ", ")))
		for _, tried := range screen.Tried(a) {
			lines = append(lines, "  "+tried)
		}
	}
	lines = append(lines, fmt.Sprintf("%s %s %s of the window", screen.Percent(windowShare(r.Before, r.Usage)), s.Sign("→", "->"), screen.Percent(r.Usage.Share)))
	return lines
}

func windowShare(tokens int, u tiercompact.Usage) float64 {
	if u.Window == 0 {
		return 0
	}
	return float64(tokens) / float64(u.Window)
}

// whyCommand shows the actions of the newest round, edit by edit, and the result of
// the newest check.
func (t *Talk) whyCommand(context.Context, string) error {
	var lines []string
	if t.round.Compacted() {
		lines = append(lines, fmt.Sprintf("round %d, picked level %s:", t.round.Step, t.round.Picked))
		lines = append(lines, roundLines(t.o.Screen, t.round)...)
		for _, a := range t.round.Applied {
			if a.Why != "" {
				lines = append(lines, fmt.Sprintf("%s by %s: %s", a.Level, a.Engine, a.Why))
			}
		}
		for _, e := range t.round.Edits {
			lines = append(lines, t.o.Screen.Planned(e))
		}
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

// filesInMessage yields the path and the size of each file in a message, including
// outlines of added files.
func filesInMessage(m chat.Message, call *chat.Part) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		facts := files.ScanMessage(m, call)
		for _, c := range facts.Copies {
			if c.Path != "" && !yield(c.Path, c.Size) {
				return
			}
		}
		if m.Machine && m.State == chat.Outlined && len(facts.Copies) == 0 && len(facts.Mentions) > 0 {
			yield(facts.Mentions[0], len(m.Text()))
		}
	}
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
