package tokens

import "fmt"

// Known are the known facts about a model's window, in tokens; 0 means unknown.
type Known struct {
	User          int // set by the user; requests include it if the server accepts it
	Loaded        int // the server has the model loaded with it
	Served        int // fixed by a server that accepts no window: one that speaks OpenAI's protocol only, or Ollama's /v1
	Modelfile     int // num_ctx in the model's own parameters
	ServerDefault int // that the server loaded the model with when a request gave none
	Assumed       int // that it will probably use by default, as far as a client can see
	Trained       int // the window of the model's training; only an upper limit
}

// A Window is the maximum of prompt and answer together.
type Window struct {
	Tokens  int    `json:"tokens"`            // 0: unknown
	Source  string `json:"source"`            // source of the number, for people
	Warning string `json:"warning,omitempty"` // the problem, and after a semicolon the remedy; "": none
	// Unsure says how to verify a number that is only assumed; "": it is known.
	Unsure string `json:"unsure,omitempty"`
}

const (
	assumed  = "assumed, the model is not loaded"
	makeSure = "set the window; or OLLAMA_CONTEXT_LENGTH for the server, or num_ctx in the Modelfile"
)

// Discover returns the window in effect: the user's, else the one with which the
// model is loaded, the server's fixed one, the Modelfile's, the server's default
// for requests without one, and else the assumed default. No window is larger than
// the server's fixed one or the model's training: a server silently reduces larger
// requests to that. A window that the user set above either is therefore reduced to
// it, with a warning. One above the loaded window is not: requests include it
// (num_ctx), and the server reloads the model.
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

// lowerToCeiling reduces w to a ceiling, and warns if the user set more.
func (w *Window) lowerToCeiling(ceiling, user int, source, remedy string) {
	if ceiling <= 0 || w.Tokens <= ceiling {
		return
	}
	if user > ceiling {
		w.Warning = fmt.Sprintf("the window is set to %d tokens, but it is %d (%s); "+remedy, user, ceiling, source, ceiling)
	}
	w.Tokens, w.Source = ceiling, source
	w.Unsure = "" // no default is this small
}
