package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newUndoCommand() *cobra.Command {
	var o undoOptions
	cmd := &cobra.Command{
		Use:   "undo FILE|- --archive DIR",
		Short: "Undo the newest compaction of a transcript",
		Long: `undo reads a compacted transcript, finds its round in the archive, and writes
the conversation before that round, followed by the messages added since. Run it
on its own output to undo the round before that too.

The file may be in any format that compact writes, and messages may have been
added to it since. It must contain all messages that compact wrote, unchanged.`,
		Example: `  tiercompact compact session.jsonl -w 8192 --archive kept --out small.jsonl
  tiercompact undo small.jsonl --archive kept > session-again.jsonl`,
		Args: fileOrPipe,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runUndo(cmd, fileOrStdin(args)) },
	}
	f := cmd.Flags()
	o.place.registerPlace(cmd)
	f.StringVarP(&o.out, "out", "o", "-", "write to this `file`; it may be the input")
	f.StringVar(&o.to, "to", "", "write in this `format`: "+formatNames(true)+" (default: that of compact)")
	complete(cmd, "to", formatNames(true))
	f.BoolVar(&o.json, "json", false, "write what was undone as JSON to stderr")
	o.source.registerSource(cmd)
	return cmd
}

type undoOptions struct {
	place   archivePlace
	source  source
	out, to string
	json    bool
}

func (o *undoOptions) runUndo(cmd *cobra.Command, path string) (err error) {
	if err := checkOneOf("--to", o.to, formatNames(true)); err != nil {
		return err
	}
	if err := refuseTerminal(cmd); err != nil {
		return err
	}
	in, err := o.source.readSource(cmd, path)
	if err != nil {
		return err
	}
	store, sessions, err := o.place.openArchive(cmd.Context(), archiveOptions{})
	locked := errors.Is(err, archive.ErrLocked)
	if locked { // a chat or a proxy writes to it
		store, sessions, err = o.place.openArchive(cmd.Context(), archiveOptions{read: true})
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	found, err := archive.UndoIn(cmd.Context(), store, sessions, in.Messages)
	if err != nil {
		return fmt.Errorf("undo %s: %w", in.name, o.explainRefusal(err))
	}
	before, out := in.Messages, in.Conversation
	out.Messages = found.Messages
	to := cmp.Or(o.to, found.Format)
	if err := writeConversation(cmd, o.out, out, to); err != nil {
		return err
	}
	if locked {
		printNote(cmd, "the archive is in use by another process: it does not record that this round was undone")
	} else if err := o.archiveUndo(cmd.Context(), store, found.Round, before, readBack(out, to)(out.Messages)); err != nil {
		return err
	}
	if o.out != "-" && !o.json {
		printNote(cmd, "written to %s: %s as %s", o.out, screen.Plural(len(out.Messages), "message"), cmp.Or(to, out.Format))
	}
	return o.reportUndo(cmd, found.Round, len(before), len(out.Messages))
}

// reportUndo reports which round was undone.
func (o *undoOptions) reportUndo(cmd *cobra.Command, info archive.StepInfo, before, after int) error {
	if n := len(info.Redacted); n > 0 {
		printNote(cmd, "%s came back without their secrets, as they are in the archive: message %s", screen.Plural(n, "message"), positions(info.Redacted))
	}
	if !o.json {
		printNote(cmd, "round %d (%s) of session %s taken back: %s become %d", info.Number, info.Level, info.Session, screen.Plural(before, "message"), after)
		return nil
	}
	return writeJSONLine(cmd.ErrOrStderr(), struct {
		Session  string `json:"session"`
		Step     int    `json:"step"`
		Level    string `json:"level"`
		Redacted []int  `json:"redacted"` // positions of messages that came back without a secret
		Before   int    `json:"before"`   // messages
		After    int    `json:"after"`
	}{info.Session, info.Number, info.Level, info.Redacted, before, after})
}

// positions lists the first messages, counted from 1, as in files.
func positions(at []int) string {
	const most = 10
	var names []string
	for _, i := range at[:min(most, len(at))] {
		names = append(names, strconv.Itoa(i+1))
	}
	if len(at) > most {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// explainRefusal returns why no round was undone, and the remedy.
func (o *undoOptions) explainRefusal(err error) error {
	var miss *archive.NotLeftError
	var two *archive.AmbiguousError
	switch {
	case errors.As(err, &two):
		return fmt.Errorf("%w; choose one with --session", err)
	case !errors.As(err, &miss):
		return err
	}
	where := "archive " + o.place.where
	if o.place.session != "" {
		where = "session " + o.place.session + " of " + where
	}
	if miss.Rounds == 0 {
		return fmt.Errorf("nothing was compacted into %s, so there is nothing to undo; run compact with this archive; if it reports that nothing is due, give a smaller --window, or --level", where)
	}
	none := "no round in " + where + " left this conversation"
	if len(miss.Empty) > 0 {
		none += " (nothing was compacted in session " + joinFirst(miss.Empty) + ")"
	}
	switch made, near := miss.Made, miss.Near; {
	case made.Number > 0:
		return fmt.Errorf("%s: it is the conversation before round %d (%s) of session %s, not compacted, or undone already; give the file that compact or replay wrote after it", none, made.Number, made.Level, made.Session)
	case near.Number > 0:
		return fmt.Errorf("%s: it begins like the result of round %d (%s) of session %s, but message %d differs: it is another conversation, or was changed; give the file that compact or replay wrote, to which messages may have been added", none, near.Number, near.Level, near.Session, miss.Alike+1)
	}
	return fmt.Errorf("%s: it is not the result of a round of sessions %s; give the file that compact or replay wrote into this archive", none, joinFirst(miss.Sessions))
}

// archiveUndo archives the undo, so that the messages that it removed stay there,
// without secrets.
func (o *undoOptions) archiveUndo(ctx context.Context, store archive.Store, round archive.StepInfo, before chat.Transcript, out []archive.Reading) error {
	infos, err := store.Steps(ctx, round.Session)
	if err != nil {
		return err
	}
	rules, err := o.place.Config.Redactor()
	if err != nil {
		return err
	}
	if rules != nil {
		known := rules.Known()
		for _, m := range before {
			for _, p := range m.Parts {
				known.Learn(p.Text)
				known.Learn(p.Args)
			}
		}
		store = archive.Redacted(store, known.String)
	}
	return store.Put(ctx, archive.Step{
		Session: round.Session, Number: archive.Next(infos), Before: before, Reason: "undo", Undoes: round.Number, Time: time.Now(),
		Written: archive.NewWritten(out, nil),
	})
}
