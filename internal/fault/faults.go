package fault

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// A Fault is a fault of an answer. The zero Fault is none.
type Fault struct {
	Name   string
	down   bool // nobody listens
	models bool // requests that use no model pass
	serve  func(*exchange)
}

// All returns every fault, each with working values.
func All() []Fault {
	return []Fault{
		Refused(), Status(http.StatusNotFound), Status(http.StatusInternalServerError), Status(http.StatusServiceUnavailable),
		Hang(), Drip(20 * time.Millisecond), Garbage(), CutMidLine(), ErrorLine(), EmptyAnswer(), CutAtNumPredict(),
		ToolCall(), ThinkingOnly(), Refusal(), ContextExceeded(), ContextNamed(), NoUserQuery(),
		CutToMessages(0), CutToWindow(0), CutToHalf(0),
		Reset(), ResetLater(), Stall(), Busy(http.StatusTooManyRequests, "60"), Gzip(), NotGzip(), Huge(), BadUTF8(),
		SplitLines(), WrongDimensions(), NaN(),
	}
}

// Refused closes the port, if it is set for all requests; for some of them, their
// connection is reset.
func Refused() Fault {
	return Fault{Name: "refused", down: true, serve: func(x *exchange) {
		x.resetConnection()
	}}
}

// Status answers with a status, with Ollama's text for it if there is one.
func Status(status int) Fault {
	return Fault{Name: strconv.Itoa(status), serve: func(x *exchange) {
		text := http.StatusText(status)
		switch {
		case status == http.StatusNotFound && isEmbedPath(x.r.URL.Path):
			text = fmt.Sprintf("model %q not found, try pulling it first", x.modelName())
		case status == http.StatusNotFound:
			text = fmt.Sprintf("model '%s' not found", x.modelName())
		case status == http.StatusInternalServerError:
			text = "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs for details"
		case status == http.StatusServiceUnavailable:
			text = "server busy, please try again.  maximum pending requests exceeded"
		}
		refuseRequest(x, x.r, status, text)
	}}
}

// Hang does not answer until the client leaves.
func Hang() Fault {
	return Fault{Name: "hang", serve: func(x *exchange) { <-x.r.Context().Done() }}
}

// Drip passes on the answer byte by byte, with pauses.
func Drip(pause time.Duration) Fault {
	return Fault{Name: "drip", serve: func(x *exchange) {
		x.relayAnswer(func(body io.Reader) {
			in := bufio.NewReader(body)
			for b, err := in.ReadByte(); err == nil; b, err = in.ReadByte() {
				x.sendPart([]byte{b})
				select {
				case <-time.After(pause):
				case <-x.r.Context().Done():
					return
				}
			}
		})
	}}
}

// Garbage answers with status 200 and text that is not JSON.
func Garbage() Fault {
	return Fault{Name: "garbage", serve: func(x *exchange) {
		x.Header().Set("Content-Type", "application/x-ndjson")
		x.sendPart([]byte("<html>\x00\xff\xfe{]\n\n\"}\n"))
	}}
}

// CutMidLine closes the connection in the middle of a line of the answer.
func CutMidLine() Fault {
	return Fault{Name: "cut in the middle of a line", serve: func(x *exchange) {
		x.relayAnswer(func(body io.Reader) {
			whole, _ := io.ReadAll(io.LimitReader(body, maxBody)) // half of the received bytes
			at := len(whole) / 2
			for at > 0 && at < len(whole) && (whole[at-1] == '\n' || whole[at] == '\n') {
				at++
			}
			x.sendPart(whole[:at])
			panic(http.ErrAbortHandler)
		})
	}}
}

const stopped = "an error was encountered while running the model: unexpected EOF"

// ErrorLine answers with status 200 and then with an error: after the first line of
// a chat, otherwise immediately.
func ErrorLine() Fault {
	return Fault{Name: "error line", serve: func(x *exchange) {
		line := encodeLine(map[string]any{"error": stopped})
		if isOpenAIPath(x.r.URL.Path) {
			line = encodeLine(map[string]any{"error": map[string]any{"message": stopped, "type": "api_error"}})
		}
		q := x.chatOfRequest()
		if !isChatPath(x.r.URL.Path) || !q.wantsStream(x.r.URL.Path) {
			writeReply(x, http.StatusOK, json.RawMessage(line))
			return
		}
		x.relayAnswer(func(body io.Reader) {
			first, _ := bufio.NewReader(body).ReadBytes('\n') // or all of it
			if x.sendPart(first); isOpenAIPath(x.r.URL.Path) {
				x.sendPart([]byte("\ndata: "))
			}
			x.sendPart(line)
		})
	}}
}

