package tokens

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
)

// callFrame is the number of tokens that chat templates add to the name and the
// arguments of a tool call: Llama 3 8, Qwen 12 (its marks are single tokens).
const callFrame = 12

// encryptedBytes are the bytes per token of a server's result, beside its text:
// base64 of an encrypted text. The model reads the text.
const encryptedBytes = 5

// A Counter counts for one model. It is immutable and safe for concurrent use.
type Counter struct {
	count    func(string) int // already by the model's factor
	raw      *Encoding        // counts without the factor
	percent  int              // the factor, in hundredths
	encoding string
	frame    int
}

// ForModel returns the counter for a model by its name. An empty name counts as
// cl100k_base does. OpenAI's models count by their encoding, local ones as
// cl100k_base by a factor: Llama 3 by 1.00, Qwen by 1.07, Gemma by 1.25, any other
// name by 1.15.
func ForModel(model string) (*Counter, error) {
	f := familyOf(model)
	e, err := Load(f.encoding)
	if err != nil {
		return nil, fmt.Errorf("count for model %q: %w", model, err)
	}
	c := &Counter{raw: e, percent: f.percent, encoding: f.encoding, frame: f.frame}
	c.count = func(text string) int { return c.scaledCount(e.Count(text)) }
	return c, nil
}

// scaledCount returns a number of tokens by the model's factor, rounded up.
func (c *Counter) scaledCount(tokens int) int { return (tokens*c.percent + 99) / 100 }

// With returns a counter that counts text by count, and everything else as c does.
func (c *Counter) With(count func(string) int) *Counter {
	with := *c
	with.count = count
	return &with
}

// Describe returns the encoding and the factor of c.
func (c *Counter) Describe() (encoding string, factor float64) {
	return c.encoding, float64(c.percent) / 100
}

// Text returns the tokens of text, rounded up.
func (c *Counter) Text(text string) int { return c.count(text) }

// Message returns the tokens of m, with those of the chat template: 4 for OpenAI's
// models, 5 for others, and 12 for each tool call beside its name and arguments.
// Images count by their size, see [ImageTokens].
func (c *Counter) Message(m chat.Message) int {
	n := c.frame
	for i := range m.Parts {
		n += c.countPart(&m.Parts[i])
	}
	return n
}

func (c *Counter) countPart(p *chat.Part) int {
	switch p.Kind {
	case chat.Call, chat.ServerCall:
		return callFrame + c.count(p.Name) + c.count(p.Args)
	case chat.ServerResult:
		return c.count(p.Text) + max(0, len(p.Raw)-len(p.Text))/encryptedBytes
	case chat.Image:
		return ImageTokens(p.Image)
	}
	n := c.count(p.Text)
	if p.Name != "" {
		n += c.count(p.Name)
	}
	if p.Image != nil {
		n += ImageTokens(p.Image)
	}
	return n
}

// Tools returns the tokens of tool schemas, given as JSON text. They count without
// white space between values, as servers write them. None, null and an empty list
// are 0.
func (c *Counter) Tools(raw []byte) int {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err == nil {
		raw = b.Bytes()
	}
	switch text := string(raw); text {
	case "", "null", "[]", "{}":
		return 0
	default:
		return c.count(text)
	}
}
