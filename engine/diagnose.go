package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/tokens"
)

// A Diagnosis lists everything that compaction can use, what it will use, and remedies for
// what is missing.
type Diagnosis struct {
	Server   ServerState  `json:"server"`
	Machine  MachineState `json:"machine"`
	Models   []ModelState `json:"models"`
	Window   WindowState  `json:"window"`
	Embed    *RoundTrip   `json:"embed,omitempty"`   // nil: ranking without a model
	Summary  *RoundTrip   `json:"summary,omitempty"` // nil: summaries without a model
	Levels   []LevelState `json:"levels"`
	Problems []Problem    `json:"problems"`
}

// A ServerState is Ollama's report about itself.
type ServerState struct {
	URL       string `json:"url"` // "": no server is asked
	Reachable bool   `json:"reachable"`
	Version   string `json:"version,omitempty"`
}

// A ModelState is a model that the server has.
type ModelState struct {
	Name    string   `json:"name"`
	Size    int64    `json:"bytes"`
	Can     []string `json:"can"`            // chat, embed, tools, think
	Trained int      `json:"trained_window"` // tokens; 0: unknown
	NumCtx  int      `json:"num_ctx"`        // in its Modelfile; 0: not set
}

// A WindowState is the window of the session's model, and the tokens that the session
// needs. Needed is 0 without a session.
type WindowState struct {
	Model string `json:"model,omitempty"`
	tokens.Window
	Needed int `json:"needed,omitempty"`
}

// A RoundTrip is one trial call.
type RoundTrip struct {
	Model     string        `json:"model"`
	Took      time.Duration `json:"took_ns"` // by the measured call
	Load      time.Duration `json:"load_ns"` // by the call before it, for which the server loads the model if necessary
	Tokens    int           `json:"tokens"`  // read by an embedder, written by a summarizer
	PerSecond float64       `json:"tokens_per_second"`
	Reads     float64       `json:"prompt_tokens_per_second,omitempty"` // by a summarizer, as reported by its server; 0: unknown
	Error     string        `json:"error,omitempty"`
}

// A LevelState names the engine that a level will use.
type LevelState struct {
	Level  levels.Name `json:"level"`
	Engine string      `json:"engine"`
	Why    string      `json:"why"`
}

// A Problem needs a remedy. A serious one prevents a requested feature; others only reduce
// the quality.
type Problem struct {
	Serious bool   `json:"serious"`
	What    string `json:"what"`
	Remedy  string `json:"remedy"`
}

// A Patient is the session for a diagnosis; all fields may be zero.
type Patient struct {
	Model  string // the session's model
	Window int    // set by the user
	Needed int    // tokens of the session

	HardCapBuffer tiercompact.Size // of the window, as in tiercompact.Config
	Reserve       int

	// Fits returns why the session cannot be made to fit a window, nil if it can.
	Fits func(window int) error
}

// Diagnose checks everything, and tries each model once. It returns an error only if the
// options are invalid or ctx ends: missing parts are problems in the diagnosis.
func Diagnose(ctx context.Context, o Options, p Patient) (Diagnosis, error) {
	c, o, err := o.ollamaClient()
	if err != nil {
		return Diagnosis{}, err
	}
	d := Diagnosis{Server: ServerState{URL: c.URL()}, Machine: machine(), Models: []ModelState{}, Problems: []Problem{}}
	s := &modelSearch{o: o}
	if o.Kind == BuiltIn { // it asks nobody
		d.Server.URL = ""
	} else {
		d.inspectServer(ctx, s)
	}
	e := d.openEngine(ctx, s, p.Model)
	trials, stop := context.WithTimeoutCause(ctx, o.allTrials(), fmt.Errorf("no answer within the %s for all trials of models", o.allTrials()))
	defer stop()
	d.describeWindow(trials, s, p)
	if e.embedder != nil {
		d.Embed = o.tryModel(trials, e.Ranking.Model, e.tryEmbedder)
		d.reportTrial("embedding", d.Embed)
	}
	if e.summarizer != nil {
		d.Summary = o.tryModel(trials, e.Summary.Model, func(ctx context.Context) *RoundTrip { return e.trySummarizer(ctx, o.SummaryWindow) })
		d.reportTrial("summary", d.Summary)
		d.slow(d.Summary, e.Summary.Window, o.Try)
	}
	d.describeLevels(e)
	if ctx.Err() != nil {
		return d, fmt.Errorf("diagnose: %w", ctx.Err())
	}
	return d, nil
}

