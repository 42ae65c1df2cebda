// Package engine finds the models that rank and summarise: those of an Ollama
// server where it answers and has them, those of any server that speaks
// OpenAI's protocol where its address is given, else what is built in. It says
// which, and why.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// A Kind says where models are looked for.
type Kind string

// The kinds. Auto never fails for want of a server or a model that was not
// asked for by name.
const (
	Auto    Kind = "auto"     // Ollama where it answers and has them, else what is built in
	Ollama  Kind = "ollama"   // Ollama, or an error that says what to do
	BuiltIn Kind = "built-in" // no server is asked at all
)

// The models of each role where none is named, and the names of what is built in.
const (
	DefaultEmbedder   = "nomic-embed-text"
	DefaultSummarizer = "llama3.2:3b"
	Lexical           = "lexical"
	Extractive        = levels.FallbackExtractive
)

// Options say what to look for. The zero value is [Auto] with the default
// models.
type Options struct {
	Kind Kind   // "": Auto
	URL  string // of Ollama; "": OLLAMA_HOST, else http://127.0.0.1:11434

	Threads int // that Ollama's models compute with (num_thread); 0: as many as it chooses

	Embedder   string // a model, or Lexical; "": DefaultEmbedder
	Summarizer string // a model, or Extractive; "": DefaultSummarizer

	EmbedURL   string // base address of a server with OpenAI's protocol that embeds; "": Ollama
	SummaryURL string // the same for summaries
	Key        string // bearer token for those two; "": none

	Seed          int // of summaries; 0: 42
	SummaryWindow int // tokens to load the summarizer with; 0: as it is loaded, else 8,192 or what it was trained for
	// CacheIfPossible has vectors live in memory where Cache cannot be opened;
	// Engine.Warning says so.
	CacheIfPossible bool
	Cache           string             // folder that keeps vectors; "": they live in memory
	Embedded        func(done, of int) // is told how embedding gets on; nil: nobody is
	Try             time.Duration      // for each call of Diagnose to a model; 0: 2 min
	Trying          func(model string) // is told before such calls; nil: nobody is
	Wait            time.Duration      // for each thing that a server is asked of what it has; 0: 3 s, 15 s where a model or a server was asked for
}

// A Choice is what was found for a role.
type Choice struct {
	Engine  string `json:"engine"`            // as reports name it: Lexical, Extractive, or server and model
	Model   string `json:"model,omitempty"`   // "" for what is built in
	Server  string `json:"server,omitempty"`  // address; "" for what is built in
	Window  int    `json:"window,omitempty"`  // tokens of the model; 0: not known
	Why     string `json:"why"`               // it is this one
	Missing string `json:"missing,omitempty"` // what would have to be done to have the model; "" where it is there
}

// BuiltIn reports whether no model was found.
func (c Choice) BuiltIn() bool { return c.Model == "" }

// An Engine is what ranks and what summarises.
type Engine struct {
	Ranking, Summary Choice
	Warning          string // of something that is not as it should be, and after a semicolon what to do; "": nothing

	embedder   *embed.Model // nil: built in
	summarizer *summarize.Model

	rankServer, summaryServer Server // of those two
}

// Open looks for the models. It fails where a model or a server that was asked
// for by name is not there, saying what to do, or where ctx ends.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := modelSearch{o: o}
	e := new(Engine)
	var rankErr, summaryErr error
	e.Ranking, rankErr = s.findEmbedder(ctx, e)
	e.Summary, summaryErr = s.findSummarizer(ctx, e)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("look for models: %w", ctx.Err())
	}
	if rankErr != nil && summaryErr != nil && rankErr.Error() == summaryErr.Error() {
		summaryErr = nil // one server is missing, not two
	}
	if err := errors.Join(rankErr, summaryErr); err != nil {
		return nil, err
	}
	return e, nil
}

// Into has cfg rank and summarise with e.
func (e *Engine) Into(cfg *tiercompact.Config) {
	cfg.Embed.Name, cfg.Embed.Why = e.Ranking.Engine, e.Ranking.Why
	cfg.Summary.Name, cfg.Summary.Why = e.Summary.Engine, e.Summary.Why
	if e.embedder != nil {
		cfg.Embed.Embedder = e.embedder
	}
	if e.summarizer != nil {
		cfg.Summary.Summarizer = e.summarizer
	}
}
