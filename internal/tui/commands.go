package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// ErrQuit is the result of /quit.
var ErrQuit = errors.New("quit")

// A command is the action of a line that begins with a slash.
type command struct {
	name, args, about string
	run               func(t *Talk, ctx context.Context, arg string) error
}

// commands returns all commands, as /help lists them.
func commands() []command {
	return []command{
		{"compact", "[NOTE]", "compact now; the note is an instruction for the summary", (*Talk).compactCommand},
		{"undo", "", "undo the newest compaction", (*Talk).undoCommand},
		{"why", "", "what the newest compaction did, or why there was none", (*Talk).whyCommand},
		{"pin", "[ID|last]", "keep a message as it is; without ID: list messages", (*Talk).pinCommand},
		{"files", "", "the files in the conversation", (*Talk).filesCommand},
		{"add", "FILE", "put a file into the conversation; FILE:1-200 is a part", (*Talk).addFileCommand},
		{"recall", "ID|TEXT", "show what was moved out of the conversation", (*Talk).recallCommand},
		{"dropped", "", "what the newest compaction removed, decisions first", (*Talk).droppedCommand},
		{"retry", "", "have the model answer again if it failed or was stopped", (*Talk).retryCommand},
		{"model", "[NAME]", "list the models, or continue with another one", (*Talk).modelCommand},
		{"system", "[TEXT]", "show or replace the system prompt", (*Talk).systemCommand},
		{"temperature", "[N|off]", "how freely the model chooses its words, from 0 to 2", (*Talk).temperatureCommand},
		{"copy", "[N]", "copy the last answer, or its block N of code", (*Talk).copyCommand},
		{"save", "FILE.md", "write what was said to a new file", (*Talk).saveCommand},
		{"sessions", "[NAME]", "list the sessions, or continue another one", (*Talk).sessionsCommand},
		{"new", "[NAME]", "begin another session; this one is kept", (*Talk).newCommand},
		{"clear", "", "begin another session with the same system prompt", (*Talk).clearCommand},
		{"help", "", "this list", (*Talk).helpCommand},
		{"quit", "", "leave; the session can be resumed", func(*Talk, context.Context, string) error { return ErrQuit }},
	}
}

// otherNames are names of commands in other chats.
var otherNames = map[string]string{"exit": "quit", "q": "quit", "bye": "quit", "?": "help", "h": "help"}

// Do runs a line of input: a command, or else a message to the model. Two slashes
// begin a message with one.
func (t *Talk) Do(ctx context.Context, line string) error {
	rest, slash := strings.CutPrefix(line, "/")
	switch {
	case strings.TrimSpace(line) == "":
		return nil
	case !slash:
		return t.Send(ctx, line)
	case strings.HasPrefix(rest, "/"):
		return t.Send(ctx, rest)
	}
	name, arg := strings.TrimSpace(rest), ""
	if at := strings.IndexFunc(name, unicode.IsSpace); at >= 0 {
		name, arg = name[:at], name[at:]
	}
	all := commands()
	meant := cmp.Or(otherNames[strings.ToLower(name)], strings.ToLower(name))
	at := slices.IndexFunc(all, func(c command) bool { return c.name == meant })
	if at < 0 {
		return fmt.Errorf("no command /%s; /help lists them, and a message may begin with //", screen.Clip(name, 40))
	}
	return all[at].run(t, ctx, strings.TrimSpace(arg))
}

func (t *Talk) helpCommand(context.Context, string) error {
	var b strings.Builder
	all := commands()
	use := func(c command) string { return strings.TrimSpace("/" + c.name + " " + c.args) }
	width := 0
	for _, c := range all {
		width = max(width, len(use(c)))
	}
	for _, c := range all {
		fmt.Fprintf(&b, "%-*s  %s\n", width, use(c), c.about)
	}
	b.WriteString("@FILE in a message puts the file before it; Tab completes commands and paths\n")
	b.WriteString("Enter sends, Alt+Enter or Ctrl+J begins a line, PgUp and PgDn scroll\n")
	b.WriteString("Ctrl+C stops an answer; without one, Ctrl+C twice or Ctrl+D leaves")
	t.emitNote("%s", b.String())
	return nil
}

func (t *Talk) compactCommand(ctx context.Context, note string) error {
	report, err := t.session.Compact(ctx, note)
	t.noteReport(report)
	if err == nil && !report.Compacted() {
		t.emitNote("nothing was compacted: %s", screen.Why(report.Reason))
	}
	return err
}

func (t *Talk) undoCommand(ctx context.Context, _ string) error {
	report, err := t.session.Undo(ctx)
	switch {
	case errors.Is(err, tiercompact.ErrNothingToUndo):
		return errors.New("no compaction is there to undo")
	case err != nil:
		return err
	}
	freed := report.After - report.Before
	if t.round.Step == report.Step { // messages that were added since are counted otherwise
		freed = t.round.Freed()
	}
	t.freed = max(0, t.freed-freed)
	t.level, t.round = "", tiercompact.Report{}
	t.check = tiercompact.Report{Reason: fmt.Sprintf("round %d was taken back", report.Step)}
	t.emitNote("round %d is taken back: %s tokens, %s of the window", report.Step, screen.Grouped(report.After), screen.Percent(report.Usage.Share))
	for _, w := range report.Warnings {
		t.emitEvent(Event{Kind: Warned, Text: w})
	}
	return nil
}

