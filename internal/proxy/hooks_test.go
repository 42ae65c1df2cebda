package proxy_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestTheHooksKeepSessionsInTheWindow runs the hooks of examples/hooks in the real
// SDKs, and other SDKs as plain clients of the proxy: set SDK_MODULES to the folder of
// the npm packages @openai/agents, ai and @ai-sdk/openai-compatible, and SDK_PYTHON to a
// Python with openai-agents, langchain and langchain-openai.
func TestTheHooksKeepSessionsInTheWindow(t *testing.T) {
	python := os.Getenv("SDK_PYTHON")
	if os.Getenv("SDK_MODULES") == "" || python == "" {
		t.Skip("SDK_MODULES and SDK_PYTHON name no SDKs")
	}
	hooks, err := filepath.Abs(filepath.Join("..", "..", "examples", "hooks"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		command []string
		hook    bool
	}{
		"Agents SDK, Python":     {[]string{python, "testdata/hooks/run_agents.py"}, true},
		"Agents SDK, JavaScript": {[]string{"node", "testdata/hooks/run_agents.mjs"}, true},
		"LangChain":              {[]string{python, "testdata/hooks/run_langchain.py"}, true},
		"LangChain, plain":       {[]string{python, "testdata/hooks/run_langchain.py"}, false},
		"the AI SDK, plain":      {[]string{"node", "testdata/hooks/run_aisdk.mjs"}, false},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, 4000, nil)
			s.answer = sdkTextAnswer(t)
			args := append(c.command[1:], s.Server.URL, "plain")
			if c.hook {
				args = append(c.command[1:], s.upstream.URL)
			}
			run := exec.Command(c.command[0], args...)
			run.Env = append(os.Environ(), "HOOKS="+hooks, "TIERCOMPACT_URL="+s.Server.URL, "PYTHONDONTWRITEBYTECODE=1")
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if n := len(s.received()); n != 24 {
				t.Errorf("%d requests", n)
			}
			checkSizes(t, s)
			for i, body := range s.received() {
				if orphans := orphansIn(t, body); len(orphans) > 0 {
					t.Errorf("request %d: calls without a result, or results without a call: %v", i, orphans)
				}
			}
		})
	}
}

// orphansIn returns the ids that only a call or only a result has.
func orphansIn(t *testing.T, body []byte) []string {
	type item struct {
		Type       string
		CallID     string                `json:"call_id"`
		ToolCallID string                `json:"tool_call_id"`
		ToolCalls  []struct{ ID string } `json:"tool_calls"`
	}
	var q struct{ Input, Messages []item }
	if err := json.Unmarshal(body, &q); err != nil {
		t.Fatal(err)
	}
	ends := make(map[string]int) // 1: a call, 2: a result
	for _, i := range append(q.Input, q.Messages...) {
		switch i.Type {
		case "function_call":
			ends[i.CallID] |= 1
		case "function_call_output":
			ends[i.CallID] |= 2
		}
		for _, c := range i.ToolCalls {
			ends[c.ID] |= 1
		}
		if i.ToolCallID != "" {
			ends[i.ToolCallID] |= 2
		}
	}
	maps.DeleteFunc(ends, func(_ string, n int) bool { return n == 3 })
	return slices.Sorted(maps.Keys(ends))
}
