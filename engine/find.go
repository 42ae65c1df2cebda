package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact"
)

// findWithin is the maximum time of Find.
const findWithin = 3 * time.Second

// Find sets the available models in cfg, and returns the choice and the reasons:
// [DefaultEmbedder] and [DefaultSummarizer] if Ollama answers at OLLAMA_HOST, or at
// http://127.0.0.1:11434 by default, and has them; otherwise the built-in engine of the
// role. It takes at most 3 seconds, does not run a model, and never fails. It does not
// change a role that cfg has set already.
//
// Reports and events repeat the choice and the reason for each level with a model.
// [Open] supports other models, other servers and a cache.
func Find(ctx context.Context, cfg *tiercompact.Config) *Engine {
	short, stop := context.WithTimeout(ctx, findWithin)
	defer stop()
	e, err := Open(short, Options{Wait: findWithin / 2})
	if err != nil { // the time is over, or ctx has ended
		why := fmt.Sprintf("the server is slow: it has not answered all within %s", findWithin)
		if ctx.Err() != nil {
			why = "no server was asked: " + ctx.Err().Error()
		}
		e = &Engine{Ranking: Choice{Engine: Lexical, Why: why}, Summary: Choice{Engine: Extractive, Why: why}}
	}
	mine := *cfg
	e.Into(cfg)
	if mine.Embed.Embedder != nil {
		cfg.Embed.Embedder, cfg.Embed.Name, cfg.Embed.Why = mine.Embed.Embedder, mine.Embed.Name, mine.Embed.Why
		e.embedder, e.Ranking = nil, givenChoice(mine.Embed.Name)
	}
	if mine.Summary.Summarizer != nil {
		cfg.Summary.Summarizer, cfg.Summary.Name, cfg.Summary.Why = mine.Summary.Summarizer, mine.Summary.Name, mine.Summary.Why
		e.summarizer, e.Summary = nil, givenChoice(mine.Summary.Name)
	}
	return e
}

// givenChoice is the choice for a role that was set already.
func givenChoice(name string) Choice {
	return Choice{Engine: name, Model: name, Why: "set by the program"}
}

// String returns two lines: the ranker and the summarizer, the reasons, and how to get a
// missing model.
func (e *Engine) String() string {
	return "ranking: " + e.Ranking.String() + "\nsummary: " + e.Summary.String()
}

// String returns one line with all fields except the window.
func (c Choice) String() string {
	text := fmt.Sprintf("%s (%s)", c.Engine, c.Why)
	if c.Missing != "" {
		text += "; for the model: " + c.Missing
	}
	return text
}
