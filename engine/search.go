package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/openai"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/tokens"
)

// A Server embeds texts and continues conversations.
type Server interface {
	embed.Server
	summarize.Chatter
	Window(ctx context.Context, model string) (tokens.Known, error)
}

// A modelRole is the purpose of a model.
type modelRole struct {
	verb            string // what the model does
	named, standard string // the requested model, and the default
	builtIn         string
	url             string // of a server with OpenAI's protocol
	can             func(ollama.Info) bool
}

func (o Options) rankingRole() modelRole {
	return modelRole{"embed", o.Embedder, DefaultEmbedder, Lexical, o.EmbedURL, ollama.Info.CanEmbed}
}

func (o Options) summaryRole() modelRole {
	return modelRole{"chat", o.Summarizer, DefaultSummarizer, Extractive, o.SummaryURL, ollama.Info.CanChat}
}

// isRequired reports whether the built-in engine must not be the fallback.
func (o Options) isRequired(r modelRole) bool {
	return o.Kind == Ollama || r.named != "" || r.url != ""
}

// Default time limits of each request to a server: a longer wait is worth it for a model
// that was named.
const (
	shortWait = 3 * time.Second
	longWait  = 15 * time.Second

	// DefaultTry is the maximum time of one call of [Diagnose] to a model.
	DefaultTry = 2 * time.Minute
)

func (o Options) withDefaults() (Options, error) {
	o.Kind = cmp.Or(o.Kind, Auto)
	if o.Wait == 0 {
		o.Wait = shortWait
		if o.isRequired(o.rankingRole()) || o.isRequired(o.summaryRole()) {
			o.Wait = longWait
		}
	}
	o.Try = cmp.Or(o.Try, DefaultTry)
	if o.Trying == nil {
		o.Trying = func(string) {}
	}
	if !slices.Contains([]Kind{Auto, Ollama, BuiltIn}, o.Kind) {
		return o, fmt.Errorf("engine must be auto, ollama or built-in, is %q", o.Kind)
	}
	for _, r := range []modelRole{o.rankingRole(), o.summaryRole()} {
		if o.Kind == BuiltIn && (r.url != "" || r.named != "" && r.named != r.builtIn) {
			return o, fmt.Errorf("engine built-in asks no model, but %s was given; leave one of them out", cmp.Or(r.named, r.url))
		}
	}
	return o, nil
}

// A modelSearch looks for models on servers, and checks only once whether Ollama is there.
type modelSearch struct {
	o      Options
	ollama *lookup
	absent error // why Ollama cannot be used; nil if it can
}

// A foundModel is a model on a server.
type foundModel struct {
	server Server
	known  tokens.Known
	digest string // of the weights; "" if the server does not report it
	family string // architecture; "" if the server does not report it
}

// chooseModel returns the model of a role, or no model if the built-in engine is used; the
// choice has the reason.
func (s *modelSearch) chooseModel(ctx context.Context, r modelRole) (*foundModel, Choice, error) {
	switch {
	case s.o.Kind == BuiltIn || r.named == r.builtIn:
		return nil, Choice{Engine: r.builtIn, Why: "asked for"}, nil
	case r.url != "":
		return s.modelAtURL(ctx, r)
	}
	f, c, err := s.modelAtOllama(ctx, r)
	if err == nil || s.o.isRequired(r) || ctx.Err() != nil {
		return f, c, err
	}
	return nil, Choice{Engine: r.builtIn, Why: reasonText(err), Missing: remedyText(err)}, nil
}

