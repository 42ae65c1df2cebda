package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ollama/ollama/fs/ggml"
)

// llamaTemplate is the chat template of Llama 3.2. Because it mentions tools, the
// server allows them.
const llamaTemplate = `{{- range .Messages }}<|start_header_id|>{{ .Role }}<|end_header_id|>

{{ if and $.Tools (eq .Role "system") }}You may call these functions: {{ $.Tools }}
{{ end }}{{ .Content }}{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "parameters": {{ .Function.Arguments }}}{{ end }}<|eot_id|>
{{- end }}<|start_header_id|>assistant<|end_header_id|>

`

// A shape has the dimensions of a model.
type shape struct {
	blocks, width, heads, groups, inner, window uint64
}

// writeTiny writes a model with Llama 3.2's vocabulary, and one with BERT's, from
// the tokenizer file of another model.
func writeTiny(ctx context.Context, cache, tokenizer string) (llama, bert map[string]string, err error) {
	llama = map[string]string{"tinyllama.gguf": filepath.Join(cache, "tinyllama-1.gguf")}
	bert = map[string]string{"tinybert.gguf": filepath.Join(cache, "tinybert-1.gguf")}
	err = writeWholeFile(llama["tinyllama.gguf"], func(f *os.File) error {
		words, err := llamaVocabulary(ctx)
		if err != nil {
			return fmt.Errorf("read the vocabulary of Llama 3.2: %w", err)
		}
		return writeLlama(f, words, shape{blocks: 2, width: 64, heads: 4, groups: 2, inner: 128, window: 8192})
	})
	if err != nil {
		return nil, nil, err
	}
	err = writeWholeFile(bert["tinybert.gguf"], func(f *os.File) error {
		words, err := bertVocabulary(tokenizer)
		if err != nil {
			return fmt.Errorf("read the vocabulary of BERT: %w", err)
		}
		return writeBert(f, words, shape{blocks: 2, width: 64, heads: 4, inner: 128, window: 2048})
	})
	return llama, bert, err
}

// A vocabulary has the words of a model. The kinds are those of GGUF.
type vocabulary struct {
	words  []string
	kinds  []int32
	merges []string
}

const (
	normal  int32 = 1
	control int32 = 3
)

func (v *vocabulary) setToken(id int, word string, kind int32) error {
	if id < 0 || id >= len(v.words) {
		return fmt.Errorf("%q has the number %d, of %d", word, id, len(v.words))
	}
	v.words[id], v.kinds[id] = word, kind
	return nil
}

func newVocabulary(size int) vocabulary {
	return vocabulary{words: make([]string, size), kinds: make([]int32, size)}
}

const (
	llamaWords  = 128256
	beginOfText = 128000
	endOfTurn   = 128009
)

// llamaVocabulary reads the vocabulary in the sources of Ollama, which this module
// requires.
func llamaVocabulary(ctx context.Context) (vocabulary, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/ollama/ollama").Output()
	if err != nil {
		return vocabulary{}, fmt.Errorf("find the module, run go mod download in this repository: %w", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(out)), "tokenizer", "testdata", "llama3.2")
	v := newVocabulary(llamaWords)
	for i := beginOfText; i < llamaWords; i++ {
		v.words[i], v.kinds[i] = fmt.Sprintf("<|reserved_special_token_%d|>", i-beginOfText), control
	}
	for id, word := range map[int]string{
		beginOfText: "<|begin_of_text|>", 128001: "<|end_of_text|>", 128006: "<|start_header_id|>", 128007: "<|end_header_id|>", endOfTurn: "<|eot_id|>",
	} {
		v.words[id] = word
	}
	if err := v.numbered(filepath.Join(folder, "encoder.json")); err != nil {
		return v, err
	}
	b, err := os.ReadFile(filepath.Join(folder, "vocab.bpe"))
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "#") {
			v.merges = append(v.merges, lines.Text())
		}
	}
	return v, cmp.Or(err, lines.Err())
}

// numbered returns the words of a JSON object in the order of their numbers.
func (v *vocabulary) numbered(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var numbers map[string]int
	if err := json.Unmarshal(b, &numbers); err != nil {
		return err
	}
	for word, id := range numbers {
		if err := v.setToken(id, word, normal); err != nil {
			return err
		}
	}
	return nil
}

// bertVocabulary writes words as in GGUF: the mark is on words that begin, not on
// those that continue one.
func bertVocabulary(tokenizer string) (vocabulary, error) {
	b, err := os.ReadFile(tokenizer)
	if err != nil {
		return vocabulary{}, err
	}
	var file struct {
		Model struct{ Vocab map[string]int }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return vocabulary{}, err
	}
	v := newVocabulary(len(file.Model.Vocab))
	for word, id := range file.Model.Vocab {
		kind := normal
		rest, continues := strings.CutPrefix(word, "##")
		switch {
		case strings.HasPrefix(word, "[") && strings.HasSuffix(word, "]"):
			kind = control
		case continues:
			word = rest
		default:
			word = "\u2581" + word
		}
		if err := v.setToken(id, word, kind); err != nil {
			return v, err
		}
	}
	return v, nil
}

