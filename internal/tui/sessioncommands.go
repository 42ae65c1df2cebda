package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// sessionsCommand lists the sessions of the folder, or continues another one.
func (t *Talk) sessionsCommand(ctx context.Context, name string) error {
	if name == "" {
		return t.listSessions()
	}
	if name == t.Name() {
		return fmt.Errorf("session %s is this one", name)
	}
	if err := plainName(name); err != nil {
		return err
	}
	if _, err := os.Lstat(sessionPath(t.o.Dir, name)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no session %s is there; /sessions lists them", name)
	}
	return t.switchSession(ctx, "session "+name+" continues", func(o *Options) { o.Name, o.Resume = name, true })
}

func (t *Talk) listSessions() error {
	names, err := Saved(t.o.Dir)
	if err != nil {
		return err
	}
	const most = 20
	lines := []string{"/sessions NAME continues one of these, the last written first:"}
	for _, n := range names[:min(most, len(names))] {
		lines = append(lines, mark(n == t.Name())+n+savedAt(t.o.Dir, n))
	}
	if n := len(names) - most; n > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", n))
	}
	t.emitNote("%s", strings.Join(lines, "\n"))
	return nil
}

// mark returns the lead of a line in a list.
func mark(current bool) string {
	if current {
		return "* "
	}
	return "  "
}

// savedAt returns the time of the last change of a session, for a list.
func savedAt(dir, name string) string {
	info, err := os.Stat(sessionPath(dir, name))
	if err != nil {
		return ""
	}
	return info.ModTime().Format("  2006-01-02 15:04")
}

// newCommand begins another session, with the system prompt of the chat's beginning.
func (t *Talk) newCommand(ctx context.Context, name string) error {
	if name == t.Name() {
		return fmt.Errorf("session %s is this one; choose another name", name)
	}
	err := t.switchSession(ctx, "a new session", func(o *Options) { o.Name, o.Resume = name, false })
	if errors.Is(err, archive.ErrExists) {
		return fmt.Errorf("%w: session %s; /sessions %[2]s continues it, or choose another name", archive.ErrExists, name)
	}
	return err
}

// clearCommand begins another session, with the present system prompt.
func (t *Talk) clearCommand(ctx context.Context, _ string) error {
	system := t.systemPrompt()
	return t.switchSession(ctx, "the conversation is empty", func(o *Options) { o.Name, o.Resume, o.System = "", false, system })
}

// switchSession continues with another session of the folder. The present one is
// closed once the other one is open, and stays if that fails.
func (t *Talk) switchSession(ctx context.Context, what string, change func(*Options)) error {
	o := t.o
	o.Model, o.Lenient = t.model, false
	change(&o)
	next, err := openTalk(ctx, o)
	if err != nil {
		return err
	}
	was := *t
	next.receive, next.ask, next.permitted, next.temperature = t.receive, t.ask, t.permitted, t.temperature
	next.o.System = t.o.System
	*t = *next
	was.o.Folder = nil // it stays open
	closing := was.Close()
	t.notes = append(t.notes, was.notes...)
	all := t.Messages()
	t.emitEvent(Event{Kind: Switched, Text: fmt.Sprintf("%s: %s with %s; session %s is kept, /sessions %[4]s continues it%s", what, t.Name(), t.model.Name, was.Name(), unanswered(all)), Transcript: all, Session: t.Name()})
	for _, n := range t.Notes() {
		t.emitEvent(Event{Kind: Warned, Text: n})
	}
	return closing
}

// systemPrompt returns the system prompt without what the chat adds to it.
func (t *Talk) systemPrompt() string {
	all := t.session.Messages()
	if len(all) == 0 || all[0].Role != chat.System {
		return ""
	}
	return strings.TrimSuffix(all[0].Text(), "\n"+tiercompact.RecallPrompt)
}

// systemCommand shows or replaces the system prompt.
func (t *Talk) systemCommand(_ context.Context, text string) error {
	if text == "" {
		t.emitNote("the system prompt is: %s", cmp.Or(t.systemPrompt(), "(none)"))
		return nil
	}
	if !t.model.NoTools {
		text += "\n" + tiercompact.RecallPrompt
	}
	if err := t.session.SetSystem(text); err != nil {
		return err
	}
	t.emitNote("the system prompt is replaced; it applies from the next answer on")
	return nil
}

// saveCommand writes what was said to a file that does not exist yet.
func (t *Talk) saveCommand(_ context.Context, path string) error {
	if path == "" {
		return errors.New("/save needs the name of a file, such as chat.md")
	}
	path = fromHome(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; name another file", path)
	}
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	text := t.asMarkdown()
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	t.emitNote("%s: %s bytes", path, screen.Grouped(len(text)))
	return nil
}

// asMarkdown returns what was said in this session: what was there when the chat
// opened it, as it was then, and everything since, as it was said.
func (t *Talk) asMarkdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session %s\n\nwith %s\n", t.Name(), t.model.Name)
	for _, m := range slices.Concat(t.earlier, t.said) {
		if title := titleOf(m); title != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", title, strings.TrimRight(contentOf(m), "\n"))
		}
	}
	return b.String()
}

// titleOf returns the heading of a message in a saved chat, "" if it is left out.
func titleOf(m chat.Message) string {
	switch {
	case m.IsSummary():
		return "Summary of what was before"
	case m.State == chat.Marked:
		return ""
	case m.Role == chat.System || m.Role == chat.Developer:
		return "System prompt"
	case m.Role == chat.Tool || m.Machine:
		return "Result"
	case m.Role == chat.User:
		return "You"
	}
	return "Model"
}

// contentOf returns the content of a message as Markdown. Results are code: they are
// no text of the conversation.
func contentOf(m chat.Message) string {
	var parts []string
	if text := m.Text(); strings.TrimSpace(text) != "" {
		if m.Role == chat.Tool || m.Machine {
			text = fenced(text)
		}
		parts = append(parts, text)
	}
	for _, p := range m.Parts {
		if p.Kind == chat.Call {
			parts = append(parts, "calls `"+p.Name+"` with `"+strings.ReplaceAll(p.Args, "`", "'")+"`")
		}
	}
	return strings.Join(parts, "\n\n")
}

// fenced returns text as a block of code, whatever fences are in it.
func fenced(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + strings.TrimRight(text, "\n") + "\n" + marks
}
