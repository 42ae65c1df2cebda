package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tiercompact/tiercompact"
)

// recallName is the name of the tool that the proxy adds and answers.
const recallName = "recall"

const (
	maxRecalls     = 4   // for one request of the client; then the model has to go on
	maxFollowUps   = 6   // then the answer is cut
	maxRecallError = 400 // bytes of the upstream's error in a log
)

// withRecallTool returns a body with the tool recall at the end of its tools, or the
// body itself if it has no tools, or one of that name.
func withRecallTool(a *api, body []byte) ([]byte, bool) {
	members, err := topMembers(body, "tools", "previous_response_id", "conversation")
	tools := members["tools"]
	if err != nil || len(tools) == 0 || tools[0] != '[' || a.format == responsesFormat && serverHolds(members) != "" {
		return body, false
	}
	var list []struct {
		Name     string
		Function struct{ Name string }
	}
	if json.Unmarshal(tools, &list) != nil || len(list) == 0 {
		return body, false
	}
	for _, t := range list {
		if t.Name == recallName || t.Function.Name == recallName {
			return body, false
		}
	}
	tool := tiercompact.RecallTool().OpenAI()
	switch a.format {
	case "anthropic":
		tool = tiercompact.RecallTool().Anthropic()
	case "ollama":
		tool = tiercompact.RecallTool().Ollama()
	case responsesFormat:
		tool = tiercompact.RecallTool().Responses()
	}
	return insertAtEnd(body, tools, string(tool)), true
}

// insertAtEnd returns body with an element at the end of list, which is a part of it
// and not empty.
func insertAtEnd(body, list []byte, element string) []byte {
	end := cap(body) - cap(list) + len(list) - 1 // the bracket
	head := bytes.TrimRight(body[:end], " \t\r\n")
	out := make([]byte, 0, len(body)+len(element)+1)
	out = append(append(out, head...), ',')
	return append(append(out, element...), body[end:]...)
}

// A recallCall is a call of a tool in an answer.
type recallCall struct{ id, name, args string }

// A recallReader reads the events of an answer of one API. It passes them on until a
// tool is called; what follows is held until the answer has ended.
type recallReader interface {
	// read returns what goes to the client now.
	read(event []byte) []byte
	// called returns the calls of the answer.
	called() []recallCall
	// release returns what was held, if recall was not called.
	release() []byte
	// follow returns the messages that continue the conversation, and prepares for the
	// answer to them. Other calls are dropped: the model makes them again.
	follow(calls []recallCall, results []string) string
}

// A recallBody is an answer to a request with the tool recall. If the model calls it,
// the proxy answers the call, and the client gets the answer to that.
type recallBody struct {
	io.ReadCloser
	reader recallReader
	split  func(data []byte, last bool) int // the length of the first event, 0: it has not ended
	again  func(messages string) (io.ReadCloser, error)
	recall func(args string) string
	times  int
	part   []byte
	out    []byte
	err    error
}

func (b *recallBody) Read(buf []byte) (int, error) {
	in := make([]byte, 16<<10)
	for len(b.out) == 0 && b.err == nil {
		n, err := b.ReadCloser.Read(in)
		b.part = append(b.part, in[:n]...)
		b.readEvents(err == io.EOF)
		switch {
		case err == io.EOF:
			b.err = b.goOn()
		case err != nil:
			b.err = err
		case len(b.part) > maxAnswer:
			b.err = errLongLine
		}
	}
	n := copy(buf, b.out)
	b.out = b.out[n:]
	if n == 0 {
		return 0, b.err
	}
	return n, nil
}

func (b *recallBody) readEvents(last bool) {
	start := 0
	for start < len(b.part) {
		n := b.split(b.part[start:], last)
		if n == 0 {
			break
		}
		b.out = append(b.out, b.reader.read(b.part[start:start+n])...)
		start += n
	}
	b.part = append(b.part[:0], b.part[start:]...)
}

