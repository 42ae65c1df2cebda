package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/tiercompact/tiercompact/internal/remote"
)

// An ollamaLine is a line of Ollama's answer, or the whole of it.
type ollamaLine struct {
	Model     string    `json:"model"`
	CreatedAt time.Time `json:"created_at"`
	Message   struct {
		Content   string       `json:"content"`
		Thinking  string       `json:"thinking"`
		ToolCalls []ollamaCall `json:"tool_calls"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Prompt     int             `json:"prompt_eval_count"`
	Answer     int             `json:"eval_count"`
	Logprobs   json.RawMessage `json:"logprobs"`
	Error      string          `json:"error"`
}

type ollamaCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// arguments returns the call's arguments, always an object.
func (c ollamaCall) arguments() json.RawMessage {
	if len(c.Function.Arguments) == 0 || string(c.Function.Arguments) == "null" {
		return json.RawMessage("{}")
	}
	return c.Function.Arguments
}

// callID returns a call's id; servers before 0.12 give none.
func (t *translation) callID(c ollamaCall, n int) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("call_%s_%d", t.id, n)
}

// A translator writes an answer in the client's API.
type translator interface {
	// line returns the events of a line of a stream.
	line(l ollamaLine) []byte
	// document returns the answer that is not streamed.
	document(l ollamaLine) any
	// failure returns the event of an error in the middle of a stream.
	failure(reason string) []byte
}

func (t *translation) translator() translator {
	if t.api == "anthropic" {
		return &anthropicAnswer{t: t, open: -1}
	}
	return &openaiAnswer{t: t}
}

// translateAnswer replaces the upstream's answer by one in the client's API.
func (t *translation) translateAnswer(answer *http.Response) {
	answer.Header.Del("Content-Length")
	answer.ContentLength = -1
	switch {
	case answer.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody))
		_ = answer.Body.Close()
		t.setDocument(answer, t.errorBody(answer.StatusCode, string(text)))
	case t.stream:
		answer.Header.Set("Content-Type", "text/event-stream")
		answer.Header.Set("Cache-Control", "no-cache")
		answer.Body = &translatedStream{ReadCloser: answer.Body, to: t.translator()}
	default:
		answer.Header.Set("Content-Type", "application/json")
		answer.Body = &translatedDocument{ReadCloser: answer.Body, t: t}
	}
}

func (t *translation) setDocument(answer *http.Response, v any) {
	text := marshalLine(v)
	answer.Body = io.NopCloser(bytes.NewReader(text))
	answer.ContentLength = int64(len(text))
	answer.Header.Set("Content-Length", strconv.Itoa(len(text)))
	answer.Header.Set("Content-Type", "application/json")
}

// errorBody returns an error of Ollama in the form of the client's API.
func (t *translation) errorBody(status int, text string) any {
	var e struct{ Error json.RawMessage }
	reason := text
	if json.Unmarshal([]byte(text), &e) == nil && len(e.Error) > 0 {
		reason = jsonText(e.Error)
	}
	if t.api == "anthropic" {
		return map[string]any{"type": "error", "error": map[string]string{"type": anthropicType(status), "message": reason}}
	}
	kind, code := "api_error", any(nil)
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	}
	if remote.TooLong(status, text) {
		code = "context_length_exceeded"
	}
	return map[string]any{"error": map[string]any{"message": reason, "type": kind, "param": nil, "code": code}}
}

// marshalLine returns JSON without escapes for web pages, and a line feed.
func marshalLine(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // only values that have a JSON form
	return out.Bytes()
}

// sseEvent returns an event of a stream; without a name, as OpenAI has them.
func sseEvent(name string, v any) []byte {
	head := "data: "
	if name != "" {
		head = "event: " + name + "\ndata: "
	}
	return append(append([]byte(head), marshalLine(v)...), '\n')
}

// A translatedDocument is an answer that is not streamed: it is read whole, and
// translated.
type translatedDocument struct {
	io.ReadCloser
	t   *translation
	out *bytes.Reader
}

func (d *translatedDocument) Read(buf []byte) (int, error) {
	if d.out == nil {
		text, err := io.ReadAll(io.LimitReader(d.ReadCloser, maxAnswer))
		if err != nil {
			return 0, err
		}
		var l ollamaLine
		if err := json.Unmarshal(text, &l); err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		d.out = bytes.NewReader(marshalLine(d.t.translator().document(l)))
	}
	return d.out.Read(buf)
}

const (
	maxAnswer = 64 << 20 // bytes
	maxLine   = 16 << 20 // of a stream
)

// A translatedStream turns Ollama's lines into the client's events as they come.
type translatedStream struct {
	io.ReadCloser
	to    translator
	part  []byte // a line that has not ended
	out   []byte
	ended bool
	err   error
}

var errLongLine = errors.New("a line of the answer is too long")

func (s *translatedStream) Read(buf []byte) (int, error) {
	in := make([]byte, 16<<10)
	for len(s.out) == 0 && s.err == nil {
		n, err := s.ReadCloser.Read(in)
		s.feed(in[:n])
		if s.err == nil {
			s.err = err
		}
		if errors.Is(s.err, io.EOF) {
			s.feed([]byte("\n"))
			if !s.ended {
				s.err = io.ErrUnexpectedEOF // the client must not take it for complete
			}
		}
	}
	n := copy(buf, s.out)
	s.out = s.out[n:]
	if len(s.out) == 0 && n == 0 {
		return 0, s.err
	}
	return n, nil
}

func (s *translatedStream) feed(piece []byte) {
	for {
		before, after, ok := bytes.Cut(piece, []byte{'\n'})
		if !ok {
			break
		}
		line := append(s.part, before...)
		s.part, piece = s.part[:0], after
		s.readLine(bytes.TrimSpace(line))
	}
	if s.part = append(s.part, piece...); len(s.part) > maxLine && s.err == nil {
		s.err = errLongLine
	}
}

func (s *translatedStream) readLine(line []byte) {
	var l ollamaLine
	if s.ended || len(line) == 0 || json.Unmarshal(line, &l) != nil {
		return
	}
	if l.Error != "" {
		s.out, s.ended = append(s.out, s.to.failure(l.Error)...), true
		return
	}
	s.out, s.ended = append(s.out, s.to.line(l)...), l.Done
}
