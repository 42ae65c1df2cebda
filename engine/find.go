package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact"
)

// findWithin is the most time that Find takes.
const findWithin = 3 * time.Second

// Find has cfg rank and summarise with the models that are there, and returns
// which and why: [DefaultEmbedder] and [DefaultSummarizer] if Ollama answers at
// OLLAMA_HOST, else at http://127.0.0.1:11434, and has them; what is built in for
// the role of one that is missing. It is done within 3 seconds, asks no model for
// anything, and never fails. A role that cfg has set already is left alone.
//
// Reports and events repeat the choice, and why, for each level that a model is
// for. [Open] takes other models, other servers and a cache.
func Find(ctx context.Context, cfg *tiercompact.Config) *Engine {
	short, stop := context.WithTimeout(ctx, findWithin)
	defer stop()
	e, err := Open(short, Options{Wait: findWithin / 2})
	if err != nil { // the time is over, or ctx has ended
		why := fmt.Sprintf("the server is slow: it has not answered all within %s", findWithin)
		if ctx.Err() != nil {
			why = "nobody was asked: " + ctx.Err().Error()
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

// givenChoice is the choice of a role that was set already.
func givenChoice(name string) Choice {
	return Choice{Engine: name, Model: name, Why: "set by the program"}
}

// String says in two lines what ranks and what summarises, why, and what to do
// for a model that is missing.
func (e *Engine) String() string {
	return "ranking: " + e.Ranking.String() + "\nsummary: " + e.Summary.String()
}

// String returns a line with all that is known but the window.
func (c Choice) String() string {
	text := fmt.Sprintf("%s (%s)", c.Engine, c.Why)
	if c.Missing != "" {
		text += "; for the model: " + c.Missing
	}
	return text
}
