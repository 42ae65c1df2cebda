package proxy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/wire"
)

// nativePath is the endpoint of Ollama to which requests of other APIs are translated.
// /v1 accepts no num_ctx and no truncate: it drops messages silently.
const nativePath = "/api/chat"

// A translation is a request of OpenAI's or Anthropic's API as it goes to Ollama's own.
type translation struct {
	api    string
	model  string
	id     string // of the answer; made from the request, so that it is the same for the same request
	stream bool
	usage  bool // the stream ends with a count
	think  bool // the request asks for thinking
	prompt int  // estimated tokens, for the first event of a stream
}

// A nativeSettings holds what /v1 cannot set.
type nativeSettings struct {
	window    int // num_ctx; 0: the server's
	keepAlive time.Duration
	noThink   bool // the model has refused to think
}

// translatable reports whether requests of an endpoint can go to /api/chat.
func (a *api) translatable() bool {
	return !a.counts && (a.format == "openai" || a.format == "anthropic")
}

// A clientRequest holds the members of a body of OpenAI or Anthropic that have an
// equivalent in Ollama, beside messages, tools and model.
type clientRequest struct {
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Temperature      json.RawMessage `json:"temperature"`
	TopP             json.RawMessage `json:"top_p"`
	TopK             json.RawMessage `json:"top_k"`
	MinP             json.RawMessage `json:"min_p"`
	Seed             json.RawMessage `json:"seed"`
	FrequencyPenalty json.RawMessage `json:"frequency_penalty"`
	PresencePenalty  json.RawMessage `json:"presence_penalty"`
	Stop             json.RawMessage `json:"stop"`
	StopSequences    json.RawMessage `json:"stop_sequences"`
	MaxTokens        json.RawMessage `json:"max_tokens"`
	MaxCompletion    json.RawMessage `json:"max_completion_tokens"`
	ResponseFormat   struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	ReasoningEffort string `json:"reasoning_effort"`
	Reasoning       struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
	ToolChoice  json.RawMessage `json:"tool_choice"`
	Logprobs    json.RawMessage `json:"logprobs"`
	TopLogprobs json.RawMessage `json:"top_logprobs"`
}

// translate returns the body of a request for /api/chat. Sampling that the client does
// not set is the model's own.
func translate(a *api, body []byte, s nativeSettings) ([]byte, *translation, error) {
	var q clientRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, nil, fmt.Errorf("read the request: %w", err)
	}
	c, err := wire.DecodeBytes(body, wire.Options{Format: a.format, Name: "the request"})
	if err != nil {
		return nil, nil, err
	}
	if at := imageByAddress(c.Messages); at >= 0 {
		return nil, nil, fmt.Errorf("message %d has the address of an image; Ollama takes only images in base64", at)
	}
	if q.refusesTools() {
		c.Tools = nil
	}
	var out bytes.Buffer
	if err := wire.Encode(&out, c, "ollama"); err != nil {
		return nil, nil, fmt.Errorf("translate the request: %w", err)
	}
	text := bytes.TrimRight(out.Bytes(), " \n")
	if !bytes.HasSuffix(text, []byte("}")) {
		return nil, nil, errNotObject
	}
	sum := sha256.Sum256(body)
	t := &translation{
		api: a.name, model: c.Model, id: hex.EncodeToString(sum[:10]), stream: q.Stream,
		usage: q.StreamOptions.IncludeUsage, think: q.think() != "" && q.think() != "false",
	}
	return append(text[:len(text)-1], q.members(s)+"}"...), t, nil
}

// imageByAddress returns the first message with an image that is elsewhere, -1 for none.
func imageByAddress(t chat.Transcript) int {
	return slices.IndexFunc(t, func(m chat.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind == chat.Image && p.Image != nil && p.Image.Data == "" })
	})
}

// refusesTools reports whether the model must not call a tool.
func (q *clientRequest) refusesTools() bool {
	var kind struct{ Type string }
	_ = json.Unmarshal(q.ToolChoice, &kind)
	return jsonText(q.ToolChoice) == "none" || kind.Type == "none"
}

