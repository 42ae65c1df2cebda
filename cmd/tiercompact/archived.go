package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
)

// A place is an archive folder, and a session in it.
type place struct{ folder, session string }

func (p *place) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.folder, "archive", "", "the archive `folder` that compact or replay was given (required)")
	f.StringVar(&p.session, "session", "", "`id` of the session (default: every session of the archive)")
}

// open opens the archive, and returns the sessions to look through.
func (p place) open(o archive.DirOptions) (*archive.Dir, []string, error) {
	if p.folder == "" {
		return nil, nil, usagef("--archive is missing; give the folder that compact or replay was given")
	}
	if !o.ReadOnly { // never make an archive where there is none
		if _, err := archive.OpenDir(p.folder, archive.DirOptions{ReadOnly: true}); err != nil {
			return nil, nil, err
		}
	}
	dir, err := archive.OpenDir(p.folder, o)
	if err != nil {
		return nil, nil, err
	}
	sessions, err := dir.Sessions(context.Background())
	if err == nil && p.session != "" {
		sessions, err = p.chosen(sessions)
	}
	if err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	return dir, sessions, nil
}

// chosen returns the session that was asked for, alone.
func (p place) chosen(there []string) ([]string, error) {
	if slices.Contains(there, p.session) {
		return []string{p.session}, nil
	}
	const most = 5 // names on a line
	names := strings.Join(there[:min(most, len(there))], ", ")
	if len(there) > most {
		names += ", ..."
	}
	return nil, fmt.Errorf("archive folder %s has no session %q; it has %s", p.folder, p.session, cmp.Or(names, "none"))
}

// recalled returns the newest entry with an id, of the first session that has it.
func recalled(ctx context.Context, store archive.Store, sessions []string, id string) (archive.Entry, error) {
	for _, s := range sessions {
		e, err := store.Recall(ctx, s, id)
		if err == nil || !errors.Is(err, archive.ErrNotFound) {
			return e, err
		}
	}
	return archive.Entry{}, fmt.Errorf("recall %q: %w", id, archive.ErrNotFound)
}
