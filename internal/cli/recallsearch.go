package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
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

// setEmbedder sets the embedder of the settings, if it answers, and returns the name of
// the comparison.
func (o *recallOptions) setEmbedder(ctx context.Context) (string, error) {
	c := o.place.Config
	c.Engine.Summarizer, c.Engine.SummaryURL = engine.Extractive, "" // nothing is summarised
	c.Archive, c.Trace, c.Measured = config.Archive{}, config.Trace{}, new(config.Window)
	c.Redact.Off = true // nothing is written, and compiling the rules takes longer than a search
	opened, err := c.Open(ctx, io.Discard)
	if err != nil {
		return "", settingsError(err)
	}
	if opened.Embed.Embedder == nil {
		return "words alone: " + opened.Engine.Ranking.Why, nil
	}
	o.query.Embedder, o.query.Within = opened.Embed.Embedder, c.Deadlines.Ranking
	return "words and " + opened.Engine.Ranking.Engine, nil
}
