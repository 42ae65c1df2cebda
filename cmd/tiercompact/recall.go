package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newRecallCommand() *cobra.Command {
	var o recallOptions
	cmd := &cobra.Command{
		Use:   "recall ID|TEXT --archive DIR",
		Short: "Get back what was removed, by its id or by its words",
		Long: `recall prints what an outline, a marker or a summary stands for. The id is what
they show behind "recall". What is no id in the archive is searched for.`,
		Example: `  tiercompact recall 3f9a1c2e --archive .compact/archive
  tiercompact recall "connection refused" --archive .compact/archive -n 3`,
		Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usagef("recall needs the id or the words of what is looked for")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, strings.Join(args, " ")) },
	}
	f := cmd.Flags()
	o.place.register(cmd)
	f.IntVarP(&o.most, "most", "n", 5, "at most so many `hits` of a search")
	f.BoolVar(&o.json, "json", false, "as JSON")
	return cmd
}

type recallOptions struct {
	place place
	most  int
	json  bool
}

func (o *recallOptions) run(cmd *cobra.Command, text string) (err error) {
	if o.most < 1 {
		return usagef("--most must be above 0, is %d", o.most)
	}
	dir, sessions, err := o.place.open(archive.DirOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	e, err := recalled(cmd.Context(), dir, sessions, text)
	if err == nil {
		return buffered(cmd.OutOrStdout(), func(w io.Writer) error { return o.entry(w, e) })
	}
	if !errors.Is(err, archive.ErrNotFound) {
		return err
	}
	hits, err := search(cmd.Context(), dir, sessions, text, o.most)
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		return fmt.Errorf("recall %q: %w: no such id, and no removed text has these words", text, archive.ErrNotFound)
	}
	return buffered(cmd.OutOrStdout(), func(w io.Writer) error { return o.hits(w, hits) })
}

// A find is a hit and the session in which it is.
type find struct {
	Session string  `json:"session"`
	ID      string  `json:"id"`
	Score   float64 `json:"score"`
	Text    string  `json:"text"`
}

// search returns the n best hits of all sessions.
func search(ctx context.Context, store archive.Store, sessions []string, text string, n int) ([]find, error) {
	var all []find
	for _, s := range sessions {
		hits, err := archive.Search(ctx, store, s, text, n)
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			all = append(all, find{s, h.ID, h.Score, h.Text})
		}
	}
	slices.SortFunc(all, func(a, b find) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Session, b.Session), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(n, len(all))], nil
}

func (o *recallOptions) entry(w io.Writer, e archive.Entry) error {
	if o.json {
		return writeJSON(w, struct {
			ID       string         `json:"id"`
			Below    []string       `json:"below,omitempty"`
			Text     string         `json:"text,omitempty"`
			Messages []chat.Message `json:"messages"`
		}{e.ID, e.Below, e.Text, e.Messages})
	}
	_, err := io.WriteString(w, screen.Entry(e))
	return err
}

func (o *recallOptions) hits(w io.Writer, hits []find) error {
	if o.json {
		return writeJSON(w, hits)
	}
	for _, h := range hits {
		fmt.Fprintf(w, "%s  %.2f  %s\n", h.ID, h.Score, screen.Clip(h.Text, 60))
	}
	_, err := fmt.Fprintln(w, "tiercompact recall ID prints one of them in full")
	return err
}
