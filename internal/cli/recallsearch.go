package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
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
	c.Summary = config.Summary{Model: engine.Extractive} // nothing is summarised
	options, err := c.EngineOptions()
	if err != nil {
		return "", settingsError(err)
	}
	e, err := engine.Open(ctx, options)
	if err != nil {
		return "", err
	}
	var cfg tiercompact.Config
	e.Into(&cfg)
	if cfg.Embed.Embedder == nil {
		return "words alone: " + e.Ranking.Why, nil
	}
	o.query.Embedder, o.query.Within = cfg.Embed.Embedder, c.Deadlines.Ranking
	return "words and " + e.Ranking.Engine, nil
}
