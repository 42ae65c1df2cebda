package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/tokens"
)

const engineKinds = "auto, ollama, built-in"

// models are the flags that say which models rank and summarise.
type models struct {
	kind, url, embedder, summarizer, embedURL, summaryURL, cache string
	rank, summary, round                                         time.Duration
	exact                                                        bool
	noCache                                                      bool
	seed                                                         int
}

// keyVariable holds the bearer token of a server with OpenAI's protocol: it is
// no flag, because other users of a machine can read those.
const keyVariable = "COMPACT_API_KEY"

func (m *models) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.kind, "engine", "", "what ranks and summarises: auto, ollama, built-in (default \"auto\": Ollama where it has the models, else what is built in)")
	f.StringVar(&m.url, "ollama-url", "", "`address` of Ollama (default: OLLAMA_HOST, else http://127.0.0.1:11434)")
	f.BoolVar(&m.exact, "exact-tokens", false, "count with the tokenizer of --model, as Ollama has it")
	f.StringVar(&m.embedder, "embed-model", "", "`model` that ranks, or lexical (default "+engine.DefaultEmbedder+")")
	f.StringVar(&m.summarizer, "summary-model", "", "`model` that summarises, or "+ownModel+", or extractive (default "+engine.DefaultSummarizer+")")
	f.StringVar(&m.embedURL, "embed-url", "", "`address` of a server with /v1/embeddings in place of Ollama")
	f.StringVar(&m.summaryURL, "summary-url", "", "`address` of a server with /v1/chat/completions in place of Ollama")
	f.StringVar(&m.cache, "embed-cache", "", "keep vectors in this `folder` (default: tiercompact in the user's cache folder)")
	f.BoolVar(&m.noCache, "no-embed-cache", false, "keep vectors in memory alone")
	f.DurationVar(&m.rank, "rank-deadline", 0, "most `time` for a ranking by a model; 0: none (default 20s)")
	f.DurationVar(&m.summary, "summary-deadline", 0, "most `time` for one call of the summarizer; 0: none (default 2m)")
	f.DurationVar(&m.round, "round-deadline", 0, "most `time` for the models of a whole round; 0: none (default 5m)")
	complete(cmd, "engine", engineKinds)
}

func (m *models) options() engine.Options {
	o := engine.Options{
		Kind: engine.Kind(m.kind), URL: m.url, Embedder: m.embedder, Summarizer: m.summarizer,
		EmbedURL: m.embedURL, SummaryURL: m.summaryURL, Key: os.Getenv(keyVariable), Cache: m.cache, Seed: m.seed,
	}
	if base, err := os.UserCacheDir(); err == nil && !m.noCache && m.cache == "" {
		o.Cache, o.CacheIfPossible = filepath.Join(base, "tiercompact", "vectors"), true
	}
	return o
}

// valid refuses what contradicts.
func (m *models) valid() error {
	if err := oneOf("--engine", m.kind, engineKinds); err != nil {
		return err
	}
	if m.noCache && m.cache != "" {
		return usagef("--embed-cache and --no-embed-cache contradict; give one")
	}
	return nil
}

// ownModel stands for the session's own model as the one that summarises.
const ownModel = "session"

// into looks for the models, and has cfg use them and tell p how they get on.
func (m *models) into(cmd *cobra.Command, cfg *tiercompact.Config, p *progress) error {
	if err := m.valid(); err != nil {
		return err
	}
	o := m.options()
	o.Embedded = p.embedded
	if o.Summarizer == ownModel {
		if cfg.Model == "" {
			return usagef("--summary-model %s is the session's model; give --model", ownModel)
		}
		o.Summarizer, o.SummaryWindow = cfg.Model, cfg.Window
	}
	e, err := engine.Open(cmd.Context(), o)
	if err != nil {
		return err
	}
	e.Into(cfg)
	if e.Warning != "" {
		note(cmd, "warning: %s", e.Warning)
	}
	cfg.Progress = p.summary
	for _, d := range []struct {
		flag  string
		value time.Duration
		into  *time.Duration
	}{{"rank-deadline", m.rank, &cfg.RankDeadline}, {"summary-deadline", m.summary, &cfg.SummaryDeadline}, {"round-deadline", m.round, &cfg.RoundDeadline}} {
		switch {
		case d.value < 0:
			return usagef("--%s must not be below 0, is %s", d.flag, d.value)
		case d.value > 0:
			*d.into = d.value
		case cmd.Flags().Changed(d.flag):
			*d.into = tiercompact.None
		}
	}
	return nil
}

// window puts the window in that the model has on Ollama, where none is set, and
// warns of one that is set above it; without a model or a server it is the
// default. It returns where the number comes from.
func (m *models) window(cmd *cobra.Command, cfg *tiercompact.Config) (source string, err error) {
	ask := cfg.Model != "" && m.kind != string(engine.BuiltIn)
	var w tokens.Window
	if ask {
		w, err = engine.Window(cmd.Context(), m.options(), cfg.Model, cfg.Window)
	}
	switch {
	case m.exact && !ask:
		return "", usagef("--exact-tokens takes the tokenizer from Ollama; give --model, and not --engine built-in")
	case m.exact && err != nil:
		return "", err
	case !ask || err != nil || w.Tokens == 0: // the model may be another server's
		cfg.Window = cmp.Or(cfg.Window, defaultWindow)
		return "", nil
	case w.Warning != "":
		note(cmd, "warning: %s", w.Warning)
	}
	cfg.Window = w.Tokens
	if m.exact {
		cfg.Count, err = engine.Tokenizer(cmd.Context(), m.options(), cfg.Model)
	}
	return fmt.Sprintf(" (%s, for %s)", w.Source, cfg.Model), err
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
