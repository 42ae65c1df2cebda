package ollama

import "strings"

const (
	ending = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	blanks = `|\s*[\r\n]+|\s+(?!\S)|\s+`
	symbol = `| ?[^\s\p{L}\p{N}]+[\r\n]*`
	word   = `|[^\r\n\p{L}\p{N}]?\p{L}+`
	high   = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	low    = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	first  = `[^\r\n\p{L}\p{N}]?`
	paths  = `| ?[^\s\p{L}\p{N}]+[\r\n/]*`

	llama3 = ending + word + `|\p{N}{1,3}` + symbol + blanks
	qwen2  = ending + word + `|\p{N}` + symbol + blanks
	gpt2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	smollm = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+` // like gpt2, after each digit was separated
	tekken = first + high + `*` + low + `+|` + first + high + `+` + low + `*|\p{N}` + paths + blanks
	gpt4o  = first + high + `*` + low + `+` + ending + `?|` + first + high + `+` + low + `*` + ending + `?|\p{N}{1,3}` + paths + blanks
)

// splits are the patterns that divide text into words before byte pairs are merged,
// by their names in GGUF files: those of the vocabularies' own tokenizers, in one
// expression each that matches everywhere.
var splits = keyedByName(map[string]string{
	llama3: "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral lfm2 glm4 chatglm-bpe smaug-bpe dbrx",
	qwen2:  "qwen2 deepseek-r1-qwen stablelm2 megrez hunyuan grok-2",
	gpt2:   "gpt-2 phi-2 mpt olmo jais exaone4 granite-docling",
	smollm: "smollm starcoder refact command-r codeshell exaone minerva-7b",
	tekken: "tekken",
	gpt4o:  "gpt-4o llama4",
})

// ownEngines are the architectures that Ollama 0.17 runs itself (fs/ggml/ggml.go),
// with its pattern for byte pairs (model/models); "": the pattern that the file
// names.
var ownEngines = keyedByName(map[string]string{
	qwen2:  "qwen25vl qwen3 qwen3moe qwen35 qwen35moe qwen3next qwen3vl qwen3vlmoe nemotron_h nemotron_h_moe",
	llama3: "mllama olmo3 glm4moelite glmocr",
	gpt4o:  "llama4 gptoss gpt-oss",
	tekken: "mistral3",
	gpt2:   "gemma3",
	"":     "bert nomic-bert gemma3n deepseek2 deepseekocr lfm2 lfm2moe",
})

// keyedByName returns the pattern of each name in lists of names.
func keyedByName(names map[string]string) map[string]string {
	m := make(map[string]string)
	for split, of := range names {
		for name := range strings.FieldsSeq(of) {
			m[name] = split
		}
	}
	return m
}
