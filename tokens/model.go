package tokens

import (
	"strings"

	"github.com/pkoukk/tiktoken-go"
)

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
	llama3       = modelFamily{CL100K, 100, localFrame}
	qwen         = modelFamily{CL100K, 107, localFrame}
	gemma        = modelFamily{CL100K, 125, localFrame}
	anotherLocal = modelFamily{CL100K, 115, localFrame}
)

// newer holds the encodings of OpenAI's models that tiktoken-go's table lacks.
var newer = map[string]string{
	"gpt-3.5":      CL100K,
	"gpt-35-turbo": CL100K,
	"davinci-002":  CL100K,
	"babbage-002":  CL100K,
	"gpt-5":        O200K,
	"gpt-oss":      O200K,
	"chatgpt-4o":   O200K,
	"o1":           O200K,
	"o3":           O200K,
	"o4":           O200K,
	"codex-mini":   O200K,
}

// familyOf returns the family of a model by its name, without the part up to
// the last slash (a registry, an owner).
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
		encoding := newer[name]
		if encoding == "" {
			encoding = tiktoken.MODEL_TO_ENCODING[name]
		}
		if encoding != "" {
			return modelFamily{encoding, 100, openAIFrame}, true
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
