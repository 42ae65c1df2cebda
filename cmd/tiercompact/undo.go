package main

import (
	"context"
	"encoding/json"
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
		Short: "Take the newest compaction of a transcript back",
		Long: `undo takes a compacted transcript, finds the round that left it in the archive,
and writes the conversation as it was before, followed by the messages that came
since. Run it on its own output to take the round before back too.`,
		Example: `  tiercompact compact session.jsonl -w 8192 --archive kept --out small.jsonl
  tiercompact undo small.jsonl --archive kept > session-again.jsonl`,
		Args: fileOrPipe,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, fileOrStdin(args)) },
	}
	f := cmd.Flags()
	o.place.register(cmd)
	f.StringVarP(&o.out, "out", "o", "-", "write to this `file`; it may be the one that is read")
	f.StringVar(&o.to, "to", "", "write in this `format`: "+formatNames(true)+" (default: as read)")
	complete(cmd, "to", formatNames(true))
	f.BoolVar(&o.json, "json", false, "tell what was taken back as JSON on stderr")
	o.source.register(cmd)
	return cmd
}

type undoOptions struct {
	place   place
	source  source
	out, to string
	json    bool
}

func (o *undoOptions) run(cmd *cobra.Command, path string) (err error) {
	if err := oneOf("--to", o.to, formatNames(true)); err != nil {
		return err
	}
	in, err := o.source.read(cmd, path)
	if err != nil {
		return err
	}
	store, sessions, err := o.place.open(cmd.Context(), archiveOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	back, info, err := undone(cmd.Context(), store, sessions, in.Messages)
	if err != nil {
		return fmt.Errorf("undo %s: %w", in.name, err)
	}
	before := in.Messages
	in.Messages = back
	if err := writeConversation(cmd, o.out, in.Conversation, o.to); err != nil {
		return err
	}
	if err := record(cmd.Context(), store, info, before); err != nil {
		return err
	}
	return o.tell(cmd, info, len(before), len(back))
}

// tell says which round was taken back.
func (o *undoOptions) tell(cmd *cobra.Command, info archive.StepInfo, before, after int) error {
	if n := len(info.Redacted); n > 0 {
		note(cmd, "%s came back with secrets taken out, as they are in the archive: message %s", screen.Plural(n, "message"), positions(info.Redacted))
	}
	if !o.json {
		note(cmd, "round %d (%s) of session %s taken back: %s become %d", info.Number, info.Level, info.Session, screen.Plural(before, "message"), after)
		return nil
	}
	return json.NewEncoder(cmd.ErrOrStderr()).Encode(struct {
		Session  string `json:"session"`
		Step     int    `json:"step"`
		Level    string `json:"level"`
		Redacted []int  `json:"redacted"` // positions of messages that came back without a secret
		Before   int    `json:"before"`   // messages
		After    int    `json:"after"`
	}{info.Session, info.Number, info.Level, info.Redacted, before, after})
}

// positions names the first messages, counted from 1, as files show them.
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

// undone takes back the newest round that left t, of the first session with one.
// A session that is damaged counts where no other has one.
func undone(ctx context.Context, store archive.Store, sessions []string, t chat.Transcript) (chat.Transcript, archive.StepInfo, error) {
	var damaged error
	for _, s := range sessions {
		back, info, err := archive.Undo(ctx, store, s, t)
		switch {
		case errors.Is(err, archive.ErrDamaged) || errors.Is(err, archive.ErrVersion):
			damaged = errors.Join(damaged, err)
		case err == nil || !errors.Is(err, archive.ErrNotFound):
			return back, info, err
		}
	}
	if damaged != nil {
		return nil, archive.StepInfo{}, damaged
	}
	return nil, archive.StepInfo{}, errors.New("no round in this archive left this conversation; give the file that compact or replay wrote, unchanged; where it was written with --to, the format may keep no call ids or thinking, so compact without --to")
}

// record puts the undo into the archive, so that what it removed stays there.
func record(ctx context.Context, store archive.Store, info archive.StepInfo, before chat.Transcript) error {
	infos, err := store.Steps(ctx, info.Session)
	if err != nil {
		return err
	}
	return store.Put(ctx, archive.Step{
		Session: info.Session, Number: archive.Next(infos), Before: before, Reason: "undo", Undoes: info.Number, Time: time.Now(),
	})
}