// modelAtURL looks for a model on a server with OpenAI's protocol. If the server lists a
// single model, it serves that under any name.
func (s *modelSearch) modelAtURL(ctx context.Context, r modelRole) (*foundModel, Choice, error) {
	c, err := openai.New(r.url, s.o.Key)
	if err != nil {
		return nil, Choice{}, err
	}
	list := within(ctx, s.o.Wait, c.Models)
	if list.err != nil {
		return nil, Choice{}, list.err
	}
	names := list.value
	name := r.named
	same := func(other string) bool { return openai.SameModel(other, name) }
	switch {
	case name == "" && len(names) == 0:
		return nil, Choice{}, fmt.Errorf("%s lists no model; name the one to %s", r.url, r.verb)
	case name == "" && len(names) > 1:
		return nil, Choice{}, fmt.Errorf("%s has several models; name the one to %s: %s", r.url, r.verb, strings.Join(names, ", "))
	case name == "":
		name = names[0]
	case slices.ContainsFunc(names, same):
		name = names[slices.IndexFunc(names, same)] // with the server's tag
	case len(names) > 1:
		return nil, Choice{}, fmt.Errorf("%w: %s has no %q; it has %s", model.ErrNoModel, r.url, name, strings.Join(names, ", "))
	}
	known := within(ctx, s.o.Wait, func(ctx context.Context) (tokens.Known, error) { return c.Window(ctx, name) })
	if known.err != nil {
		return nil, Choice{}, known.err
	}
	return &foundModel{server: c, known: known.value}, Choice{Engine: "openai/" + name, Model: name, Server: r.url, Why: "asked for by address"}, nil
}

func (s *modelSearch) modelAtOllama(ctx context.Context, r modelRole) (*foundModel, Choice, error) {
	c, err := s.ollamaServer(ctx)
	if err != nil {
		return nil, Choice{}, err
	}
	models, err := c.have(ctx)
	if err != nil {
		return nil, Choice{}, err
	}
	asked := cmp.Or(r.named, r.standard)
	m, has := ollama.Among(models, asked)
	if !has {
		return nil, Choice{}, &missingModel{asked, c.URL()}
	}
	info, err := c.info(ctx, m.Name)
	if err != nil {
		return nil, Choice{}, err
	}
	if !r.can(info) {
		return nil, Choice{}, fmt.Errorf("%w: %s at %s does not %s; name another model", model.ErrCannot, asked, c.URL(), r.verb)
	}
	if info.Elsewhere && r.named == "" { // text stays on this machine, unless the user names such a model
		return nil, Choice{}, fmt.Errorf("%w: %s at %s runs on another machine; name it if that is intended", model.ErrCannot, asked, c.URL())
	}
	known, err := c.window(ctx, m.Name)
	if err != nil {
		return nil, Choice{}, err
	}
	why := "asked for by name"
	if r.named == "" {
		why = "Ollama answers at " + c.URL() + " and has it"
	}
	return &foundModel{c.Client, known, m.Digest, info.Family}, Choice{Engine: "ollama/" + asked, Model: asked, Server: c.URL(), Why: why}, nil
}

// ollamaServer returns the lookup of Ollama, after its first answer.
func (s *modelSearch) ollamaServer(ctx context.Context) (*lookup, error) {
	if s.ollama != nil || s.absent != nil {
		return s.ollama, s.absent
	}
	c, err := ollama.New(s.o.URL)
	if err != nil {
		return nil, err
	}
	c.Threads = s.o.Threads
	l := newLookup(c, s.o.Wait)
	if _, err = l.answers(ctx); err != nil {
		s.absent = absenceError(err, c.URL())
		return nil, s.absent
	}
	s.ollama = l
	return l, nil
}

// absenceError describes why Ollama cannot be used, for readers who may not know Ollama.
func absenceError(err error, url string) error {
	what, todo := reasonText(err), remedyText(err)
	if _, rest, ok := strings.Cut(what, url+": "); ok {
		what = rest
	}
	switch {
	case errors.Is(err, model.ErrGarbled):
		return fmt.Errorf("what answers at %s is not Ollama: %s; %s; give Ollama's address with --ollama-url, and that of a server with OpenAI's protocol with --embed-url or --summary-url%w", url, what, todo, silentError{err})
	case errors.Is(err, model.ErrSlow):
		return fmt.Errorf("the Ollama at %s is slow: %s; %s%w", url, strings.TrimPrefix(what, model.ErrSlow.Error()+": "), todo, silentError{err})
	case !errors.Is(err, model.ErrUnreachable) && todo != "":
		return fmt.Errorf("the Ollama at %s cannot be asked: %s; %s%w", url, what, todo, silentError{err})
	case !errors.Is(err, model.ErrUnreachable):
		return err // the caller's time is over
	case !strings.Contains(todo, "ollama serve"):
		return fmt.Errorf("no Ollama answers at %s: %s; %s, or give another address with --ollama-url or OLLAMA_HOST%w", url, what, todo, silentError{err})
	}
	return fmt.Errorf("no Ollama answers at %s; start it with: ollama serve, or give its address with --ollama-url or OLLAMA_HOST%w", url, silentError{err})
}

