// Package recall finds removed messages again, by what they say. A search works on
// passages: a message, or a part of a long one. [Indexed] is a store that keeps an index
// of the passages of each session beside its archive, [IndexedStore.Search] ranks them
// as package embed ranks messages, and fills a number of tokens with the best,
// [Result.Text] prints them. The index holds no text, only hashes of words: it is made
// again from the archive if it is missing, damaged or does not fit it.
package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/chat"
)

// DefaultTokens is the number of tokens that an answer may have.
const DefaultTokens = 1000

// A Query describes a search. The zero value of a field does not restrict.
type Query struct {
	// Text is words, paths, recall ids; phrases in double quotes must occur verbatim.
	Text  string
	File  string    // path of a file, or its end
	Role  chat.Role // of the message
	Tool  string    // name of the tool that was called, in any case
	Since time.Time // removed at this time or later

	// Context is what the conversation is about now; of passages that match Text equally,
	// those that match it too are first.
	Context string

	Tokens     int              // maximum of the printed answer; 0: DefaultTokens
	Count      func(string) int // tokens of a text; nil: a token has 3 bytes
	Max        int              // of hits; 0: as many as fit
	Neighbours int              // messages before and after each hit

	// Embedder adds the comparison of meanings to that of words; nil: words alone.
	Embedder Embedder
	Within   time.Duration // limits the embedder; 0: no limit
}

// An Embedder computes vectors, as [embed.Embedder] does. If it has a method EmbedQuery,
// that computes the query's; a method IndexFolder names the folder where the passages'
// are kept.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// A Hit is a passage that a search found.
type Hit struct {
	Session string    `json:"session"`
	ID      string    `json:"id"`      // recall id
	Message int       `json:"message"` // its number in the session, from 1
	Role    chat.Role `json:"role"`
	Time    time.Time `json:"time"` // of the round that removed it
	Title   string    `json:"title"`
	Tool    string    `json:"tool,omitempty"`
	Args    string    `json:"args,omitempty"` // the argument that says most: a command, a pattern, a path
	File    string    `json:"file,omitempty"`
	Failed  bool      `json:"failed,omitempty"` // the tool reported an error
	Part    int       `json:"part"`             // from 1
	Parts   int       `json:"parts"`
	From    int       `json:"from_line"` // lines of the message; of a file, if it was read with numbers
	To      int       `json:"to_line"`
	Score   float64   `json:"score"`
	Text    string    `json:"text"`
	Cut     bool      `json:"cut,omitempty"` // Text is only some lines of the passage
	Matches []Line    `json:"matches"`       // the lines with most words of the query
	Before  []Hit     `json:"before,omitempty"`
	After   []Hit     `json:"after,omitempty"`

	msg   *message
	blank int // empty lines after Text
}

// A Line is a line of a message, or of the file that it shows.
type Line struct {
	Number int    `json:"line"`
	Text   string `json:"text"`
}

// A Result is what a search found, the best first.
type Result struct {
	Hits []Hit `json:"hits"`
	// Total is the number of passages that share a word with the query, or match its
	// filters.
	Total int `json:"total"`
	// Passages is the number of those that were searched.
	Passages int `json:"passages"`
	// Verbatim says that the hits have the phrases, paths or ids of the query as they
	// are in it.
	Verbatim bool `json:"verbatim"`
	// ByMeaning says that vectors were compared too; Failed why they were not, if an
	// embedder was given.
	ByMeaning bool  `json:"by_meaning"`
	Failed    error `json:"-"`
	// Damaged is why some removed text could not be searched.
	Damaged error `json:"-"`
}

// Tool describes the tool recall for a model.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of the arguments
}

// RecallTool returns the tool by which a model gets removed text back.
func RecallTool() Tool {
	return Tool{
		Name: "recall",
		Description: "Find text that was moved out of this conversation. Outlines, markers and summaries stand for removed messages; they show a recall id, such as \"recall 3f9a1c2e\". " +
			"Call recall before you read a file again, repeat a command, or guess what was said or decided earlier. " +
			"Give words that occur there (names, paths, an error, a \"phrase in quotes\"), or an id.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"text":{"type":"string","description":"words to search for; a path finds the file, a phrase in double quotes its exact text"},` +
			`"id":{"type":"string","description":"a recall id: lists the messages that it stands for"},` +
			`"message":{"type":"integer","description":"with id: the number of one message, to get it whole"},` +
			`"file":{"type":"string","description":"only text of this file"}}}`),
	}
}

// Prompt is the sentence about recall for a system prompt.
const Prompt = "Older parts of this conversation may be replaced by outlines, markers or a summary that show a recall id. Nothing is lost: the tool recall finds the removed text, by words or by that id."

// OpenAI returns the tool in the form of OpenAI's requests, an object of "tools".
func (t Tool) OpenAI() json.RawMessage {
	return marshalled(map[string]any{"type": "function", "function": map[string]any{"name": t.Name, "description": t.Description, "parameters": t.Parameters}})
}

// Responses returns the tool in the form of OpenAI's Responses API. No argument is
// required, which that API does not allow in a strict schema.
func (t Tool) Responses() json.RawMessage {
	return marshalled(map[string]any{"type": "function", "name": t.Name, "description": t.Description, "parameters": t.Parameters, "strict": false})
}

// Ollama returns the tool in the form of Ollama's requests, which is that of OpenAI.
func (t Tool) Ollama() json.RawMessage { return t.OpenAI() }

// Anthropic returns the tool in the form of Anthropic's requests.
func (t Tool) Anthropic() json.RawMessage {
	return marshalled(map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.Parameters})
}

func marshalled(x any) json.RawMessage {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err) // texts and a valid schema
	}
	return b
}

// Arguments are those of the tool.
type Arguments struct {
	Text    string `json:"text"`
	ID      string `json:"id"`
	Message int    `json:"message"`
	File    string `json:"file"`
}

const argumentsHelp = `recall takes an object such as {"text":"words to search for"} or {"id":"3f9a1c2e"}`

// ParseArguments reads the arguments of a call. Its errors say what is right.
func ParseArguments(args string) (Arguments, error) {
	var a Arguments
	var raw map[string]any
	if err := json.Unmarshal([]byte(args), &raw); err != nil || raw == nil {
		return a, fmt.Errorf("%s; these arguments are not a JSON object", argumentsHelp)
	}
	for _, key := range []string{"text", "id", "file"} {
		switch v := raw[key].(type) {
		case nil:
		case string:
			*map[string]*string{"text": &a.Text, "id": &a.ID, "file": &a.File}[key] = v
		default:
			return a, fmt.Errorf("%s; %q must be a string", argumentsHelp, key)
		}
	}
	switch v := raw["message"].(type) {
	case nil:
	case float64:
		a.Message = int(v)
	default:
		return a, fmt.Errorf("%s; \"message\" must be a number", argumentsHelp)
	}
	if a = a.trimmed(); a.Text == "" && a.ID == "" && a.File == "" {
		return a, fmt.Errorf("%s; it needs a text, an id or a file", argumentsHelp)
	}
	return a, nil
}

func (a Arguments) trimmed() Arguments {
	a.Text, a.ID, a.File = strings.TrimSpace(a.Text), strings.TrimSpace(a.ID), strings.TrimSpace(a.File)
	return a
}
