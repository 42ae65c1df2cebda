package ollama

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/tokenizer"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
)

// Tokenizer returns a function that counts the tokens of a text as the server does
// with a model, for a text inside a prompt: nothing is added before or after it.
// The text of a special token counts as that one token, because the server reads it
// so. The server returns its vocabulary (some 10 MB) without loading the model. An
// unknown kind of vocabulary is [model.ErrCannot]. If it is not known which of
// Ollama's two tokenizers the server uses, the count is the higher one. The function
// is safe for concurrent use; it counts 1 to 4 MB a second.
func (c *Client) Tokenizer(ctx context.Context, name string) (func(string) int, error) {
	const what = "read the vocabulary of"
	s, err := c.showModel(ctx, name, true)
	if err != nil {
		return nil, err
	}
	var counts []func(string) int
	for _, own := range c.tokenizersOf(ctx, s) {
		v, err := newVocabulary(s, own)
		if err != nil {
			return nil, c.callError(name, what, err)
		}
		counts = append(counts, v.countTokens)
	}
	if len(counts) == 1 {
		return counts[0], nil
	}
	return func(text string) int { return max(counts[0](text), counts[1](text)) }, nil
}

// tokenizersOf returns whether the server uses its own tokenizer for a model, not
// llama.cpp's; two values if that is unknown. Ollama 0.17 runs some architectures
// itself, all others, and models with a separate projector, with llama.cpp. Later
// versions may not: their counts were not compared.
func (c *Client) tokenizersOf(ctx context.Context, s *api.ShowResponse) []bool {
	kind, arch := s.ModelInfo["tokenizer.ggml.model"], architecture(s)
	switch _, runs := ownEngines[arch]; {
	case kind == "bert":
		return []bool{true} // both are the same
	case kind == "llama" && arch == "":
		return []bool{false, true}
	case !runs || len(s.ProjectorInfo) > 0:
		return []bool{false}
	}
	version, err := c.Version(ctx)
	if err == nil && isCompared(version) {
		return []bool{true}
	}
	return []bool{false, true}
}

// isCompared reports whether a version of Ollama is 0.17 or earlier. A server that
// was built from the Go module, whose newest version is 0.17.4, reports 0.0.0.
func isCompared(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return major == "0" && err == nil && n <= 17
}

func architecture(s *api.ShowResponse) string {
	arch, _ := s.ModelInfo["general.architecture"].(string)
	return arch
}

const (
	pieceBytes = 64 << 10 // of text tokenised at once
	wordBytes  = 64       // of a word: the time of WordPiece is quadratic in it
)

// A vocabulary counts tokens.
type vocabulary struct {
	encode   func(text string) int
	specials specials
	run      int  // bytes of the longest run without blanks that is encoded whole
	prefix   bool // a text after a special token gets a blank before it
}

