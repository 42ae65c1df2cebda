package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ollama/ollama/convert/sentencepiece"
	"github.com/ollama/ollama/fs/ggml"
	"google.golang.org/protobuf/proto"
)

// A vocabulary has the words of a model, and its metadata in GGUF without the common
// beginning of the keys. The kinds are those of GGUF.
type vocabulary struct {
	words  []string
	kinds  []int32
	merges []string  // of byte pairs
	scores []float32 // of SentencePiece
	more   map[string]any
}

const (
	normal      int32 = 1
	control     int32 = 3
	userDefined int32 = 4
)

// addTo adds the vocabulary to the metadata of a model.
func (v *vocabulary) addTo(kv ggml.KV) {
	const key = "tokenizer.ggml."
	kv[key+"tokens"], kv[key+"token_type"] = v.words, v.kinds
	if v.merges != nil {
		kv[key+"merges"] = v.merges
	}
	if v.scores != nil {
		kv[key+"scores"] = v.scores
	}
	for name, value := range v.more {
		kv[key+name] = value
	}
}

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

// ollamaSources returns the folder of vocabularies in the sources of Ollama, which
// this module requires.
func ollamaSources(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/ollama/ollama").Output()
	if err != nil {
		return "", fmt.Errorf("find the module, run go mod download in this repository: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "tokenizer", "testdata"), nil
}

const (
	llamaWords  = 128256
	beginOfText = 128000
	endOfTurn   = 128009
)

// llamaVocabulary reads the vocabulary of Llama 3.2.
func llamaVocabulary(sources string) (vocabulary, error) {
	folder := filepath.Join(sources, "llama3.2")
	v := newVocabulary(llamaWords)
	for i := beginOfText; i < llamaWords; i++ {
		v.words[i], v.kinds[i] = fmt.Sprintf("<|reserved_special_token_%d|>", i-beginOfText), control
	}
	v.more = map[string]any{"model": "gpt2", "pre": "llama-bpe", "bos_token_id": uint32(beginOfText), "eos_token_id": uint32(endOfTurn)}
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

// gemmaVocabulary reads the vocabulary of Gemma 2. Runs of blanks, tabs and line
// feeds, and HTML tags, are tokens defined by the user, and have blanks, as in the
// files that llama.cpp converts.
func gemmaVocabulary(sources string) (vocabulary, error) {
	b, err := os.ReadFile(filepath.Join(sources, "gemma2", "tokenizer.model"))
	if err != nil {
		return vocabulary{}, err
	}
	var file sentencepiece.ModelProto
	if err := proto.Unmarshal(b, &file); err != nil {
		return vocabulary{}, err
	}
	v := newVocabulary(len(file.GetPieces()))
	for i, piece := range file.GetPieces() {
		word, kind := piece.GetPiece(), int32(piece.GetType())
		if kind == userDefined {
			word = strings.ReplaceAll(word, "\u2581", " ")
		}
		if word == "<start_of_turn>" || word == "<end_of_turn>" {
			kind = control
		}
		v.words[i], v.kinds[i], v.scores = word, kind, append(v.scores, piece.GetScore())
	}
	v.more = map[string]any{"model": "llama", "bos_token_id": uint32(2), "eos_token_id": uint32(1), "add_space_prefix": false}
	return v, nil
}

// qwenVocabulary reads a vocabulary of byte pairs: in each line a token in base64
// and its rank. A token is the result of the merge of the two that are left if only
// tokens of lower ranks are merged.
func qwenVocabulary(file string) (vocabulary, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return vocabulary{}, err
	}
	var v vocabulary
	ranks := make(map[string]int)
	for line := range strings.Lines(string(b)) {
		text, rank, _ := strings.Cut(strings.TrimSpace(line), " ")
		token, err := base64.StdEncoding.DecodeString(text)
		if n, bad := strconv.Atoi(rank); err != nil || bad != nil || n != len(v.words) {
			return v, fmt.Errorf("%s: line %d is %q", file, len(v.words)+1, line)
		}
		if len(token) > 1 {
			left := leftPart(token, ranks)
			v.merges = append(v.merges, visible(token[:left])+" "+visible(token[left:]))
		}
		ranks[string(token)] = len(v.words)
		v.words, v.kinds = append(v.words, visible(token)), append(v.kinds, normal)
	}
	for _, special := range []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"} {
		v.words, v.kinds = append(v.words, special), append(v.kinds, control)
	}
	for _, word := range []string{"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"} {
		v.words, v.kinds = append(v.words, word), append(v.kinds, userDefined)
	}
	end := uint32(slices.Index(v.words, "<|im_end|>"))
	v.more = map[string]any{"model": "gpt2", "pre": "qwen2", "add_bos_token": false, "eos_token_id": end, "bos_token_id": end - 2}
	return v, nil
}

// leftPart merges the bytes of a token, and returns the size of the first of the two
// parts that are left.
func leftPart(token []byte, ranks map[string]int) int {
	ends := make([]int, len(token)) // of the parts
	for i := range ends {
		ends[i] = i + 1
	}
	for len(ends) > 2 {
		best, at, start := len(ranks), 0, 0
		for i := range len(ends) - 1 {
			if rank, ok := ranks[string(token[start:ends[i+1]])]; ok && rank < best {
				best, at = rank, i
			}
			start = ends[i]
		}
		ends = slices.Delete(ends, at, at+1)
	}
	return ends[0]
}

// visible writes bytes with the characters that represent them in vocabularies.
func visible(token []byte) string {
	var b strings.Builder
	for _, c := range token {
		switch r := rune(c); {
		case r <= 0x20:
			b.WriteRune(r + 0x100)
		case r >= 0x7F && r <= 0xA0:
			b.WriteRune(r + 0xA2)
		case r == 0xAD:
			b.WriteRune(0x143)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