// pinCommand protects a message, or lists the messages that can be protected.
func (t *Talk) pinCommand(_ context.Context, which string) error {
	all := t.session.Messages()
	if which == "" {
		return t.listPins(all)
	}
	id := which
	if which == "last" {
		at := len(all) - 1
		for at >= 0 && (all[at].Role == chat.System || all[at].State != chat.Active) {
			at--
		}
		if at < 0 {
			return errors.New("there is no message yet")
		}
		id = all[at].ID
	}
	if err := t.session.Protect(id); err != nil {
		return err
	}
	t.emitNote("message %s is pinned: no compaction changes or drops it", id)
	return nil
}

func (t *Talk) listPins(all chat.Transcript) error {
	const most = 20
	var b strings.Builder
	b.WriteString("/pin ID, one of the newest messages, or /pin last:")
	for _, m := range all[max(0, len(all)-most):] {
		mark := " "
		if m.Protected {
			mark = "*"
		}
		fmt.Fprintf(&b, "\n%s %-5s %-9s  %s", mark, m.ID, m.Role, screen.Clip(screen.Whole(m), 50))
	}
	t.emitNote("%s", b.String())
	return nil
}

// recallCommand prints what the tool recall would return; two words, an id and a number,
// ask for one message.
func (t *Talk) recallCommand(ctx context.Context, what string) error {
	if what == "" {
		return errors.New("/recall needs an id, as outlines and markers show it, or words to search for")
	}
	args := map[string]any{"text": what}
	if id, number, ok := strings.Cut(what, " "); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && len(id) == 8 {
			args = map[string]any{"id": id, "message": n}
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	text, err := t.session.HandleRecall(ctx, string(raw))
	if err != nil {
		return err
	}
	t.emitNote("%s", text)
	return nil
}

// droppedCommand lists what the newest round removed.
func (t *Talk) droppedCommand(ctx context.Context, _ string) error {
	dropped, err := t.session.Dropped(ctx)
	if err != nil {
		return err
	}
	if len(dropped) == 0 {
		return errors.New("no compaction has removed messages")
	}
	const most = 30
	var b strings.Builder
	fmt.Fprintf(&b, "the newest compaction removed %s; /recall ID NUMBER shows one:", screen.Plural(len(dropped), "message"))
	for _, d := range dropped[:min(most, len(dropped))] {
		mark := " "
		if d.Decision {
			mark = "!"
		}
		fmt.Fprintf(&b, "\n%s %s  %s: %s", mark, d.ID, screen.Clip(d.Title, 40), screen.Clip(d.Text, 60))
	}
	if n := len(dropped) - most; n > 0 {
		fmt.Fprintf(&b, "\n  and %d more", n)
	}
	t.emitNote("%s", b.String())
	return nil
}

// retryCommand has the model answer again. An incomplete answer is removed before that:
// servers take an answer at the end of a conversation as the beginning of the next one.
func (t *Talk) retryCommand(ctx context.Context, _ string) error {
	all := t.session.Messages()
	last := len(all) - 1
	if last < 0 || all[last].Role == chat.System {
		return errors.New("there is nothing to answer yet")
	}
	if last > 0 && isIncomplete(all[last]) {
		if err := t.session.Rewind(ctx, all[last-1].ID); err != nil {
			return err
		}
	}
	return t.Answer(ctx)
}

// modelCommand continues with another model, or lists the available ones.
func (t *Talk) modelCommand(ctx context.Context, name string) error {
	if name == "" {
		return t.listModels(ctx)
	}
	if t.o.Find == nil {
		return errors.New("this server cannot list its models; restart with --model")
	}
	m, err := t.o.Find(ctx, name)
	if err != nil {
		return err
	}
	if err := t.session.SetWindow(m.Window); err != nil {
		return fmt.Errorf("continue with %s: %w; restart with --window", name, err)
	}
	t.model = m
	t.session.SetCalibration(t.savedCalibration())
	t.session.SetTools(nil)
	t.setTools()
	t.emitNote("continuing with %s, window %s tokens (%s)", m.Name, screen.Grouped(m.Window), m.Source)
	if m.Warning != "" {
		t.emitEvent(Event{Kind: Warned, Text: m.Warning})
	}
	report, err := t.session.Check(ctx)
	t.noteReport(report)
	return err
}

func (t *Talk) listModels(ctx context.Context) error {
	if t.o.List == nil {
		t.emitNote("%s, window %s tokens (%s)", t.model.Name, screen.Grouped(t.model.Window), t.model.Source)
		return nil
	}
	names, err := t.o.List(ctx)
	if err != nil {
		return err
	}
	for i, n := range names {
		names[i] = mark(n == t.model.Name) + n
	}
	t.emitNote("/model NAME continues with one of:\n%s", strings.Join(names, "\n"))
	return nil
}
