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

// Version returns the server's version. An error that is [model.ErrGarbled] means
// that the server is not Ollama.
func (c *Client) Version(ctx context.Context) (version string, err error) {
	const what = "get Ollama's version"
	err = c.makeCall(ctx, "", what, func(a *api.Client) error {
		version, err = a.Version(ctx)
		return err
	})
	if err == nil && version == "" {
		err = c.callError("", what, remote.Garbled("it has no version"))
	}
	return version, err
}

// A Model is a model on the server.
type Model struct {
	Name       string // full name, with its tag
	Family     string
	Parameters string // number of parameters, for people: 3.2B
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

// Has finds a model by a name as users write it: without a tag it means the tag
// latest.
func (c *Client) Has(ctx context.Context, name string) (m Model, ok bool, err error) {
	models, err := c.Models(ctx)
	if err != nil {
		return Model{}, false, err
	}
	m, ok = Among(models, name)
	return m, ok, nil
}

// Among is [Client.Has] for a known list of models.
func Among(models []Model, name string) (m Model, ok bool) {
	for _, m := range models {
		if SameModel(m.Name, name) {
			return m, true
		}
	}
	return Model{}, false
}

// SameModel compares names as the server does: with the default registry, namespace
// and tag filled in, ignoring case.
func SameModel(a, b string) bool {
	return strings.EqualFold(model.ParseName(a).String(), model.ParseName(b).String()) && b != ""
}

// Info is the server's information about a model.
type Info struct {
	Capabilities  []string // with the server's names: completion, embedding, tools, thinking, vision
	Family        string
	TrainedWindow int  // window of its training in tokens; 0: not reported
	NumCtx        int  // of its own parameters; 0: not set
	Elsewhere     bool // the server forwards requests for it to another one
}

// CanChat reports whether the model continues conversations.
func (i Info) CanChat() bool { return i.hasCapability(model.CapabilityCompletion) }

// CanEmbed reports whether the model is made for vectors. A server computes vectors
// with any model; those of chat models mean little.
func (i Info) CanEmbed() bool { return i.hasCapability(model.CapabilityEmbedding) }

// CanCallTools reports whether the model's template supports tools.
func (i Info) CanCallTools() bool { return i.hasCapability(model.CapabilityTools) }

// CanThink reports whether the model can think before it answers.
func (i Info) CanThink() bool { return i.hasCapability(model.CapabilityThinking) }

func (i Info) hasCapability(c model.Capability) bool {
	return slices.Contains(i.Capabilities, string(c))
}

// Show returns the server's information about a model, without loading it.
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
	if len(info.Capabilities) == 0 { // a server before 0.6.4 does not report them
		info.Capabilities = guessCapabilities(arch, s)
	}
	return info, nil
}

func (c *Client) showModel(ctx context.Context, name string, verbose bool) (s *api.ShowResponse, err error) {
	const what = "look at model"
	memory, remembers := ctx.Value(memoryKey{}).(*memory)
	key := c.URL() + " " + strings.ToLower(model.ParseName(name).String())
	if remembers {
		if known, ok := memory.find(key, verbose); ok {
			return known, nil
		}
		defer func() {
			if err == nil {
				memory.add(key, verbose, s)
			}
		}()
	}
	err = c.makeCall(ctx, name, what, func(a *api.Client) error {
		s, err = a.Show(ctx, &api.ShowRequest{Model: name, Verbose: verbose})
		return err
	})
	if err == nil && s.ModelInfo == nil && s.Details.Family == "" && len(s.Capabilities) == 0 {
		err = c.callError(name, what, remote.Garbled("it says nothing of the model"))
	}
	return s, err
}

// guessCapabilities derives a model's capabilities from its metadata and template.
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

// parseNumCtx finds num_ctx in parameters, one a line, as in a Modelfile.
func parseNumCtx(parameters string) int {
	n := 0
	for line := range strings.Lines(parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			n, _ = strconv.Atoi(f[1]) // the server stores them as numbers
		}
	}
	return max(0, n)
}

// wholeNumber returns a JSON number that is a count, 0 for any other value.
func wholeNumber(v any) int {
	f, ok := v.(float64)
	if !ok || !(f > 0) || f > 1<<40 {
		return 0
	}
	return int(f)
}

// A Running model is a loaded model.
type Running struct {
	Name   string
	Window int // tokens; 0: a server before 0.11 does not report it
}

// Running returns the models that are loaded now.
func (c *Client) Running(ctx context.Context) ([]Running, error) {
	var list *api.ProcessResponse
	err := c.makeCall(ctx, "", "list the loaded models", func(a *api.Client) (err error) {
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

// Loaded returns the current window of a loaded model, 0 if the server does not
// report it. ok is false if it is not loaded.
func (c *Client) Loaded(ctx context.Context, name string) (window int, ok bool, err error) {
	running, err := c.Running(ctx)
	window, ok = loaded(running, name)
	return window, ok, err
}

func loaded(running []Running, name string) (window int, ok bool) {
	for _, m := range running {
		if SameModel(m.Name, name) {
			return m.Window, true
		}
	}
	return 0, false
}

// Window returns the known facts about a model's window, without loading it.
func (c *Client) Window(ctx context.Context, name string) (tokens.Known, error) {
	info, err := c.Show(ctx, name)
	if err != nil {
		return tokens.Known{}, err
	}
	running, err := c.Running(ctx)
	return c.WindowOf(name, info, running), err
}

// WindowOf is [Client.Window] with known info and loaded models. The window in
// /api/ps is the actual one: requests, the Modelfile and the training only give
// wishes and limits. The server's default depends on its memory and its
// environment, and it reports neither. It is assumed to be this process's
// OLLAMA_CONTEXT_LENGTH if the server is on this machine, else 4096, the default of
// a server with little graphics memory. [Client.DefaultWindow] measures it.
func (c *Client) WindowOf(name string, info Info, running []Running) tokens.Known {
	k := tokens.Known{Modelfile: info.NumCtx, Trained: info.TrainedWindow, Assumed: c.assumedWindow()}
	if info.Elsewhere {
		k.Served = info.TrainedWindow
	}
	k.Loaded, _ = loaded(running, name)
	return k
}

// DefaultWindow makes the server load a model without a requested window, and
// returns the window that it used; 0 if the server does not report it.
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

// afterTrial is how long a server keeps a model that was loaded only for a trial:
// from one call to the next.
const afterTrial = 10 * time.Second

// Trial returns a client for trial calls to a model, which leave the server as it
// was: if the model is loaded, calls use its window, and do not change how long it
// is kept; if it is not, it is unloaded soon after. window is the one with which it
// is loaded, 0 if it is not.
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

// Unload makes the server unload a model, which it does soon after its answer.
func (c *Client) Unload(ctx context.Context, name string) error {
	now := &api.Duration{}
	return c.makeCall(ctx, name, "unload model", func(a *api.Client) error {
		return a.Generate(ctx, &api.GenerateRequest{Model: name, KeepAlive: now}, func(api.GenerateResponse) error { return nil })
	})
}

// Progress is the progress of a pull.
type Progress struct {
	Status   string
	Done, Of int64 // bytes of the part in Status; 0: unknown
}

const pulling = "pull model"

// Pull makes the server download a model, and reports the progress to each. An
// error of each ends the pull, and is returned unchanged.
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
