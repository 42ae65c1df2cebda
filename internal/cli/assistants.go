package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// An assistant is a client of the proxy, with the configuration that it needs. ADDRESS
// in its text is the proxy's URL.
type assistant struct{ name, text string }

// assistants lists the clients of docs/ASSISTANTS.md.
func assistants() []assistant {
	return []assistant{
		{"aider", "# in the shell\nexport OLLAMA_API_BASE=ADDRESS\naider --model ollama_chat/MODEL\n"},
		{"claude-code", "# in the shell\nexport ANTHROPIC_BASE_URL=ADDRESS\nexport ANTHROPIC_AUTH_TOKEN=local\nclaude --model MODEL\n"},
		{"cline", "# Cline, settings: API Provider \"Ollama\"\nBase URL: ADDRESS\nModel: MODEL\n"},
		{"codex", "# ~/.codex/config.toml\nmodel = \"MODEL\"\nmodel_provider = \"tiercompact\"\n\n[model_providers.tiercompact]\nname = \"tiercompact\"\nbase_url = \"ADDRESS/v1\"\nwire_api = \"responses\"\n"},
		{"continue", "# ~/.continue/config.yaml\nname: local\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: MODEL\n    provider: ollama\n    model: MODEL\n    apiBase: ADDRESS\n"},
		{"crush", "{\n  \"$schema\": \"https://charm.land/crush.json\",\n  \"providers\": {\n    \"tiercompact\": {\n      \"name\": \"tiercompact\",\n      \"type\": \"openai-compat\",\n      \"base_url\": \"ADDRESS/v1/\",\n      \"api_key\": \"local\",\n      \"models\": [{ \"id\": \"MODEL\", \"name\": \"MODEL\", \"context_window\": 131072, \"default_max_tokens\": 4096 }]\n    }\n  }\n}\n"},
		{"ollama", "# in the shell\nexport OLLAMA_HOST=ADDRESS\nollama run MODEL\n"},
		{"open-webui", "# in the environment of Open WebUI\nOLLAMA_BASE_URL=ADDRESS\n"},
		{"opencode", "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"provider\": {\n    \"tiercompact\": {\n      \"npm\": \"@ai-sdk/openai-compatible\",\n      \"name\": \"tiercompact\",\n      \"options\": { \"baseURL\": \"ADDRESS/v1\" },\n      \"models\": { \"MODEL\": { \"name\": \"MODEL\" } }\n    }\n  }\n}\n"},
		{"qwen-code", "# in the shell\nexport OPENAI_BASE_URL=ADDRESS/v1\nexport OPENAI_API_KEY=local\nexport OPENAI_MODEL=MODEL\nqwen\n"},
	}
}

func assistantNames() (names []string) {
	for _, a := range assistants() {
		names = append(names, a.name)
	}
	return names
}

// printAssistant prints what an assistant needs to call the proxy at an address.
func printAssistant(w io.Writer, name, address string) error {
	all := assistants()
	i := slices.IndexFunc(all, func(a assistant) bool { return a.name == name })
	_, err := fmt.Fprint(w, strings.ReplaceAll(all[i].text, "ADDRESS", "http://"+address))
	return err
}