// goOn ends the answer, or continues with the one to the results of recall.
func (b *recallBody) goOn() error {
	var calls []recallCall
	for _, c := range b.reader.called() {
		if c.name == recallName {
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 {
		b.out = append(b.out, b.reader.release()...)
		return io.EOF
	}
	if b.times++; b.times > maxFollowUps {
		return errors.New("the model calls recall over and over")
	}
	results := make([]string, len(calls))
	for i, c := range calls {
		results[i] = "No more calls of recall for this request; go on with what you have."
		if b.times <= maxRecalls {
			results[i] = b.recall(c.args)
		}
	}
	next, err := b.again(b.reader.follow(calls, results))
	if err != nil {
		return err
	}
	_ = b.ReadCloser.Close()
	b.ReadCloser = next
	return nil
}

// lineEnd and eventEnd are the ends of NDJSON lines and of server-sent events;
// documentEnd is that of an answer that is not streamed.
func lineEnd(data []byte, last bool) int {
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		return n + 1
	}
	return documentEnd(data, last)
}

func eventEnd(data []byte, last bool) int {
	for i, c := range data {
		if c != '\n' {
			continue
		}
		if rest := bytes.TrimPrefix(data[i+1:], []byte("\r")); len(rest) > 0 && rest[0] == '\n' {
			return len(data) - len(rest) + 1
		}
	}
	return documentEnd(data, last)
}

func documentEnd(data []byte, last bool) int {
	if last {
		return len(data)
	}
	return 0
}

// recallAnswer watches an answer for calls of recall.
func (p *Proxy) recallAnswer(answer *http.Response, x *exchange) {
	answer.Header.Del("Content-Length")
	answer.ContentLength = -1
	b := &recallBody{ReadCloser: answer.Body, split: documentEnd}
	stream := false
	switch kind := answer.Header.Get("Content-Type"); {
	case strings.Contains(kind, "event-stream"):
		b.split, stream = eventEnd, true
	case strings.Contains(kind, "ndjson"):
		b.split, stream = lineEnd, true
	}
	switch {
	case x.native != nil || x.api.format == "ollama":
		b.reader = &ollamaRecall{stream: stream}
	case x.api.format == "anthropic":
		b.reader = &anthropicRecall{stream: stream}
	case x.api.format == responsesFormat:
		b.reader = &responsesRecall{stream: stream}
	default:
		b.reader = &openaiRecall{stream: stream}
	}
	ctx := answer.Request.Context()
	b.recall = func(args string) string {
		p.metrics.recalls.Add(1)
		return p.engine.recall(ctx, x.plan, args)
	}
	b.again = func(messages string) (io.ReadCloser, error) { return p.followUp(answer.Request, x, messages) }
	answer.Body = b
}

// followUp sends the request with more messages, and returns the body of the answer.
func (p *Proxy) followUp(r *http.Request, x *exchange, messages string) (io.ReadCloser, error) {
	name := x.api.list
	if x.native != nil {
		name = "messages"
	}
	members, err := topMembers(x.body, name)
	list := members[name]
	if err != nil || len(list) < 3 {
		return nil, errNotObject
	}
	if list[0] == '"' { // the only message, as a text
		x.body = []byte(withMember(string(x.body), name, `[{"role":"user","content":`+string(list)+`},`+messages+`]`))
	} else {
		x.body = insertAtEnd(x.body, list, messages)
	}
	again := r.Clone(r.Context())
	setBody(again, x.body)
	answer, err := p.send.RoundTrip(again)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxRecallError))
		_ = answer.Body.Close()
		p.warn(x.plan.session, "medium", "the upstream does not answer after a recall: "+p.engine.redacted(fmt.Errorf("%s", text)), "the client can send the request again")
		return nil, io.ErrUnexpectedEOF
	}
	body := &watchedBody{ReadCloser: answer.Body, idle: p.cfg.IdleWithin}
	body.start()
	return body, nil
}

// recall answers a call of the tool: from the archive of the conversation, or of the
// one that it began as.
func (e *engine) recall(ctx context.Context, p plan, args string) string {
	if p.model == nil {
		return "nothing was removed from this conversation yet; all of it is above"
	}
	text, err := p.model.compactor.HandleRecall(ctx, p.session, args)
	if err != nil && p.place.from != "" && p.place.from != p.session {
		if other, otherErr := p.model.compactor.HandleRecall(ctx, p.place.from, args); otherErr == nil {
			return other
		}
	}
	if err != nil {
		return e.redacted(err)
	}
	return text
}
