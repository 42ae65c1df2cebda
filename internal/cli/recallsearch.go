package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// newArchiveSearchCommand says which command replaced search.
func newArchiveSearchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "search", Hidden: true, DisableFlagParsing: true,
		Short: "Is a part of recall",
		RunE: func(*cobra.Command, []string) error {
			return usageErrorf("archive search is a part of recall: tiercompact recall TEXT --archive DIR")
		},
	}
}

// meaningRanker returns the ranker by meaning, and its name.
func (o *recallOptions) meaningRanker(ctx context.Context) (archive.Meaning, string, error) {
	c := o.place.Config
	c.Engine.Summarizer, c.Engine.SummaryURL = engine.Extractive, "" // nothing is summarised
	c.Archive, c.Trace, c.Measured = config.Archive{}, config.Trace{}, new(config.Window)
	opened, err := c.Open(ctx, io.Discard)
	if err != nil {
		return archive.Meaning{}, "", settingsError(err)
	}
	if opened.Embed.Embedder == nil {
		return archive.Meaning{}, "words alone: " + opened.Engine.Ranking.Why, nil
	}
	return archive.Meaning{Embedder: opened.Embed.Embedder, Within: c.Deadlines.Ranking}, "words and " + opened.Engine.Ranking.Engine, nil
}

// searched is the result of a search of archives.
type searched struct {
	most    int
	hits    []sessionHit
	failed  error // why the model was not used
	damaged error // why something could not be read
}

// A sessionHit is a hit and its session.
type sessionHit struct {
	Session string  `json:"session"`
	ID      string  `json:"id"`
	Score   float64 `json:"score"`
	Text    string  `json:"text"`
}

// searchSessions finds the best hits of all sessions. If the model fails in one
// session, all are compared by words: the scores of the two methods are not comparable.
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
			return writeJSON(w, recallResult{Found: r.hits})
		}
		for _, h := range r.hits {
			fmt.Fprintf(w, "%s  %.2f  %s\n", h.ID, h.Score, screen.Clip(h.Text, 60))
		}
		_, err := fmt.Fprintln(w, "tiercompact recall ID prints one of them in full")
		return err
	})
}
