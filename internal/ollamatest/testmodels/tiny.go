package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ollama/ollama/fs/ggml"

	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

// llamaTemplate is the chat template of Llama 3.2. Because it mentions tools, the
// server allows them.
const llamaTemplate = `{{- range .Messages }}<|start_header_id|>{{ .Role }}<|end_header_id|>

{{ if and $.Tools (eq .Role "system") }}You may call these functions: {{ $.Tools }}
{{ end }}{{ .Content }}{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "parameters": {{ .Function.Arguments }}}{{ end }}<|eot_id|>
{{- end }}<|start_header_id|>assistant<|end_header_id|>

`

// gemmaTemplate and chatMLTemplate are the chat templates of Gemma and of Qwen,
// without tools.
const (
	gemmaTemplate = `{{- range .Messages }}<start_of_turn>{{ if eq .Role "assistant" }}model{{ else }}{{ .Role }}{{ end }}
{{ .Content }}<end_of_turn>
{{ end }}<start_of_turn>model
`
	chatMLTemplate = `{{- range .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
`
)

// A shape has the dimensions of a model.
type shape struct {
	blocks, width, heads, groups, inner, window uint64
}

// tinyModels writes the models with random weights, and returns them. tokenizer is
// the tokenizer file of BERT, qwen the vocabulary of Qwen.
func tinyModels(ctx context.Context, cache, tokenizer, qwen string) ([]image, error) {
	modules, err := ollamaSources(ctx)
	if err != nil {
		return nil, err
	}
	llama := []string{"<|eot_id|>", "<|start_header_id|>"}
	var images []image
	for _, m := range []struct {
		name, file, template string
		ends                 []string
		write                func(f *os.File) error
	}{
		{ollamatest.Tiny, "tinyllama-1", llamaTemplate, llama, func(f *os.File) error {
			v, err := llamaVocabulary(modules)
			return cmp.Or(err, writeDecoder(f, "llama", v, tinyWindow))
		}},
		{ollamatest.TinyLong, "tinylong-1", llamaTemplate, llama, func(f *os.File) error {
			v, err := llamaVocabulary(modules)
			return cmp.Or(err, writeDecoder(f, "llama", v, longWindow))
		}},
		{ollamatest.TinyEmbedder, "tinybert-1", "", nil, func(f *os.File) error {
			v, err := bertVocabulary(tokenizer)
			return cmp.Or(err, writeBert(f, v, shape{blocks: 2, width: 64, heads: 4, inner: 128, window: 2048}))
		}},
		{ollamatest.TinyGemma2, "tinygemma2-1", gemmaTemplate, []string{"<end_of_turn>"}, func(f *os.File) error {
			v, err := gemmaVocabulary(modules)
			return cmp.Or(err, writeDecoder(f, "gemma2", v, tinyWindow))
		}},
		{ollamatest.TinyGemma3, "tinygemma3-1", gemmaTemplate, []string{"<end_of_turn>"}, func(f *os.File) error {
			v, err := gemmaVocabulary(modules)
			return cmp.Or(err, writeDecoder(f, "gemma3", v, tinyWindow))
		}},
		{ollamatest.TinyQwen2, "tinyqwen2-1", chatMLTemplate, []string{"<|im_end|>"}, func(f *os.File) error {
			v, err := qwenVocabulary(qwen)
			return cmp.Or(err, writeDecoder(f, "qwen2", v, tinyWindow))
		}},
		{ollamatest.TinyQwen3, "tinyqwen3-1", chatMLTemplate, []string{"<|im_end|>"}, func(f *os.File) error {
			v, err := qwenVocabulary(qwen)
			return cmp.Or(err, writeDecoder(f, "qwen3", v, tinyWindow))
		}},
	} {
		path := filepath.Join(cache, m.file+".gguf")
		if err := writeWholeFile(path, m.write); err != nil {
			return nil, fmt.Errorf("write %s: %w", m.name, err)
		}
		images = append(images, image{name: m.name, files: map[string]string{m.name + ".gguf": path}, template: m.template, ends: m.ends})
	}
	return images, nil
}

// The windows of the chat models. The longer one holds the prompts of assistants.
const (
	tinyWindow = 8192
	longWindow = 65_536
)

// writeDecoder writes a chat model of an architecture, with its own tensors.
func writeDecoder(f *os.File, arch string, v vocabulary, window uint64) error {
	s := shape{blocks: 2, width: 64, heads: 4, groups: 2, inner: 128, window: window}
	head := s.width / s.heads
	kv := ggml.KV{
		"general.architecture": arch, "general.name": "tiny" + arch, "general.file_type": uint32(1),
		arch + ".block_count": uint32(s.blocks), arch + ".context_length": uint32(s.window), arch + ".embedding_length": uint32(s.width),
		arch + ".feed_forward_length": uint32(s.inner), arch + ".vocab_size": uint32(len(v.words)),
		arch + ".attention.head_count": uint32(s.heads), arch + ".attention.head_count_kv": uint32(s.groups),
		arch + ".attention.key_length": uint32(head), arch + ".attention.value_length": uint32(head),
		arch + ".attention.layer_norm_rms_epsilon": float32(1e-5), arch + ".attention.sliding_window": uint32(1024),
		arch + ".rope.freq_base": float32(500000), arch + ".rope.dimension_count": uint32(head),
	}
	v.addTo(kv)
	tensors := []*ggml.Tensor{matrixTensor("token_embd.weight", s.width, uint64(len(v.words))), onesTensor("output_norm.weight", s.width)}
	narrow := head * s.groups
	for i := range s.blocks {
		in := fmt.Sprintf("blk.%d.", i)
		tensors = append(tensors,
			onesTensor(in+"attn_norm.weight", s.width), onesTensor(in+"ffn_norm.weight", s.width),
			matrixTensor(in+"attn_q.weight", s.width, s.width), matrixTensor(in+"attn_output.weight", s.width, s.width),
			matrixTensor(in+"attn_k.weight", s.width, narrow), matrixTensor(in+"attn_v.weight", s.width, narrow),
			matrixTensor(in+"ffn_gate.weight", s.width, s.inner), matrixTensor(in+"ffn_up.weight", s.width, s.inner), matrixTensor(in+"ffn_down.weight", s.inner, s.width))
		if arch == "gemma2" || arch == "gemma3" {
			tensors = append(tensors, onesTensor(in+"post_attention_norm.weight", s.width), onesTensor(in+"post_ffw_norm.weight", s.width))
		}
		if arch == "gemma3" || arch == "qwen3" {
			tensors = append(tensors, onesTensor(in+"attn_q_norm.weight", head), onesTensor(in+"attn_k_norm.weight", head))
		}
		if arch == "qwen2" {
			tensors = append(tensors, floatTensor(in+"attn_q.bias", s.width), floatTensor(in+"attn_k.bias", narrow), floatTensor(in+"attn_v.bias", narrow))
		}
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
