package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/wire"
)

// An api is an endpoint whose requests hold a conversation.
type api struct {
	name   string // of the server's API: ollama, openai, anthropic
	path   string
	format string // of the body, in package wire
	list   string // the member with the messages
	counts bool   // it only counts
}

var apis = []*api{
	{name: "ollama", path: "/api/chat", format: "ollama", list: "messages"},
	{name: "openai", path: "/v1/chat/completions", format: "openai", list: "messages"},
	{name: "openai", path: "/v1/responses", format: responsesFormat, list: "input"},
	{name: "anthropic", path: "/v1/messages", format: "anthropic", list: "messages"},
	{name: "anthropic", path: "/v1/messages/count_tokens", format: "anthropic", list: "messages", counts: true},
}

// apiOf returns the endpoint of a request, nil for one that passes untouched.
func apiOf(r *http.Request) *api {
	if r.Method != http.MethodPost {
		return nil
	}
	for _, a := range apis {
		if r.URL.Path == a.path {
			return a
		}
	}
	return nil
}

// The proxy's headers. Those of a request never go upstream.
const (
	ownPrefix     = "X-Tiercompact-"
	sessionHeader = "X-Tiercompact-Session"
	modeHeader    = "X-Tiercompact-Mode" // off, or a level
	pinHeader     = "X-Tiercompact-Pin"  // indices of messages
	tokenHeader   = "X-Tiercompact-Token"

	levelHeader   = "X-Tiercompact-Level"
	beforeHeader  = "X-Tiercompact-Tokens-Before"
	afterHeader   = "X-Tiercompact-Tokens-After"
	plannedHeader = "X-Tiercompact-Planned"
	noticedHeader = "X-Tiercompact-Noticed"
	passedHeader  = "X-Tiercompact-Passed"
	retriedHeader = "X-Tiercompact-Retried"
	warningHeader = "X-Tiercompact-Warning"
)

// A request is one request in its read form.
type request struct {
	api     *api
	body    []byte
	doc     document
	session string // the client's name for the conversation; "": found by its messages
	level   levels.Name
	reserve int  // tokens that the answer may take
	window  int  // that the request sets (num_ctx); 0: none
	exact   bool // window is the model's, also if it is larger than the configured one
	off     bool // it goes on as it came
}

// A document is a request body with its messages.
type document interface {
	messages() chat.Transcript
	tools() []byte
	model() string
	// encode returns the body with other messages: unchanged ones keep their bytes.
	encode(chat.Transcript) ([]byte, error)
}

type wireDocument struct{ wire.Conversation }

func (d wireDocument) messages() chat.Transcript { return d.Messages }
func (d wireDocument) tools() []byte             { return d.Tools }
func (d wireDocument) model() string             { return d.Model }

func (d wireDocument) encode(t chat.Transcript) ([]byte, error) {
	var out bytes.Buffer
	d.Messages = t
	err := wire.Encode(&out, d.Conversation, "")
	return out.Bytes(), err
}

// parseRequest reads a body and the proxy's headers.
func parseRequest(a *api, body []byte, h http.Header) (*request, error) {
	r := &request{api: a, body: body}
	if err := r.readHeaders(h); err != nil {
		return nil, err
	}
	members, err := topMembers(body, a.list, "tools", "model", "system", "instructions", "options", "max_tokens", "max_completion_tokens", "max_output_tokens")
	if err != nil {
		return nil, err
	}
	if a.format == responsesFormat {
		members["input"] = members[a.list]
		r.doc, err = readResponses(body, members)
	} else {
		var c wire.Conversation
		c, err = wire.DecodeString(textOf(body), wire.Options{Format: a.format, Name: "the request"})
		r.doc = wireDocument{c}
	}
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		r.reserve = max(r.reserve, count(members[key]))
	}
	if raw := members["options"]; raw != nil {
		options, err := topMembers(raw, "num_predict", "num_ctx")
		if err == nil {
			r.reserve = max(r.reserve, count(options["num_predict"]))
			r.window = count(options["num_ctx"])
		}
	}
	if err := r.pin(h.Values(pinHeader)); err != nil {
		return nil, err
	}
	return r, nil
}

// textOf returns a body as text without a copy of it. A body is never changed.
func textOf(body []byte) string { return unsafe.String(unsafe.SliceData(body), len(body)) }

// maxSession is the maximum length of a client's name for a conversation.
const maxSession = 200

// setSession sets the client's name for the conversation.
func (r *request) setSession(name, from string) error {
	if len(name) > maxSession || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\uFFFD' }) {
		return fmt.Errorf("%s has over %d bytes, or bytes that no name has", from, maxSession)
	}
	r.session = name
	return nil
}

func (r *request) readHeaders(h http.Header) error {
	if err := r.setSession(h.Get(sessionHeader), "the header "+sessionHeader); err != nil {
		return err
	}
	switch mode := strings.ToLower(h.Get(modeHeader)); mode {
	case "", "auto":
	case "off":
		r.off = true
	default:
		level, err := levels.Parse(mode)
		if err != nil || level == levels.None {
			return fmt.Errorf("the header %s is %q; it takes off, auto, soft, hard or emergency", modeHeader, headerText(mode))
		}
		r.level = level
	}
	return nil
}

// pin protects the messages with the indices that the client lists.
func (r *request) pin(lists []string) error {
	t := r.doc.messages()
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			i, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || i < 0 || i >= len(t) {
				return fmt.Errorf("the header %s names message %q of %d; it takes indices from 0, separated by commas", pinHeader, headerText(word), len(t))
			}
			t[i].Protected = true
		}
	}
	return nil
}

// count returns a JSON number as a count, 0 for anything else.
func count(raw []byte) int {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 1 || n > 1<<30 {
		return 0
	}
	return int(n)
}

var errNotObject = errors.New("the body is not a JSON object")

// topMembers returns the values of members of an object, without those inside of
// values. A member that occurs twice is an error: servers differ in which one counts.
// It checks only what it needs; package wire checks the rest.
func topMembers(text []byte, names ...string) (map[string][]byte, error) {
	found := make(map[string][]byte)
	i := skipBlanks(text, 0)
	if i >= len(text) || text[i] != '{' {
		return nil, errNotObject
	}
	for i = skipBlanks(text, i+1); i < len(text) && text[i] != '}'; {
		start := i
		if i = skipString(text, i); i < 0 {
			return nil, errNotObject
		}
		var key string
		if err := json.Unmarshal(text[start:i], &key); err != nil {
			return nil, errNotObject
		}
		if i = skipBlanks(text, i); i >= len(text) || text[i] != ':' {
			return nil, errNotObject
		}
		start = skipBlanks(text, i+1)
		if i = skipValue(text, start); i < 0 {
			return nil, errNotObject
		}
		for _, name := range names {
			if strings.EqualFold(key, name) { // some servers ignore the case
				if _, twice := found[name]; twice {
					return nil, fmt.Errorf("the body has %q twice", name)
				}
				found[name] = text[start:i]
			}
		}
		if i = skipBlanks(text, i); i < len(text) && text[i] == ',' {
			i = skipBlanks(text, i+1)
		}
	}
	return found, nil
}

func skipBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string at i, -1 if there is none.
func skipString(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	for i++; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return -1
}

// skipValue returns the index after the value at i, -1 if it does not end.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i = skipString(text, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
			i++
		default:
			i++
			if depth == 0 {
				continue
			}
		}
		if depth == 0 {
			if c := text[i-1]; c == '"' || c == '}' || c == ']' {
				return i
			}
		}
	}
	if depth > 0 {
		return -1
	}
	return i
}
