// Command make writes the fixtures of the Go SDKs: histories with objects that an
// SDK returned, dumped with json.Marshal.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	ollama "github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

type session struct {
	System, User, Say string
	Calls             []struct {
		ID, Name string
		Args     map[string]any
		Result   string
	}
	Custom struct{ ID, Name, Input, Result string }
	Answer string
	Next   []string
}

var (
	root = os.Args[1] // the folder with session.json
	s    session
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func write(name string, value any) {
	var out bytes.Buffer
	raw := must(json.Marshal(value)) // as a program would
	if err := json.Indent(&out, raw, "", " "); err != nil {
		log.Fatal(err)
	}
	out.WriteByte('\n')
	if err := os.WriteFile(filepath.Join(root, name), out.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// answers is a transport that returns the recorded answers of an API, one after the
// other.
type answers struct {
	stem string
	n    int
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.n++
	raw := must(os.ReadFile(filepath.Join(root, "api", fmt.Sprintf("%s-%d.json", a.stem, a.n))))
	var line bytes.Buffer // Ollama answers in lines
	if err := json.Compact(&line, raw); err != nil {
		return nil, err
	}
	raw = append(line.Bytes(), '\n')
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(bytes.NewReader(raw)), Request: r}, nil
}

func client(stem string) *http.Client { return &http.Client{Transport: &answers{stem: stem}} }

func main() {
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(root, "session.json"))), &s); err != nil {
		log.Fatal(err)
	}
	openAIChat("openai-go-message", func(m openai.ChatCompletionMessage) any { return m })
	openAIChat("openai-go-param", func(m openai.ChatCompletionMessage) any { return m.ToParam() })
	openAIChat("openai-go-calls", rebuilt)
	openAIResponses()
	anthropicMessages("anthropic-go-message", func(m *anthropic.Message) any { return m })
	anthropicMessages("anthropic-go-param", func(m *anthropic.Message) any { return m.ToParam() })
	ollamaChat()
	gemini()
}

// rebuilt is a message of a program that copies the parts of the SDK's own message:
// marshalled one by one, unions write all of their variants.
func rebuilt(m openai.ChatCompletionMessage) any {
	type call struct {
		ID       string                                               `json:"id"`
		Function openai.ChatCompletionMessageFunctionToolCallFunction `json:"function"`
		Custom   openai.ChatCompletionMessageCustomToolCallCustom     `json:"custom"`
		Type     string                                               `json:"type"`
	}
	out := map[string]any{"role": m.Role, "content": m.Content}
	var calls []call
	for _, c := range m.ToolCalls {
		calls = append(calls, call{c.ID, c.Function, c.Custom, c.Type})
	}
	if calls != nil {
		out["tool_calls"] = calls
	}
	return out
}

func openAIChat(name string, dump func(openai.ChatCompletionMessage) any) {
	c := openai.NewClient(option.WithAPIKey("none"), option.WithHTTPClient(client("openai-chat")))
	history := []any{openai.SystemMessage(s.System), openai.UserMessage(s.User)}
	for n := 1; n <= 3; n++ {
		answer := must(c.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{Model: "gpt-5-mini"}))
		history = append(history, dump(answer.Choices[0].Message))
		switch n {
		case 1:
			for _, call := range s.Calls {
				history = append(history, openai.ToolMessage(call.Result, call.ID))
			}
		case 2:
			history = append(history, openai.ToolMessage(s.Custom.Result, s.Custom.ID))
		}
	}
	for i, text := range s.Next {
		if i%2 == 0 {
			history = append(history, openai.UserMessage(text))
		} else {
			history = append(history, openai.AssistantMessage(text))
		}
	}
	write(name+".json", history)
}

