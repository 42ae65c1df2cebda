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

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newArchiveSearchCommand() *cobra.Command {
	var o archiveSearchOptions
	cmd := &cobra.Command{
		Use:   "search TEXT --archive DIR",
		Short: "Find what was removed by its words, and by meaning",
		Long: `search finds the entries that fit a text best: by their words, and by their
meaning where an embedding model is there. Which it was stands on stderr.`,
		Example: `  tiercompact archive search "connection refused" --archive .compact/archive
  tiercompact archive search why postgres --archive s3://bucket/prefix -n 3`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runArchiveSearch(cmd, strings.Join(args, " ")) },
	}
	f := cmd.Flags()
	o.place.registerPlace(cmd)
	f.IntVarP(&o.most, "most", "n", 5, "at most so many `hits`")
	registerSettings(cmd, "engine", "ollama_url", "embed", "deadlines.ranking")
	f.BoolVar(&o.json, "json", false, "as JSON")
	return cmd
}

type archiveSearchOptions struct {
	place archivePlace
	most  int
	json  bool
}

func (o *archiveSearchOptions) runArchiveSearch(cmd *cobra.Command, text string) (err error) {
	switch {
	case strings.TrimSpace(text) == "":
		return usageErrorf("search needs the words of what is looked for")
	case o.most < 1:
		return usageErrorf("--most must be above 0, is %d", o.most)
	}
	store, sessions, err := o.place.openArchive(cmd.Context(), archiveOptions{read: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	by, name, err := o.meaningRanker(cmd.Context())
	if err != nil {
		return err
	}
	r := searched{most: o.most, by: name}
	if err := r.searchSessions(cmd.Context(), store, sessions, text, by); err != nil {
		return err
	}
	if r.failed != nil {
		printNote(cmd, "compared by words alone: %s: %v", name, r.failed)
	} else {
		printNote(cmd, "compared by %s", r.by)
	}
	return r.writeHits(cmd, o.json)
}

// meaningRanker returns what compares by meaning, and its name.
func (o *archiveSearchOptions) meaningRanker(ctx context.Context) (archive.Meaning, string, error) {
	c := o.place.Config
	c.Summary = config.Summary{Model: engine.Extractive} // nothing is summarised
	options, err := c.EngineOptions()
	if err != nil {
		return archive.Meaning{}, "", settingsError(err)
	}
	e, err := engine.Open(ctx, options)
	if err != nil {
		return archive.Meaning{}, "", err
	}
	var cfg tiercompact.Config
	e.Into(&cfg)
	if cfg.Embed.Embedder == nil {
		return archive.Meaning{}, "words alone: " + e.Ranking.Why, nil
	}
	return archive.Meaning{Embedder: cfg.Embed.Embedder, Within: c.Deadlines.Ranking}, "words and " + e.Ranking.Engine, nil
}

// searched is what a search of an archive found.
type searched struct {
	most    int
	by      string // what compared
	hits    []sessionHit
	failed  error // why the model did not compare
	damaged error // what could not be read
}

// A sessionHit is a hit and the session in which it is.
type sessionHit struct {
	Session string  `json:"session"`
	ID      string  `json:"id"`
	Score   float64 `json:"score"`
	Text    string  `json:"text"`
}

// searchSessions finds the best hits of all sessions. Where the model fails in one, all
// are compared by words: scores of both kinds do not go together.
func (r *searched) searchSessions(ctx context.Context, store archive.Store, sessions []string, text string, by archive.Meaning) error {
	r.hits, r.damaged = nil, nil
	for _, s := range sessions {
		f, err := archive.SearchBy(ctx, store, s, text, r.most, by)
		if errors.Is(err, archive.ErrDamaged) || errors.Is(err, archive.ErrVersion) {
			r.damaged = errors.Join(r.damaged, err)
		} else if err != nil {
			return err
		}
		if f.Failed != nil {
			r.failed = f.Failed
			return r.searchSessions(ctx, store, sessions, text, archive.Meaning{})
		}
		for _, h := range f.Hits {
			r.hits = append(r.hits, sessionHit{s, h.ID, h.Score, h.Text})
		}
	}
	slices.SortFunc(r.hits, func(a, b sessionHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Session, b.Session), cmp.Compare(a.ID, b.ID))
	})
	r.hits = r.hits[:min(r.most, len(r.hits))]
	if len(r.hits) == 0 {
		none := fmt.Errorf("recall %q: %w: no such id, and no removed text has these words", text, archive.ErrNotFound)
		return errors.Join(none, r.damaged)
	}
	return nil
}

func (r *searched) writeHits(cmd *cobra.Command, asJSON bool) error {
	if r.damaged != nil {
		printNote(cmd, "warning: not all could be searched: %v", r.damaged)
	}
	return buffered(cmd.OutOrStdout(), func(w io.Writer) error {
		if asJSON {
			return writeJSON(w, r.hits)
		}
		for _, h := range r.hits {
			fmt.Fprintf(w, "%s  %.2f  %s\n", h.ID, h.Score, screen.Clip(h.Text, 60))
		}
		_, err := fmt.Fprintln(w, "tiercompact recall ID prints one of them in full")
		return err
	})
}
