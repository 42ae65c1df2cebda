package tokens

import "strings"

// A family is how a kind of model is counted.
type family struct {
	encoding string
	percent  int // real tokens for each hundred counted ones
	frame    int // tokens around each message
}

const (
	// openAIFrame is OpenAI's rule for chat models: three tokens a message and
	// one for the role (openai-cookbook, "How to count tokens with tiktoken").
	openAIFrame = 4
	// localFrame is what the chat templates of Llama 3, ChatML (Qwen) and
	// Gemma put around a message: opening mark, role, line feed or mark,
	// closing mark and what follows it. Measured on Ollama for Llama 3.
	localFrame = 5
)

// The factors of local families against cl100k_base: Llama 3 is cl100k_base
// with further tokens, Qwen cuts numbers into digits, Gemma has a vocabulary of
// its own and needs most for code. Factors are for source code, where they are
// highest.
var (
	unnamed      = family{CL100K, 100, localFrame}
	openAICL100K = family{CL100K, 100, openAIFrame}
	openAIO200K  = family{O200K, 100, openAIFrame}
	llama3       = family{CL100K, 100, localFrame}
	qwen         = family{CL100K, 107, localFrame}
	gemma        = family{CL100K, 125, localFrame}
	anotherLocal = family{CL100K, 115, localFrame}
)

// familyOf returns the family of a model by its name.
func familyOf(model string) family {
	name := strings.ToLower(strings.TrimSpace(model))
	switch {
	case name == "":
		return unnamed
	case strings.HasPrefix(name, "gpt-4o"):
		return openAIO200K
	case strings.HasPrefix(name, "gpt-"):
		return openAICL100K
	case strings.Contains(name, "llama3"):
		return llama3
	case strings.Contains(name, "qwen"):
		return qwen
	case strings.Contains(name, "gemma"):
		return gemma
	}
	return anotherLocal
}
