package tokens

import "fmt"

// Known is what is known of a model's window, in tokens; 0 means not known.
type Known struct {
	User          int // set by the user; requests ask for it, where the server lets them
	Loaded        int // the server has the model loaded with it now
	Served        int // fixed by a server that takes no wishes: one that speaks OpenAI's protocol only, or Ollama behind its own /v1
	Modelfile     int // num_ctx in the model's own parameters
	ServerDefault int // that the server loaded the model with when it was asked for none
	Assumed       int // that it will take by default, as far as one can tell from outside
	Trained       int // the model knows no more places; only ever a ceiling
}

// A Window is how much a model can hold: prompt and answer together.
type Window struct {
	Tokens  int    `json:"tokens"`            // 0: not known
	Source  string `json:"source"`            // where the number comes from, for people
	Warning string `json:"warning,omitempty"` // what is wrong, and after a semicolon what to do; "": nothing
	// Unsure says how to make sure of a number that is only assumed; "": it is known.
	Unsure string `json:"unsure,omitempty"`
}

const (
	assumed  = "assumed, the model is not loaded"
	makeSure = "set the window; or OLLAMA_CONTEXT_LENGTH where the server is started, or num_ctx in the Modelfile"
)

// Discover returns the window that holds: what the user set, else what the
// model is loaded with, what the server fixes, its Modelfile, the server's
// default where it was asked for, and else what is assumed of that.
//
// No window is larger than what the server fixes or the model was trained for:
// a server cuts what it is asked for down to that without a word. A window that
// the user set above either is therefore reduced to it, with a warning. One
// above what the model is loaded with is not: requests carry it (num_ctx), and
// the server loads the model anew.
func Discover(k Known) Window {
	w := Window{Source: "not known"}
	for _, from := range []struct {
		tokens int
		source string
	}{
		{k.User, "set by the user"},
		{k.Loaded, "loaded on the server"},
		{k.Served, "fixed by the server"},
		{k.Modelfile, "num_ctx of the Modelfile"},
		{k.ServerDefault, "default of the server"},
		{k.Assumed, assumed},
	} {
		if from.tokens > 0 {
			w.Tokens, w.Source = from.tokens, from.source
			break
		}
	}
	if w.Source == assumed {
		w.Unsure = makeSure
	}
	if w.Tokens == 0 {
		w.Warning = "the model's window is not known; set it"
		return w
	}
	w.lowerToCeiling(k.Served, k.User, "fixed by the server", "start the server with a larger context, or set at most %d")
	w.lowerToCeiling(k.Trained, k.User, "the model was trained for no more", "set at most %d, or use another model")
	return w
}

// lowerToCeiling takes w down to a ceiling, and warns where the user set more.
func (w *Window) lowerToCeiling(ceiling, user int, source, remedy string) {
	if ceiling <= 0 || w.Tokens <= ceiling {
		return
	}
	if user > ceiling {
		w.Warning = fmt.Sprintf("the window is set to %d tokens, but it is %d (%s); "+remedy, user, ceiling, source, ceiling)
	}
	w.Tokens, w.Source = ceiling, source
	w.Unsure = "" // no default is as small
}