// allTrials is the maximum time for all trials of models together.
func (o Options) allTrials() time.Duration { return o.Try * 3 / 2 }

// tryModel has f call a model, within the time limit of the options and of ctx, which limits
// all trials.
func (o Options) tryModel(ctx context.Context, model string, f func(context.Context) *RoundTrip) *RoundTrip {
	o.Trying(model)
	short, stop := context.WithTimeoutCause(ctx, o.Try, fmt.Errorf("no answer within %s", o.Try))
	defer stop()
	t := f(short)
	if t.Error != "" && errors.Is(short.Err(), context.DeadlineExceeded) {
		t.Error = context.Cause(short).Error() // of the limit that passed first
	}
	return t
}

func (d *Diagnosis) addProblem(serious bool, remedy, format string, args ...any) {
	p := Problem{serious, fmt.Sprintf(format, args...), remedy}
	i := slices.IndexFunc(d.Problems, func(q Problem) bool { return q.What == p.What })
	if i < 0 {
		d.Problems = append(d.Problems, p)
		return
	}
	d.Problems[i].Serious = d.Problems[i].Serious || serious
}

// inspectServer asks the server for its version and models.
func (d *Diagnosis) inspectServer(ctx context.Context, s *modelSearch) {
	c, err := s.ollamaServer(ctx)
	if err != nil {
		d.addProblem(s.o.needsOllama(), remedyText(err), "%s", reasonText(err))
		return
	}
	version, _ := c.answers(ctx) // it answered before
	d.Server.Reachable, d.Server.Version = true, version
	have, err := c.have(ctx)
	if err != nil {
		d.addProblem(true, remedyText(err), "%s", reasonText(err))
		return
	}
	for _, m := range have {
		info, err := c.info(ctx, m.Name)
		if err != nil {
			d.addProblem(false, remedyText(err), "%s", reasonText(err))
			if errors.Is(err, model.ErrSlow) {
				return // each further one would take as long
			}
			continue
		}
		d.Models = append(d.Models, ModelState{m.Name, m.Bytes, modelAbilities(info), info.TrainedWindow, info.NumCtx})
	}
}

// needsOllama reports whether the options ask for anything that only Ollama has.
func (o Options) needsOllama() bool {
	for _, r := range []modelRole{o.rankingRole(), o.summaryRole()} {
		if r.url == "" && r.named != r.builtIn && o.isRequired(r) {
			return true
		}
	}
	return false
}

func modelAbilities(i ollama.Info) []string {
	can := []string{}
	for _, a := range []struct {
		name string
		has  bool
	}{{"chat", i.CanChat()}, {"embed", i.CanEmbed()}, {"tools", i.CanCallTools()}, {"think", i.CanThink()}} {
		if a.has {
			can = append(can, a.name)
		}
	}
	return can
}

// openEngine opens the engine; if a requested part is missing, it adds a problem and
// continues with the rest.
func (d *Diagnosis) openEngine(ctx context.Context, s *modelSearch, chatModel string) *Engine {
	e := new(Engine)
	for _, part := range []struct {
		role   modelRole
		find   func(context.Context, *Engine) (Choice, error)
		choice *Choice
	}{{s.o.rankingRole(), s.findEmbedder, &e.Ranking}, {s.o.summaryRole(), s.findSummarizer, &e.Summary}} {
		c, err := part.find(ctx, e)
		if err != nil {
			c = Choice{Engine: part.role.builtIn, Why: reasonText(err)}
			d.addProblem(true, remedyText(err), "%s", reasonText(err))
		} else if c.Missing != "" && d.Server.Reachable {
			if part.role.builtIn == Extractive && c.BuiltIn() {
				c.Why += ", so a chat asks " + cmp.Or(chatModel, "its own model") + " for summaries, and other commands ask none"
			}
			d.addProblem(false, c.Missing, "%s", c.Why)
		}
		*part.choice = c
	}
	return e
}

