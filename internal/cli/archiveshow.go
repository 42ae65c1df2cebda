package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newArchiveShowCommand() *cobra.Command {
	var o archiveShowOptions
	cmd := &cobra.Command{
		Use:   "show STEP --archive DIR",
		Short: "Show one step: its removed messages, edits and summary",
		Example: `  tiercompact archive show 3 --archive .compact/archive --session talk
  tiercompact archive show 3 --archive .compact/archive --session talk --summary`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf("show takes the number of one step, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.runArchiveShow(cmd, args[0]) },
	}
	f := cmd.Flags()
	o.place.registerPlace(cmd)
	f.BoolVar(&o.transcript, "transcript", false, "the whole conversation before the round instead")
	f.BoolVar(&o.summary, "summary", false, "the summary alone, as JSON")
	f.BoolVar(&o.edits, "edits", false, "the edits of the round: which messages it replaced, and by what")
	f.BoolVar(&o.json, "json", false, "as JSON: everything, or the selected part")
	cmd.MarkFlagsMutuallyExclusive("transcript", "summary", "edits")
	return cmd
}

type archiveShowOptions struct {
	place                            archivePlace
	transcript, summary, edits, json bool
}

func (o *archiveShowOptions) runArchiveShow(cmd *cobra.Command, arg string) (err error) {
	number, err := strconv.Atoi(arg)
	if err != nil || number < 1 {
		return usageErrorf("show takes the number of a step, not %q; archive list shows them", arg)
	}
	store, sessions, err := o.place.openArchive(cmd.Context(), archiveOptions{read: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if len(sessions) != 1 {
		return usageErrorf("--session is missing; the archive has %s", joinFirst(sessions))
	}
	step, err := store.Get(cmd.Context(), sessions[0], number)
	if err != nil {
		return err
	}
	if o.summary && step.Summary == nil {
		return fmt.Errorf("step %d of session %s has no summary", step.Number, step.Session)
	}
	return buffered(cmd.OutOrStdout(), func(w io.Writer) error {
		if o.json {
			return writeJSON(w, o.shownAsJSON(step))
		}
		return o.writeStep(w, step)
	})
}

// A shownEdit is an edit for people and programs.
type shownEdit struct {
	List  int            `json:"list"` // from 1; each applies to the result of the one before
	Start int            `json:"start"`
	End   int            `json:"end"`
	Why   string         `json:"why,omitempty"`
	New   []chat.Message `json:"new"`
}

func editsOfStep(s archive.Step) []shownEdit {
	all := []shownEdit{}
	for i, edits := range s.Edits.Steps {
		for _, e := range edits {
			all = append(all, shownEdit{i + 1, e.Start, e.End, e.Why, slices.Concat([]chat.Message{}, e.New)})
		}
	}
	return all
}

// shownAsJSON returns what the flags select, as JSON.
func (o *archiveShowOptions) shownAsJSON(s archive.Step) any {
	switch {
	case o.transcript:
		return s.Before
	case o.summary:
		return s.Summary
	case o.edits:
		return editsOfStep(s)
	}
	return struct {
		Session  string          `json:"session"`
		Step     int             `json:"step"`
		Time     time.Time       `json:"time"`
		Level    string          `json:"level,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Note     string          `json:"note,omitempty"`
		Undoes   int             `json:"undoes,omitempty"`
		Redacted []int           `json:"redacted,omitempty"`
		Summary  json.RawMessage `json:"summary,omitempty"`
		Edits    []shownEdit     `json:"edits"`
		Removed  []archivedEntry `json:"removed"`
		Before   []chat.Message  `json:"before"`
	}{s.Session, s.Number, s.Time, s.Level, s.Reason, s.Note, s.Undoes, s.Redacted, s.Summary, editsOfStep(s), entriesOf(s), s.Before}
}

func entriesOf(s archive.Step) []archivedEntry {
	all := []archivedEntry{}
	for _, e := range s.Removed {
		all = append(all, archivedEntry(e))
	}
	return all
}

func (o *archiveShowOptions) writeStep(w io.Writer, s archive.Step) error {
	switch {
	case o.transcript:
		_, err := io.WriteString(w, screen.Entry(archive.Entry{Messages: s.Before}))
		return err
	case o.summary:
		var b bytes.Buffer
		if err := json.Indent(&b, s.Summary, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, b.String())
		return err
	case o.edits:
		return writeEdits(w, s)
	}
	return writeStep(w, s)
}

func writeEdits(w io.Writer, s archive.Step) error {
	for _, e := range editsOfStep(s) {
		what := fmt.Sprintf("messages %d to %d", e.Start+1, e.End)
		if e.Start == e.End {
			what = fmt.Sprintf("before message %d", e.Start+1)
		}
		if _, err := fmt.Fprintf(w, "%d. %s become %s: %s\n", e.List, what, screen.Plural(len(e.New), "message"), printableLine(e.Why)); err != nil {
			return err
		}
		for _, m := range e.New {
			fmt.Fprintf(w, "   %s: %s\n", m.Role, screen.Clip(screen.Whole(m), 70))
		}
	}
	return nil
}

// writeStep writes a step without its transcript.
func writeStep(w io.Writer, s archive.Step) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, printableLine(text))
		}
	}
	row("session", s.Session)
	row("step", strconv.Itoa(s.Number))
	row("time", s.Time.UTC().Format(time.RFC3339))
	row("level", s.Level)
	row("reason", s.Reason)
	row("note", s.Note)
	if s.Undoes > 0 {
		row("undoes", strconv.Itoa(s.Undoes))
	}
	row("before", screen.Plural(len(s.Before), "message"))
	if n := len(editsOfStep(s)); n > 0 {
		row("edits", strconv.Itoa(n)+"; --edits shows them")
	}
	if n := len(s.Redacted); n > 0 {
		row("redacted", screen.Plural(n, "message"))
	}
	if s.Summary != nil {
		row("summary", "there is one; --summary shows it")
	}
	for i, e := range s.Removed {
		if i == 0 {
			fmt.Fprintln(t)
		}
		row(e.ID, screen.Plural(len(e.Messages), "message")+": "+screen.Clip(firstWords(e), 50))
	}
	return t.Flush()
}

func firstWords(e archive.Entry) string {
	if e.Text != "" || len(e.Messages) == 0 {
		return e.Text
	}
	return screen.Whole(e.Messages[0])
}

// An archivedEntry is an entry as JSON.
type archivedEntry struct {
	ID       string         `json:"id"`
	Messages []chat.Message `json:"messages"`
	Below    []string       `json:"below,omitempty"`
	Text     string         `json:"text,omitempty"`
}
