package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/summarize"
)

// models are the flags of bench that say which models rank and summarise: what
// it measures follows from its command, never from a file or a variable.
type models struct {
	kind, url, embedder, summarizer, embedURL, cache string
	noCache                                          bool
	seed                                             int
}

// options are what to look for.
func (m *models) options() engine.Options {
	c := config.Config{Engine: m.kind, OllamaURL: m.url, Seed: m.seed}
	c.Summary.Model = m.summarizer
	c.Embed = config.Embed{Model: m.embedder, URL: m.embedURL, Cache: cmp.Or(m.cache, config.CacheAuto)}
	if m.noCache {
		c.Embed.Cache = config.CacheNone
	}
	o, _ := c.EngineOptions() // fails for the session's model alone, which bench has not
	return o
}

// valid refuses what contradicts.
func (m *models) valid() error {
	if m.noCache && m.cache != "" {
		return usagef("--embed-cache and --no-embed-cache contradict; give one")
	}
	return nil
}

// lookFor looks for the models, and has cfg use them and tell p how they get on.
func lookFor(cmd *cobra.Command, c config.Config, cfg *tiercompact.Config, p *progress) error {
	o, err := c.EngineOptions()
	if err != nil {
		return settingsError(err)
	}
	o.Embedded = p.embedded
	e, err := engine.Open(cmd.Context(), o)
	if err != nil {
		return err
	}
	e.Into(cfg)
	if e.Warning != "" {
		note(cmd, "warning: %s", e.Warning)
	}
	cfg.Progress = p.summary
	return nil
}

// A progress shows on a terminal, in one line that comes and goes, how a model
// gets on. Elsewhere it shows nothing.
type progress struct {
	w     *os.File // nil: no terminal
	shown bool
}

func newProgress(cmd *cobra.Command) *progress {
	f, ok := cmd.ErrOrStderr().(*os.File)
	if ok {
		_, ok = terminalWidth(f)
	}
	if !ok {
		return new(progress)
	}
	return &progress{w: f}
}

func (p *progress) embedded(done, of int) {
	p.line(done < of, fmt.Sprintf("embedding: %d of %d texts", done, of))
}

func (p *progress) summary(s summarize.Progress) {
	p.line(!s.Done, fmt.Sprintf("summary: %s %d of %d, %d tokens, %.0f tokens/s", s.Step, s.Call, s.Of, s.Tokens, s.PerSecond))
}

// line shows text in the place of what it showed before, or nothing where the
// work is done.
func (p *progress) line(on bool, text string) {
	const clear = "\r\x1b[K"
	switch {
	case p.w == nil:
	case on:
		fmt.Fprint(p.w, clear, text)
		p.shown = true
	case p.shown:
		fmt.Fprint(p.w, clear)
		p.shown = false
	}
}