// describeWindow describes the window of the session's model, and whether the session fits.
func (d *Diagnosis) describeWindow(ctx context.Context, s *modelSearch, p Patient) {
	known := tokens.Known{User: p.Window}
	if p.Model != "" && d.Server.Reachable {
		switch k, err := s.sessionWindow(ctx, p); {
		case errors.Is(err, model.ErrNoModel):
			d.addProblem(true, "ollama pull "+p.Model, "the session's model %s is not on the server", p.Model)
		case err != nil:
			d.addProblem(true, remedyText(err), "%s", reasonText(err))
		default:
			known = k
		}
	}
	d.Window = WindowState{p.Model, tokens.Discover(known), p.Needed}
	w := d.Window.Tokens
	if text := d.Window.Warning; text != "" && w > 0 {
		what, remedy, _ := strings.Cut(text, "; ")
		d.addProblem(true, remedy, "%s", what)
	}
	raise := raiseRemedy(known, w, p.Needed)
	buffer, set := p.HardCapBuffer.Get()
	limit := tokens.NewBudget(w, buffer, p.Reserve, set).Limit()
	if w == 0 || p.Needed <= limit {
		return
	}
	if err := p.Fits(w); err != nil {
		d.addProblem(true, raise, "the session cannot be made to fit the window of %d tokens (%s): %s", w, d.Window.Source, reasonText(err))
		return
	}
	d.addProblem(false, raise, "the session has %d tokens, the window of %d (%s) leaves %d for it: it will be compacted at once", p.Needed, w, d.Window.Source, limit)
}

// raiseRemedy returns how to raise a window for a session of the needed tokens. It never
// advises more than the model was trained for.
func raiseRemedy(k tokens.Known, window, needed int) string {
	raised := roundUpWindow(cmp.Or(needed, window))
	if k.Trained > 0 {
		raised = min(raised, k.Trained)
	}
	switch {
	case k.Trained > 0 && window >= k.Trained:
		return fmt.Sprintf("use a model with a larger window: this one was trained for %d tokens", k.Trained)
	case k.User > 0 && k.Trained > 0:
		return fmt.Sprintf("raise it to at most %d, for which the model was trained: --window, or window in compact.yaml", k.Trained)
	case k.User > 0:
		return "raise it, if the model was trained for more: --window, or window in compact.yaml"
	}
	return fmt.Sprintf("raise it: set OLLAMA_CONTEXT_LENGTH=%d for the server, or PARAMETER num_ctx in a Modelfile, or give --window if the assistant sends num_ctx", raised)
}

// sessionWindow returns what is known about the window of the session's model. If it is
// not set, a trial loads the model to find it.
func (s *modelSearch) sessionWindow(ctx context.Context, p Patient) (tokens.Known, error) {
	models, err := s.ollama.have(ctx)
	if err != nil {
		return tokens.Known{}, err
	}
	m, has := ollama.Among(models, p.Model)
	if !has {
		return tokens.Known{}, &missingModel{p.Model, s.ollama.URL()}
	}
	known, err := s.ollama.window(ctx, m.Name)
	if err != nil {
		return tokens.Known{}, err
	}
	known.User = p.Window
	if tokens.Discover(known).Unsure == "" {
		return known, nil
	}
	s.o.tryModel(ctx, m.Name, func(ctx context.Context) *RoundTrip {
		trial, _, err := s.ollama.Trial(ctx, m.Name)
		if err == nil {
			known.ServerDefault, err = trial.DefaultWindow(ctx, m.Name)
		}
		return new(RoundTrip).withOutcome(err, 0) // otherwise it stays assumed
	})
	return known, nil
}

// roundUpWindow returns the next power of two that leaves room for an answer.
func roundUpWindow(n int) int {
	w := 2048
	for w < n+n/4 {
		w *= 2
	}
	return w
}

// reportTrial adds a problem for a failed call.
func (d *Diagnosis) reportTrial(what string, t *RoundTrip) {
	if t.Error != "" {
		d.addProblem(true, "see the server's log; a slow machine may need --summary-deadline and --rank-deadline", "%s with %s fails: %s", what, t.Model, t.Error)
	}
}

// slow adds a problem for a summarizer that will not finish in time.
func (d *Diagnosis) slow(t *RoundTrip, window int, most time.Duration) {
	if text := (speed{t.Reads, t.PerSecond}).slow(t.Model, window, most); text != "" && t.Error == "" {
		what, remedy, _ := strings.Cut(text, "; ")
		d.addProblem(false, remedy, "%s", what)
	}
}