// newVocabulary builds a vocabulary from the server's data, for Ollama's own
// tokenizer or for llama.cpp's.
func newVocabulary(s *api.ShowResponse, own bool) (*vocabulary, error) {
	const key = "tokenizer.ggml."
	values := elementsOf[string](s.ModelInfo[key+"tokens"])
	types := elementsOf[float64](s.ModelInfo[key+"token_type"])
	scores := elementsOf[float64](s.ModelInfo[key+"scores"])
	if len(values) < 16 || len(types) != 0 && len(types) != len(values) {
		return nil, remote.Garbled("it has %d tokens and %d types of them", len(values), len(types))
	}
	vocab := &tokenizer.Vocabulary{Values: values, Types: make([]int32, len(values)), Scores: make([]float32, len(values)), Merges: elementsOf[string](s.ModelInfo[key+"merges"])}
	v := &vocabulary{run: pieceBytes}
	for i := range values {
		// The library searches for the special tokens one after the other, each
		// time through the whole text: here, only for those that text contains.
		vocab.Types[i] = tokenizer.TOKEN_TYPE_NORMAL
		if i < len(scores) {
			vocab.Scores[i] = float32(scores[i])
		}
		if i < len(types) && isSpecial(types[i], own) {
			v.specials.addSpecial(values[i])
		}
	}
	if !own {
		v.specials.sortByLength()
	}
	kind, _ := s.ModelInfo[key+"model"].(string)
	pre, _ := s.ModelInfo[key+"pre"].(string)
	split := cmp.Or(ownEngines[architecture(s)], splits[pre])
	switch {
	case own && kind == "gpt2" && split != "" && len(vocab.Merges) > 0:
		v.encode = counting(tokenizer.NewBytePairEncoding(vocab, split).Encode)
	case kind == "gpt2" && splits[pre] != "" && len(vocab.Merges) > 0:
		whole := splits[pre] == splits["llama-bpe"] || pre == "tekken"
		v.encode = newPairs(values, vocab.Merges, splits[pre], whole).countTokens
	case kind == "llama" && len(scores) == len(values):
		prefix, set := s.ModelInfo[key+"add_space_prefix"].(bool)
		v.prefix = !own && (prefix || !set)
		v.encode = counting(tokenizer.NewSentencePiece(vocab).Encode)
	case kind == "bert":
		// Ollama 0.17 does not convert texts to lower case for the models of this
		// family, although their vocabulary has only lower case: a word with a
		// capital is one token, [UNK].
		lower := architecture(s) != "nomic-bert"
		v.encode, v.run, v.specials = counting(tokenizer.NewWordPiece(vocab, lower).Encode), wordBytes, specials{}
	default:
		return nil, &remote.Failure{Kind: model.ErrCannot, Text: fmt.Sprintf("its vocabulary is of the kind %q %q", kind, pre)}
	}
	return v, nil
}

// isSpecial reports whether tokens of a type are found in a text before it is
// divided into words. llama.cpp also finds the unknown token.
func isSpecial(kind float64, own bool) bool {
	return kind == tokenizer.TOKEN_TYPE_CONTROL || kind == tokenizer.TOKEN_TYPE_USER_DEFINED || kind == tokenizer.TOKEN_TYPE_UNKNOWN && !own
}

// counting counts with one of the library's tokenizers.
func counting(encode func(text string, addSpecial bool) ([]int32, error)) func(string) int {
	return func(text string) int {
		ids, err := encode(text, false)
		if err != nil {
			return len(text) // none fails; in the worst case each byte is a token
		}
		return len(ids)
	}
}

// elementsOf returns the elements of a JSON array that have type T.
func elementsOf[T any](v any) []T {
	array, _ := v.([]any)
	out := make([]T, 0, len(array))
	for _, e := range array {
		if t, ok := e.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// countTokens returns the tokens of text.
func (v *vocabulary) countTokens(text string) int {
	n, afterSpecial := 0, false
	for part := range v.specials.splitText(text) {
		if part.special {
			n++
		} else if v.prefix && afterSpecial {
			n += v.countPlain(" " + part.text)
		} else {
			n += v.countPlain(part.text)
		}
		afterSpecial = part.special
	}
	return n
}

// countPlain counts text without special tokens, in pieces, so that the time is not
// quadratic in the length. A piece ends after a line feed or a blank if there is
// one; otherwise the count may be one too high.
func (v *vocabulary) countPlain(text string) int {
	n := 0
	for text != "" {
		end := pieceEnd(text, v.run)
		n += v.encode(text[:end])
		text = text[end:]
	}
	return n
}

// pieceEnd returns the end of the first piece of text: it contains no run without
// blanks of more than run bytes, and at most pieceBytes.
func pieceEnd(text string, run int) int {
	blank, line := 0, 0 // ends of the last ones
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			blank, line = i+1, i+1
		case ' ', '\t', '\r':
			blank = i + 1
		}
		if i-blank >= run {
			return boundary(text, i)
		}
		if i >= pieceBytes {
			if line > pieceBytes/2 {
				return line
			}
			if blank > 0 {
				return blank
			}
			return boundary(text, i)
		}
	}
	return len(text)
}

// boundary returns the beginning of the character at i.
func boundary(text string, i int) int {
	for i > 1 && text[i]&0xC0 == 0x80 {
		i--
	}
	return i
}
