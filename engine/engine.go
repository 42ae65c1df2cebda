// Package engine finds the models for ranking and summaries: those of an Ollama server if
// it answers and has them, those of a server with OpenAI's protocol if its address is
// given, otherwise the built-in ones. It reports the choice and the reason.
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

// A Kind selects the servers to search for models.
type Kind string

// The kinds. Auto returns no error for a missing server or model unless the options name it.
const (
	Auto    Kind = "auto"     // Ollama if it answers and has them, otherwise built-in
	Ollama  Kind = "ollama"   // Ollama, or an error with a remedy
	BuiltIn Kind = "built-in" // no server is called
)

// The default models of each role, and the names of the built-in ones.
const (
	DefaultEmbedder   = "nomic-embed-text"
	DefaultSummarizer = "llama3.2:3b"
	Lexical           = "lexical"
	Extractive        = levels.FallbackExtractive
)

// Options select what to look for. The zero value means [Auto] with the default models.
type Options struct {
	Kind Kind   // "": Auto
	URL  string // of Ollama; "": OLLAMA_HOST, else http://127.0.0.1:11434

	Threads int // threads of Ollama's models (num_thread); 0: Ollama's choice

	Embedder   string // a model, or Lexical; "": DefaultEmbedder
	Summarizer string // a model, or Extractive; "": DefaultSummarizer

	Own OwnModel // of a chat: it summarizes if no summarizer is named and the default one is missing

	// Shared returns the window with which conversations use a model, 0 if they do not; nil:
	// 0. Summaries by it use that window, and leave it loaded when they are abandoned. It is
	// not asked with SummaryURL, which may be of another server.
	Shared func(model string) (window int)

	EmbedURL   string // base address of an embedding server with OpenAI's protocol; "": Ollama
	SummaryURL string // the same for summaries
	Key        string // bearer token for those two; "": none

	Seed          int // of summaries; 0: 42
	SummaryWindow int // context window of the summarizer, in tokens; 0: as it is loaded, or else 8,192 or the trained window
	// CacheIfPossible keeps vectors in memory if Cache cannot be opened; Engine.Warning reports
	// that.
	CacheIfPossible bool
	Cache           string             // folder of the vector cache; "": in memory
	Embedded        func(done, of int) // reports the progress of embedding; nil: no reports
	Try             time.Duration      // max time of each call of Diagnose to a model, all get one and a half times as long; 0: DefaultTry
	Trying          func(model string) // reports such a call before it begins; nil: no reports
	Wait            time.Duration      // max time of each lookup on a server; 0: 3 s, 15 s if the options name a model or a server
}

// An OwnModel is the model of a chat. The zero value is none.
type OwnModel struct {
	Name   string
	URL    string // base address of a server with OpenAI's protocol; "": Ollama
	Window int    // of the chat, which is also that of summaries
}

// A Choice is the model or built-in engine of a role.
type Choice struct {
	Engine  string `json:"engine"`            // its name in reports: Lexical, Extractive, or server and model
	Model   string `json:"model,omitempty"`   // "" if built-in
	Server  string `json:"server,omitempty"`  // address; "" if built-in
	Window  int    `json:"window,omitempty"`  // tokens of the model; 0: unknown
	Why     string `json:"why"`               // reason for the choice
	Missing string `json:"missing,omitempty"` // how to get the model; "" if it is there
}

// BuiltIn reports whether no model was found.
func (c Choice) BuiltIn() bool { return c.Model == "" }

// An Engine has the ranker and the summarizer.
type Engine struct {
	Ranking, Summary Choice
	Warning          string // a problem, with a remedy after a semicolon; "": none

	embedder   *embed.Model // nil: built in
	summarizer *summarize.Model

	rankServer, summaryServer Server // of those two
}

// Open looks for the models. It returns an error with a remedy if a model or a server named
// in the options is missing, or an error if ctx ends.
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

// Into sets e as cfg's ranker and summarizer.
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