func (d *Diagnosis) describeLevels(e *Engine) {
	d.Levels = nil
	for _, l := range levels.All() {
		state := LevelState{l.Name, string(BuiltIn), l.Work + "s need no model"}
		switch l.Work {
		case levels.Ranking:
			state = usedEngine(l.Name, e.Ranking, d.Embed, Lexical)
		case levels.Summarizing:
			state = usedEngine(l.Name, e.Summary, d.Summary, Extractive)
		}
		d.Levels = append(d.Levels, state)
	}
}

// usedEngine returns what a level will use: what was found, or the built-in engine if
// the trial of it failed.
func usedEngine(level levels.Name, found Choice, trial *RoundTrip, builtIn string) LevelState {
	if trial == nil || trial.Error == "" {
		return LevelState{level, found.Engine, found.Why}
	}
	return LevelState{level, builtIn, fmt.Sprintf("as long as %s fails: %s", found.Engine, reasonText(errors.New(trial.Error)))}
}

const sampleCode = "func validateSession(token string) error {\n\tif expired(token) {\n\t\treturn errExpired\n\t}\n\treturn nil\n}\n"

// trial returns a server for a trial of its model, which leaves the server as it was, and
// the window of the loaded model, 0 if it is not loaded.
func trial(ctx context.Context, server Server, name string) (Server, int, error) {
	c, ok := server.(*ollama.Client)
	if !ok {
		return server, 0, nil
	}
	return c.Trial(ctx, name)
}

func (e *Engine) tryEmbedder(ctx context.Context) *RoundTrip {
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = fmt.Sprintf("// part %d\n%s", i, sampleCode)
	}
	with := e.embedder
	server, _, err := trial(ctx, e.rankServer, with.Name)
	if err != nil {
		return (&RoundTrip{Model: e.Ranking.Model}).withOutcome(err, 0)
	}
	began := time.Now()
	m := embed.Model{Server: server, Name: with.Name, Window: with.Window, Query: with.Query, Document: with.Document, Lower: with.Lower} // no cache: the model itself is measured
	_, err = m.Embed(ctx, []string{"load"})
	t := &RoundTrip{Model: e.Ranking.Model, Load: time.Since(began)}
	if began = time.Now(); err == nil {
		_, err = m.Embed(ctx, texts)
	}
	t.Took = time.Since(began)
	for _, text := range texts {
		t.Tokens += (len(text) + 3) / 4
	}
	return t.withOutcome(err, t.Took)
}

// trySummarizer tries the summarizer with the user's window, 0 for none.
func (e *Engine) trySummarizer(ctx context.Context, user int) *RoundTrip {
	m, t := e.summarizer, &RoundTrip{Model: e.Summary.Model}
	server, loaded, err := trial(ctx, e.summaryServer, m.Name)
	if err != nil {
		return t.withOutcome(err, 0)
	}
	// Long enough, and different from an earlier trial, which the server may have cached: the
	// read speed is measured.
	prompt := fmt.Sprintf("Trial %d. Say in one sentence what this does:\n\n%s", time.Now().UnixNano(), strings.Repeat(sampleCode, 6))
	ask := func(most int) (model.Answer, time.Duration, error) {
		began := time.Now()
		a, err := server.Chat(ctx, model.Request{
			Model: m.Name, Window: cmp.Or(loaded, user), MaxTokens: most, NoThink: true, MayUnload: loaded == 0, Sampling: &model.Sampling{Seed: 42},
			Messages: []chat.Message{chat.NewText(chat.User, prompt)},
		}, func(model.Delta) error { return nil })
		return a, time.Since(began), err
	}
	const most = 48
	var a model.Answer
	first, load, err := ask(1)
	t.Reads = perSecond(first.PromptTokens, first.PromptTime)
	if t.Load = load; err == nil {
		a, t.Took, err = ask(most)
		t.Tokens = a.Tokens
	}
	return t.withOutcome(err, cmp.Or(a.Time, t.Took))
}

// withOutcome sets the result of a call.
func (t *RoundTrip) withOutcome(err error, spent time.Duration) *RoundTrip {
	switch {
	case err != nil:
		t.Error = err.Error()
	case spent > 0:
		t.PerSecond = float64(t.Tokens) / spent.Seconds()
	}
	return t
}