func openAIResponses() {
	c := openai.NewClient(option.WithAPIKey("none"), option.WithHTTPClient(client("openai-responses")))
	history := []any{responses.ResponseInputItemParamOfMessage(s.User, "user")}
	for n := 1; n <= 3; n++ {
		answer := must(c.Responses.New(context.Background(), responses.ResponseNewParams{Model: "gpt-5-mini"}))
		for _, item := range answer.Output {
			history = append(history, item)
		}
		switch n {
		case 1:
			for _, call := range s.Calls {
				output := responses.ResponseInputItemParamOfFunctionCallOutput(call.Result)
				output.OfFunctionCallOutput.CallID = openai.String(call.ID)
				history = append(history, output)
			}
		case 2:
			history = append(history, responses.ResponseInputItemParamOfCustomToolCallOutput(s.Custom.ID, s.Custom.Result))
		}
	}
	for i, text := range s.Next {
		history = append(history, responses.ResponseInputItemParamOfMessage(text, []responses.EasyInputMessageRole{"user", "assistant"}[i%2]))
	}
	write("openai-go-responses.json", map[string]any{"model": "gpt-5-mini", "instructions": s.System, "input": history})
}

func anthropicMessages(name string, dump func(*anthropic.Message) any) {
	c := anthropic.NewClient(anthropicoption.WithAPIKey("none"), anthropicoption.WithHTTPClient(client("anthropic")))
	history := []any{anthropic.NewUserMessage(anthropic.NewTextBlock(s.User))}
	for n := 1; n <= 2; n++ {
		answer := must(c.Messages.New(context.Background(), anthropic.MessageNewParams{Model: "claude-x", MaxTokens: 1024}))
		history = append(history, dump(answer))
		if n == 1 {
			var results []anthropic.ContentBlockParamUnion
			for _, call := range s.Calls {
				results = append(results, anthropic.NewToolResultBlock(call.ID, call.Result, false))
			}
			history = append(history, anthropic.NewUserMessage(results...))
		}
	}
	for i, text := range s.Next {
		if i%2 == 0 {
			history = append(history, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
		} else {
			history = append(history, anthropic.NewAssistantMessage(anthropic.NewTextBlock(text)))
		}
	}
	write(name+".json", map[string]any{"model": "claude-x", "max_tokens": 1024, "system": s.System, "messages": history})
}

func ollamaChat() {
	c := ollama.NewClient(must(url.Parse("http://localhost:1")), client("ollama"))
	history := []ollama.Message{{Role: "system", Content: s.System}, {Role: "user", Content: s.User}}
	stream := false
	for n := 1; n <= 2; n++ {
		keep := func(r ollama.ChatResponse) error { history = append(history, r.Message); return nil }
		if err := c.Chat(context.Background(), &ollama.ChatRequest{Model: "qwen3:8b", Stream: &stream}, keep); err != nil {
			log.Fatal(err)
		}
		if n == 1 {
			for _, call := range s.Calls {
				history = append(history, ollama.Message{Role: "tool", ToolName: call.Name, Content: call.Result})
			}
		}
	}
	for i, text := range s.Next {
		history = append(history, ollama.Message{Role: []string{"user", "assistant"}[i%2], Content: text})
	}
	write("ollama-go.json", history)
}

func gemini() {
	c := must(genai.NewClient(context.Background(), &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPClient: client("gemini")}))
	contents := []*genai.Content{genai.NewContentFromText(s.User, genai.RoleUser)}
	for n := 1; n <= 2; n++ {
		answer := must(c.Models.GenerateContent(context.Background(), "gemini-2.5-flash", contents, nil))
		contents = append(contents, answer.Candidates[0].Content)
		if n == 1 {
			var parts []*genai.Part
			for _, call := range s.Calls {
				parts = append(parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"result": call.Result}}})
			}
			contents = append(contents, genai.NewContentFromParts(parts, genai.RoleUser))
		}
	}
	for i, text := range s.Next {
		contents = append(contents, genai.NewContentFromText(text, []genai.Role{genai.RoleUser, genai.RoleModel}[i%2]))
	}
	write("gemini-go.json", map[string]any{"contents": contents, "systemInstruction": genai.NewContentFromText(s.System, genai.RoleUser)})
}
