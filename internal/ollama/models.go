package ollama

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/types/model"

	"github.com/tiercompact/tiercompact/internal/remote"
	"github.com/tiercompact/tiercompact/tokens"
)

// Version returns the server's version. An error that is [model.ErrGarbled]
// says that what answers is not Ollama.
func (c *Client) Version(ctx context.Context) (version string, err error) {
	const what = "ask Ollama's version"
	err = c.makeCall(ctx, "", what, func(a *api.Client) error {
		version, err = a.Version(ctx)
		return err
	})
	if err == nil && version == "" {
		err = c.callError("", what, remote.Garbled("it has no version"))
	}
	return version, err
}

// A Model is one that the server has.
type Model struct {
	Name       string // in full, with its tag
	Family     string
	Parameters string // how many, for people: 3.2B
	Bytes      int64  // on disk; 0 for a model that runs elsewhere
	Digest     string // of the weights
}

// Models returns the models that the server has, in its order.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var list *api.ListResponse
	err := c.makeCall(ctx, "", "list Ollama's models", func(a *api.Client) (err error) {
		list, err = a.List(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	models := make([]Model, 0, len(list.Models))
	for _, m := range list.Models {
		models = append(models, Model{m.Name, m.Details.Family, m.Details.ParameterSize, m.Size, m.Digest})
	}
	return models, nil
}

// Has looks for a model by a name as people write it: without a tag it means
// the tag latest.
func (c *Client) Has(ctx context.Context, name string) (m Model, ok bool, err error) {
	models, err := c.Models(ctx)
	if err != nil {
		return Model{}, false, err
	}
	m, ok = Among(models, name)
	return m, ok, nil
}

// Among is [Client.Has] for models that are known.
func Among(models []Model, name string) (m Model, ok bool) {
	for _, m := range models {
		if sameModel(m.Name, name) {
			return m, true
		}
	}
	return Model{}, false
}

// sameModel compares names as the server does: with the default registry,
// namespace and tag filled in, in whatever case.
func sameModel(a, b string) bool {
	return strings.EqualFold(model.ParseName(a).String(), model.ParseName(b).String()) && b != ""
}

// Info is what a server tells of a model.
type Info struct {
	Capabilities  []string // as the server names them: completion, embedding, tools, thinking, vision
	Family        string
	TrainedWindow int  // tokens; 0: not told
	NumCtx        int  // of its own parameters; 0: not set
	Elsewhere     bool // the server passes what it is asked on to another one
}

// CanChat reports whether the model goes on with conversations.
func (i Info) CanChat() bool { return i.hasCapability(model.CapabilityCompletion) }

// CanEmbed reports whether the model is made for vectors. A server makes some
// with any model; those of models for chat say little.
func (i Info) CanEmbed() bool { return i.hasCapability(model.CapabilityEmbedding) }

// CanCallTools reports whether the model's template has a place for tools.
func (i Info) CanCallTools() bool { return i.hasCapability(model.CapabilityTools) }

// CanThink reports whether the model can think before it answers.
func (i Info) CanThink() bool { return i.hasCapability(model.CapabilityThinking) }

func (i Info) hasCapability(c model.Capability) bool {
	return slices.Contains(i.Capabilities, string(c))
}

// Show returns what the server knows of a model, without loading it.
func (c *Client) Show(ctx context.Context, name string) (Info, error) {
	s, err := c.showModel(ctx, name, false)
	if err != nil {
		return Info{}, err
	}
	arch, _ := s.ModelInfo["general.architecture"].(string)
	info := Info{
		Family:        s.Details.Family,
		TrainedWindow: wholeNumber(s.ModelInfo[arch+".context_length"]),
		NumCtx:        parseNumCtx(s.Parameters),
		Elsewhere:     s.RemoteHost != "",
	}
	for _, capability := range s.Capabilities {
		info.Capabilities = append(info.Capabilities, string(capability))
	}
	if len(info.Capabilities) == 0 { // a server before 0.6.4 does not tell
		info.Capabilities = guessCapabilities(arch, s)
	}
	return info, nil
}

func (c *Client) showModel(ctx context.Context, name string, verbose bool) (s *api.ShowResponse, err error) {
	const what = "look at model"
	err = c.makeCall(ctx, name, what, func(a *api.Client) error {
		s, err = a.Show(ctx, &api.ShowRequest{Model: name, Verbose: verbose})
		return err
	})
	if err == nil && s.ModelInfo == nil && s.Details.Family == "" && len(s.Capabilities) == 0 {
		err = c.callError(name, what, remote.Garbled("it says nothing of the model"))
	}
	return s, err
}

// guessCapabilities tells from a model's metadata and template what it can do.
func guessCapabilities(arch string, s *api.ShowResponse) []string {
	if _, pools := s.ModelInfo[arch+".pooling_type"]; pools {
		return []string{string(model.CapabilityEmbedding)}
	}
	can := []string{string(model.CapabilityCompletion)}
	if strings.Contains(s.Template, ".Tools") {
		can = append(can, string(model.CapabilityTools))
	}
	return can
}

// parseNumCtx finds num_ctx in parameters, one a line, as a Modelfile has them.
func parseNumCtx(parameters string) int {
	n := 0
	for line := range strings.Lines(parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			n, _ = strconv.Atoi(f[1]) // the server holds them as numbers
		}
	}
	return max(0, n)
}

// wholeNumber returns a JSON number that counts something, 0 for anything else.
func wholeNumber(v any) int {
	f, ok := v.(float64)
	if !ok || !(f > 0) || f > 1<<40 {
		return 0
	}
	return int(f)
}

// A Running model is one that is loaded.
type Running struct {
	Name   string
	Window int // tokens; 0: a server before 0.11 does not tell
}

// Running returns the models that are loaded now.
func (c *Client) Running(ctx context.Context) ([]Running, error) {
	var list *api.ProcessResponse
	err := c.makeCall(ctx, "", "ask which models are loaded", func(a *api.Client) (err error) {
		list, err = a.ListRunning(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	running := make([]Running, 0, len(list.Models))
	for _, m := range list.Models {
		running = append(running, Running{m.Name, max(0, m.ContextLength)})
	}
	return running, nil
}

// Loaded returns the window that a model is loaded with now, 0 if the server
// does not tell. ok is false if it is not loaded.
func (c *Client) Loaded(ctx context.Context, name string) (window int, ok bool, err error) {
	running, err := c.Running(ctx)
	window, ok = loaded(running, name)
	return window, ok, err
}

func loaded(running []Running, name string) (window int, ok bool) {
	for _, m := range running {
		if sameModel(m.Name, name) {
			return m.Window, true
		}
	}
	return 0, false
}

// Window returns what the server knows of a model's window, which nothing loads.
func (c *Client) Window(ctx context.Context, name string) (tokens.Known, error) {
	info, err := c.Show(ctx, name)
	if err != nil {
		return tokens.Known{}, err
	}
	running, err := c.Running(ctx)
	return c.WindowOf(name, info, running), err
}

// WindowOf is [Client.Window] where info and the models that are loaded are
// known. What the server tells in /api/ps is what holds: requests, the Modelfile
// and the trained window only say what it was asked for, or could be.
//
// The server's default depends on its memory and its environment, and it tells
// neither. It is assumed: what OLLAMA_CONTEXT_LENGTH says here where the server is
// on this machine, else the 4096 that a server without much graphics memory
// takes. [Client.DefaultWindow] asks.
func (c *Client) WindowOf(name string, info Info, running []Running) tokens.Known {
	k := tokens.Known{Modelfile: info.NumCtx, Trained: info.TrainedWindow, Assumed: c.assumedWindow()}
	if info.Elsewhere {
		k.Served = info.TrainedWindow
	}
	k.Loaded, _ = loaded(running, name)
	return k
}

// DefaultWindow has the server load a model, with no window asked for, and
// returns the one that it took; 0 if the server does not tell.
func (c *Client) DefaultWindow(ctx context.Context, name string) (window int, err error) {
	stream := false
	load := &api.ChatRequest{Model: name, Options: c.options(), Stream: &stream, KeepAlive: c.kept()}
	err = c.makeCall(ctx, name, "load", func(a *api.Client) error {
		return a.Chat(ctx, load, func(api.ChatResponse) error { return nil })
	})
	if err != nil {
		return 0, err
	}
	window, _, err = c.Loaded(ctx, name)
	return window, err
}

const smallestDefault = 4096

func (c *Client) assumedWindow() int {
	if n, err := strconv.Atoi(strings.TrimSpace(os.Getenv("OLLAMA_CONTEXT_LENGTH"))); err == nil && n > 0 && c.isLocalServer() {
		return n
	}
	return smallestDefault
}

// afterTrial is how long a server keeps a model that was loaded for a trial
// alone: from one call of it to the next.
const afterTrial = 10 * time.Second

// Trial returns a client for calls to a model that only try it, and leave the
// server as it was: where the model is loaded, calls take the window that it
// has, and do not change how long it is kept; where it is not, it is soon
// unloaded again. window is the one that it is loaded with, 0 if it is not.
func (c *Client) Trial(ctx context.Context, name string) (trial *Client, window int, err error) {
	window, loaded, err := c.Loaded(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	t := *c
	t.keep, t.window = nil, window
	if !loaded {
		after := afterTrial
		t.keep = &after
	}
	return &t, window, nil
}

// Unload has the server give back the memory of a model, which it does soon
// after it answers.
func (c *Client) Unload(ctx context.Context, name string) error {
	now := &api.Duration{}
	return c.makeCall(ctx, name, "unload model", func(a *api.Client) error {
		return a.Generate(ctx, &api.GenerateRequest{Model: name, KeepAlive: now}, func(api.GenerateResponse) error { return nil })
	})
}

// Progress says how far a pull is.
type Progress struct {
	Status   string
	Done, Of int64 // bytes of what Status names; 0: not known
}

const pulling = "pull model"

// Pull has the server fetch a model, and tells each how far it is. An error of
// each ends the pull, and is returned as it is.
func (c *Client) Pull(ctx context.Context, name string, each func(Progress) error) error {
	const what = pulling
	var stopped error
	done := false
	err := c.makeCall(ctx, name, what, func(a *api.Client) error {
		return a.Pull(ctx, &api.PullRequest{Model: name}, func(p api.ProgressResponse) error {
			done = p.Status == "success"
			stopped = each(Progress{p.Status, p.Completed, p.Total})
			return stopped
		})
	})
	switch {
	case stopped != nil:
		return stopped
	case err == nil && !done:
		return c.callError(name, what, remote.Garbled("it ends before the model is there"))
	}
	return err
}