// silentError has no text: it is only for errors.Is.
type silentError struct{ error }

func (silentError) Error() string   { return "" }
func (q silentError) Unwrap() error { return q.error }

// smallLetters is an architecture with a vocabulary of small letters, whose texts Ollama
// does not lower: every word with a capital would be unknown.
const smallLetters = "nomic-bert"

func (s *modelSearch) findEmbedder(ctx context.Context, e *Engine) (Choice, error) {
	f, c, err := s.chooseModel(ctx, s.o.rankingRole())
	if f == nil || err != nil {
		return c, err
	}
	e.rankServer = f.server
	c.Window = smallestWindow(f.known.Modelfile, f.known.Trained, f.known.Served)
	query, document := embed.PrefixesFor(c.Model)
	e.embedder = &embed.Model{
		Server: f.server, Name: c.Model, Digest: f.digest, Window: c.Window,
		Query: query, Document: document, Lower: f.family == smallLetters, Progress: s.o.Embedded,
	}
	if s.o.Cache != "" {
		e.embedder.Cache, err = embed.OpenCache(s.o.Cache)
	}
	if err != nil && s.o.CacheIfPossible {
		e.Warning = fmt.Sprintf("vectors are kept in memory alone: %v; name a folder with --embed-cache, or none with --no-embed-cache", err)
		e.embedder.Cache, err = nil, nil
	}
	return c, err
}

// defaultSummaryWindow is enough for a summary, and needs little memory.
const defaultSummaryWindow = 8192

func (s *modelSearch) findSummarizer(ctx context.Context, e *Engine) (Choice, error) {
	f, c, err := s.chooseModel(ctx, s.o.summaryRole())
	if own, instead := s.ownSummarizer(ctx, c); f == nil && err == nil && own != nil {
		f, c = own, instead
	}
	if f == nil || err != nil {
		return c, err
	}
	e.summaryServer = f.server
	k := f.known
	c.Window = smallestWindow(cmp.Or(s.o.SummaryWindow, k.Loaded, defaultSummaryWindow), k.Trained, k.Served)
	e.summarizer = &summarize.Model{Chat: f.server, Name: c.Model, Window: c.Window, Seed: s.o.Seed}
	if shared := s.o.Shared; shared != nil && s.o.SummaryURL == "" {
		e.summarizer.Shared = func() int { return shared(c.Model) }
	}
	return c, nil
}

// ownSummarizer returns the chat's own model in place of the default summarizer, which
// is missing; nil if it is not, or if the chat has no model that can be asked.
func (s *modelSearch) ownSummarizer(ctx context.Context, missing Choice) (*foundModel, Choice) {
	own := s.o.Own
	if own.Name == "" || missing.Missing == "" {
		return nil, missing
	}
	r := s.o.summaryRole()
	r.named, r.url = own.Name, own.URL
	f, c, err := s.chooseModel(ctx, r)
	if f == nil || err != nil {
		return nil, missing
	}
	s.o.SummaryWindow = own.Window // another one would load the model again, twice for each summary
	c.Why, c.Missing = missing.Why+", so the chat's own model summarizes", missing.Missing
	return f, c
}

// smallestWindow returns the smallest of the known windows; 0 for none.
func smallestWindow(windows ...int) int {
	least := 0
	for _, w := range windows {
		if w > 0 && (least == 0 || w < least) {
			least = w
		}
	}
	return least
}

// missingModel reports that Ollama does not have a model.
type missingModel struct{ name, url string }

func (m *missingModel) Error() string {
	return fmt.Sprintf("%s is not on the server at %s; run: ollama pull %s", m.name, m.url, m.name)
}

func (m *missingModel) Unwrap() error { return model.ErrNoModel }

// reasonText returns the text of err without its remedy.
func reasonText(err error) string {
	text, _, _ := strings.Cut(err.Error(), ";")
	return text
}

// remedyText returns the remedy for err.
func remedyText(err error) string {
	var m *missingModel
	if errors.As(err, &m) {
		return "ollama pull " + m.name
	}
	_, rest, _ := strings.Cut(err.Error(), "; ")
	return rest
}
