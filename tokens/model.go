package tokens

import "strings"

// A modelFamily gives the rules by which a kind of model is counted.
type modelFamily struct {
	encoding string
	percent  int // real tokens for each hundred counted ones
	frame    int // tokens around each message
}

const (
	// openAIFrame is OpenAI's rule for chat models: three tokens a message and
	// one for the role (openai-cookbook, "How to count tokens with tiktoken").
	openAIFrame = 4
	// localFrame is the number of tokens that the chat templates of Llama 3, ChatML
	// (Qwen) and Gemma add to a message: opening mark, role, line feed or mark,
	// closing mark and what follows it. Measured on Ollama for Llama 3.
	localFrame = 5
)

// The factors of local families against cl100k_base: Llama 3 is cl100k_base with
// further tokens, Qwen cuts numbers into digits, Gemma has a vocabulary of its own
// and needs most for code. Factors are those of source code, which are the highest.
var (
	unnamed      = modelFamily{CL100K, 100, localFrame}
	openAICL100K = modelFamily{CL100K, 100, openAIFrame}
	openAIO200K  = modelFamily{O200K, 100, openAIFrame}
	llama3       = modelFamily{CL100K, 100, localFrame}
	qwen         = modelFamily{CL100K, 107, localFrame}
	gemma        = modelFamily{CL100K, 125, localFrame}
	anotherLocal = modelFamily{CL100K, 115, localFrame}
)

// openAI holds the encodings of OpenAI's models: those in tiktoken-go's table with
// a supported encoding, and newer models.
var openAI = map[string]modelFamily{
	"gpt-4.5":                openAIO200K,
	"gpt-4.1":                openAIO200K,
	"gpt-4o":                 openAIO200K,
	"gpt-4":                  openAICL100K,
	"gpt-3.5-turbo":          openAICL100K,
	"text-embedding-ada-002": openAICL100K,
	"text-embedding-3-large": openAICL100K,
	"text-embedding-3-small": openAICL100K,

	"gpt-3.5":      openAICL100K,
	"gpt-35-turbo": openAICL100K,
	"gpt-5":        openAIO200K,
	"gpt-oss":      openAIO200K,
	"chatgpt-4o":   openAIO200K,
	"o1":           openAIO200K,
	"o3":           openAIO200K,
	"o4":           openAIO200K,
	"codex-mini":   openAIO200K,
}

// familyOf returns the family of a model by its name, without the part up to the
// last slash (a registry, an owner). OpenAI's retired models with other encodings
// count as local ones.
func familyOf(model string) modelFamily {
	name := strings.ToLower(strings.TrimSpace(model))
	name = name[strings.LastIndexByte(name, '/')+1:]
	if name == "" {
		return unnamed
	}
	if f, ok := openAIFamily(name); ok {
		return f
	}
	switch {
	case isLlama3(name):
		return llama3
	case strings.Contains(name, "qwen"), strings.HasPrefix(name, "qwq"):
		return qwen
	case strings.Contains(name, "gemma"):
		return gemma
	}
	return anotherLocal
}

// openAIFamily looks up name, and its prefix before each separator from the last
// on: gpt-4o-mini-2024-07-18, gpt-4o-mini-2024-07, …, gpt-4o. The separators are
// those of versions (-), fine-tunes and tags (:).
func openAIFamily(name string) (modelFamily, bool) {
	name = strings.TrimPrefix(name, "ft:")
	for {
		if f, ok := openAI[name]; ok {
			return f, true
		}
		end := strings.LastIndexAny(name, "-:.")
		if end < 0 {
			return modelFamily{}, false
		}
		name = name[:end]
	}
}

// isLlama3 reports whether name contains llama3, llama-3 or llama_3, not followed
// by another digit (llama-30b is of the first generation).
func isLlama3(name string) bool {
	for _, mark := range [...]string{"llama3", "llama-3", "llama_3"} {
		if _, after, found := strings.Cut(name, mark); found {
			return after == "" || after[0] < '0' || after[0] > '9'
		}
	}
	return false
}