// members returns the members after messages and tools, each with a comma before it.
func (q *clientRequest) members(s nativeSettings) string {
	var out strings.Builder
	add := func(key, value string) {
		if value != "" && value != "null" {
			out.WriteString(`,"` + key + `":` + value)
		}
	}
	add("stream", strconv.FormatBool(q.Stream))
	add("truncate", "false")
	add("shift", "false")
	if s.keepAlive != 0 {
		add("keep_alive", quoted(s.keepAlive.String()))
	}
	if think := q.think(); !s.noThink {
		add("think", think)
	}
	switch q.ResponseFormat.Type {
	case "json_object":
		add("format", `"json"`)
	case "json_schema":
		add("format", string(q.ResponseFormat.JSONSchema.Schema))
	}
	if string(q.Logprobs) == "true" {
		add("logprobs", "true")
		add("top_logprobs", string(q.TopLogprobs))
	}
	add("options", q.options(s))
	return out.String()
}

// think returns Ollama's value, "" for what the model does by itself.
func (q *clientRequest) think() string {
	switch q.Thinking.Type {
	case "enabled", "adaptive":
		return "true"
	case "disabled":
		return "false"
	}
	switch effort := cmp.Or(q.Reasoning.Effort, q.ReasoningEffort); effort {
	case "none":
		return "false"
	case "minimal":
		return `"low"`
	case "low", "medium", "high":
		return quoted(effort)
	case "xhigh", "max":
		return `"high"`
	}
	return ""
}

func (q *clientRequest) options(s nativeSettings) string {
	var out []string
	add := func(key string, value []byte) {
		if len(value) > 0 && string(value) != "null" {
			out = append(out, `"`+key+`":`+string(value))
		}
	}
	if s.window > 0 {
		add("num_ctx", strconv.AppendInt(nil, int64(s.window), 10))
	}
	limit := q.MaxCompletion
	if len(limit) == 0 || string(limit) == "null" {
		limit = q.MaxTokens
	}
	if count(limit) > 0 { // 0 has another meaning there: no limit
		add("num_predict", limit)
	}
	add("temperature", q.Temperature)
	add("top_p", q.TopP)
	add("top_k", q.TopK)
	add("min_p", q.MinP)
	add("seed", q.Seed)
	add("frequency_penalty", q.FrequencyPenalty)
	add("presence_penalty", q.PresencePenalty)
	for _, stop := range [][]byte{q.Stop, q.StopSequences} {
		if bytes.HasPrefix(stop, []byte(`"`)) {
			stop = slices.Concat([]byte("["), stop, []byte("]"))
		}
		add("stop", stop)
	}
	return "{" + strings.Join(out, ",") + "}"
}

// translateBody translates the request of an exchange, if the proxy does that. It
// reports whether the request is to be forwarded.
func (p *Proxy) translateBody(w http.ResponseWriter, r *http.Request, x *exchange) bool {
	if !p.cfg.Native || x.body == nil || !x.api.translatable() || !json.Valid(x.body) {
		return true // of broken JSON, the server says what is wrong
	}
	body, t, err := translate(x.api, x.body, p.nativeSettings(r, x))
	if err != nil {
		p.metrics.refused.Add(1)
		(&refusal{http.StatusBadRequest, p.engine.redacted(err)}).write(w, x.api.name)
		return false
	}
	t.prompt = x.plan.report.Usage.Tokens
	x.native, x.source, x.body = t, x.body, body
	return true
}

// nativeSettings returns the settings of a request's model. num_ctx is always the
// configured window: another one would make Ollama load the model again.
func (p *Proxy) nativeSettings(r *http.Request, x *exchange) nativeSettings {
	s := nativeSettings{keepAlive: p.cfg.KeepAlive, noThink: x.noThink}
	members, err := topMembers(x.clientBody(), "model")
	if err == nil {
		if m, err := p.engine.models.get(r.Context(), jsonText(members["model"])); err == nil {
			s.window = m.cfg.Window
		}
	}
	return s
}

// clientBody returns the body in the client's API.
func (x *exchange) clientBody() []byte {
	if x.source != nil {
		return x.source
	}
	return x.body
}

// refusedToThink reports whether Ollama's error says that the model cannot think.
func refusedToThink(status int, text string) bool {
	return status == http.StatusBadRequest && strings.Contains(text, "does not support thinking")
}