func writeLlama(f *os.File, v vocabulary, s shape) error {
	kv := ggml.KV{
		"general.architecture": "llama", "general.name": "tinyllama", "general.file_type": uint32(1),
		"llama.block_count": uint32(s.blocks), "llama.context_length": uint32(s.window), "llama.embedding_length": uint32(s.width),
		"llama.feed_forward_length": uint32(s.inner), "llama.vocab_size": uint32(len(v.words)),
		"llama.attention.head_count": uint32(s.heads), "llama.attention.head_count_kv": uint32(s.groups),
		"llama.attention.layer_norm_rms_epsilon": float32(1e-5),
		"llama.rope.freq_base":                   float32(500000), "llama.rope.dimension_count": uint32(s.width / s.heads),
		"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "llama-bpe",
		"tokenizer.ggml.tokens": v.words, "tokenizer.ggml.token_type": v.kinds, "tokenizer.ggml.merges": v.merges,
		"tokenizer.ggml.bos_token_id": uint32(beginOfText), "tokenizer.ggml.eos_token_id": uint32(endOfTurn),
	}
	narrow := s.width / s.heads * s.groups
	tensors := []*ggml.Tensor{matrixTensor("token_embd.weight", s.width, uint64(len(v.words))), onesTensor("output_norm.weight", s.width)}
	for i := range s.blocks {
		in := fmt.Sprintf("blk.%d.", i)
		tensors = append(tensors,
			onesTensor(in+"attn_norm.weight", s.width), onesTensor(in+"ffn_norm.weight", s.width),
			matrixTensor(in+"attn_q.weight", s.width, s.width), matrixTensor(in+"attn_output.weight", s.width, s.width),
			matrixTensor(in+"attn_k.weight", s.width, narrow), matrixTensor(in+"attn_v.weight", s.width, narrow),
			matrixTensor(in+"ffn_gate.weight", s.width, s.inner), matrixTensor(in+"ffn_up.weight", s.width, s.inner), matrixTensor(in+"ffn_down.weight", s.inner, s.width))
	}
	return ggml.WriteGGUF(f, kv, tensors)
}

// writeBert writes the kind of model that nomic-embed-text is.
func writeBert(f *os.File, v vocabulary, s shape) error {
	const arch = "nomic-bert"
	kv := ggml.KV{
		"general.architecture": arch, "general.name": "tinybert", "general.file_type": uint32(1),
		arch + ".block_count": uint32(s.blocks), arch + ".context_length": uint32(s.window), arch + ".embedding_length": uint32(s.width),
		arch + ".feed_forward_length": uint32(s.inner), arch + ".attention.head_count": uint32(s.heads),
		arch + ".attention.layer_norm_epsilon": float32(1e-12), arch + ".attention.causal": false,
		arch + ".pooling_type": uint32(1), arch + ".rope.freq_base": float32(1000), // the mean of all words
		"tokenizer.ggml.model": "bert", "tokenizer.ggml.tokens": v.words, "tokenizer.ggml.token_type": v.kinds, "tokenizer.ggml.token_type_count": uint32(2),
		"tokenizer.ggml.bos_token_id": uint32(101), "tokenizer.ggml.eos_token_id": uint32(102), "tokenizer.ggml.cls_token_id": uint32(101),
		"tokenizer.ggml.seperator_token_id": uint32(102), // the spelling of GGUF
		"tokenizer.ggml.unknown_token_id":   uint32(100), "tokenizer.ggml.padding_token_id": uint32(0), "tokenizer.ggml.mask_token_id": uint32(103),
	}
	tensors := []*ggml.Tensor{
		matrixTensor("token_embd.weight", s.width, uint64(len(v.words))), floatTensor("token_types.weight", s.width, 2),
		onesTensor("token_embd_norm.weight", s.width), floatTensor("token_embd_norm.bias", s.width),
	}
	for i := range s.blocks {
		in := fmt.Sprintf("blk.%d.", i)
		tensors = append(tensors,
			onesTensor(in+"attn_output_norm.weight", s.width), floatTensor(in+"attn_output_norm.bias", s.width),
			onesTensor(in+"layer_output_norm.weight", s.width), floatTensor(in+"layer_output_norm.bias", s.width),
			matrixTensor(in+"attn_qkv.weight", s.width, 3*s.width), matrixTensor(in+"attn_output.weight", s.width, s.width),
			matrixTensor(in+"ffn_gate.weight", s.width, s.inner), matrixTensor(in+"ffn_up.weight", s.width, s.inner), matrixTensor(in+"ffn_down.weight", s.inner, s.width))
	}
	return ggml.WriteGGUF(f, kv, tensors)
}