// EmptyAnswer answers a chat with no text, and an embedding request with no
// vectors.
func EmptyAnswer() Fault {
	f := answersWith("empty answer", answer{done: "stop"})
	chat := f.serve
	f.serve = func(x *exchange) {
		if isEmbedPath(x.r.URL.Path) {
			replyVectors(x, x.r, x.modelName(), [][]float32{}, 0)
			return
		}
		chat(x)
	}
	return f
}

// CutAtNumPredict answers a chat with a text that ends at its limit.
func CutAtNumPredict() Fault {
	return answersWith("cut at num_predict", answer{text: "## Goals\n- keep the session within the window, which means that the", done: "length"})
}

// ToolCall answers a chat with the call of a tool.
func ToolCall() Fault { return answersWith("tool call", answer{calls: true, done: "stop"}) }

// ThinkingOnly answers a chat with thoughts and no text.
func ThinkingOnly() Fault {
	return answersWith("thinking only", answer{thinking: "The user wants a summary. Let me see what happened first.", done: "stop"})
}

// Refusal answers a chat with a refusal.
func Refusal() Fault {
	return answersWith("refusal", answer{text: "I'm sorry, but I can't help with that request.", done: "stop"})
}

// answersWith answers chats with a; all other requests pass.
func answersWith(name string, a answer) Fault {
	return Fault{Name: name, models: true, serve: func(x *exchange) {
		if !isChatPath(x.r.URL.Path) {
			passThrough(x)
			return
		}
		a, q := a, x.chatOfRequest() // the request's own copy
		a.model, a.prompt = q.Model, q.promptTokens(x.effectiveWindow(0))
		a.limitTokens(0)
		a.writeAnswer(x, x.r, q)
	}}
}

// ContextExceeded rejects the input as too long, as Ollama 0.17 does.
func ContextExceeded() Fault {
	return exceedsWindow("context exceeded", http.StatusBadRequest, tooLong)
}

// ContextNamed rejects the input as too long, as newer servers do.
func ContextNamed() Fault {
	return exceedsWindow("context exceeded, named", http.StatusBadRequest, "request (5034 tokens) exceeds the available context size (4096 tokens), try increasing it")
}

// NoUserQuery is the error of newer servers after they removed the user's message.
func NoUserQuery() Fault {
	return exceedsWindow("no user query", http.StatusInternalServerError, "no user query found in messages")
}

func exceedsWindow(name string, status int, text string) Fault {
	return Fault{Name: name, models: true, serve: func(x *exchange) { refuseRequest(x, x.r, status, text) }}
}

// CutToMessages reports the count of a prompt whose oldest messages the server
// dropped silently, until it fitted a window of the given number of tokens; 0: the
// window in the request.
func CutToMessages(window int) Fault {
	return cutsPrompt("truncated by messages", window, func(w int) int { return w * 87 / 100 })
}

// CutToWindow reports the count of a prompt that was cut to exactly the window.
func CutToWindow(window int) Fault {
	return cutsPrompt("truncated to num_ctx", window, func(w int) int { return w })
}

// CutToHalf reports the count of a prompt on newer servers, which keep half of the
// window.
func CutToHalf(window int) Fault {
	return cutsPrompt("truncated to half", window, func(w int) int { return w/2 + 2 })
}

var promptCount = regexp.MustCompile(`("prompt_(?:eval_count|tokens)":)(\d+)`)

func cutsPrompt(name string, window int, to func(window int) int) Fault {
	return Fault{Name: name, models: true, serve: func(x *exchange) {
		if !isChatPath(x.r.URL.Path) {
			passThrough(x)
			return
		}
		most := to(x.effectiveWindow(window))
		x.relayAnswer(func(body io.Reader) {
			in := bufio.NewReader(body)
			for {
				line, err := in.ReadBytes('\n')
				x.sendPart(promptCount.ReplaceAllFunc(line, func(found []byte) []byte { return capCount(found, most) }))
				if err != nil {
					return
				}
			}
		})
	}}
}

// capCount returns a count, reduced to most.
func capCount(found []byte, most int) []byte {
	parts := promptCount.FindSubmatch(found)
	n, err := strconv.Atoi(string(parts[2]))
	if err != nil || n <= most {
		return found
	}
	return strconv.AppendInt(parts[1], int64(most), 10)
}

// chatOfRequest returns the request as a chat, an empty one for other requests.
func (x *exchange) chatOfRequest() chatRequest {
	var q chatRequest
	_ = json.Unmarshal(x.body, &q) // another body gives an empty chat
	return q
}

func (x *exchange) modelName() string { return x.chatOfRequest().Model }

// effectiveWindow returns the window that was set, else the one in the request,
// else the server's default.
func (x *exchange) effectiveWindow(set int) int {
	for _, w := range []int{set, x.chatOfRequest().Options.NumCtx, 4096} {
		if w > 0 {
			return w
		}
	}
	return 0
}
