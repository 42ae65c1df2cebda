package ollama

import (
	"context"
	"fmt"
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
// unknown kind of vocabulary is [model.ErrCannot]. The function is safe for
// concurrent use; it counts 1 to 4 MB a second.
func (c *Client) Tokenizer(ctx context.Context, name string) (func(string) int, error) {
	const what = "read the vocabulary of"
	s, err := c.showModel(ctx, name, true)
	if err != nil {
		return nil, err
	}
	v, err := newVocabulary(s)
	if err != nil {
		return nil, c.callError(name, what, err)
	}
	return v.countTokens, nil
}

const (
	pieceBytes = 64 << 10 // of text tokenised at once
	wordBytes  = 64       // of a word: the time of WordPiece is quadratic in it
)

// A vocabulary counts tokens.
type vocabulary struct {
	encode   func(text string) int
	specials specials
	run      int // bytes of the longest run without blanks that is encoded whole
}

// newVocabulary builds a vocabulary from the server's data.
func newVocabulary(s *api.ShowResponse) (*vocabulary, error) {
	const key = "tokenizer.ggml."
	values := elementsOf[string](s.ModelInfo[key+"tokens"])
	types := elementsOf[float64](s.ModelInfo[key+"token_type"])
	scores := elementsOf[float64](s.ModelInfo[key+"scores"])
	merges := elementsOf[string](s.ModelInfo[key+"merges"])
	if len(values) < 16 || len(types) != 0 && len(types) != len(values) {
		return nil, remote.Garbled("it has %d tokens and %d types of them", len(values), len(types))
	}
	vocab := &tokenizer.Vocabulary{Values: values, Types: make([]int32, len(values)), Scores: make([]float32, len(values))}
	v := &vocabulary{run: pieceBytes}
	for i := range values {
		// The library searches for the special tokens one after the other, each
		// time through the whole text: they are found here, in one pass.
		vocab.Types[i] = tokenizer.TOKEN_TYPE_NORMAL
		if i < len(scores) {
			vocab.Scores[i] = float32(scores[i])
		}
		if i < len(types) && (types[i] == tokenizer.TOKEN_TYPE_CONTROL || types[i] == tokenizer.TOKEN_TYPE_USER_DEFINED) {
			v.specials.addSpecial(values[i])
		}
	}
	kind, _ := s.ModelInfo[key+"model"].(string)
	pre, _ := s.ModelInfo[key+"pre"].(string)
	switch {
	case kind == "gpt2" && splits[pre] != "" && len(merges) > 0:
		whole := splits[pre] == splits["llama-bpe"] || pre == "tekken"
		v.encode = newPairs(values, merges, splits[pre], whole).countTokens
	case kind == "llama" && len(scores) == len(values):
		v.encode = counting(tokenizer.NewSentencePiece(vocab).Encode)
	case kind == "bert":
		// Ollama 0.17 does not convert texts to lower case for the models of this
		// family, although their vocabulary has only lower case: a word with a
		// capital is one token, [UNK].
		lower := s.ModelInfo["general.architecture"] != "nomic-bert"
		v.encode, v.run, v.specials = counting(tokenizer.NewWordPiece(vocab, lower).Encode), wordBytes, specials{}
	default:
		return nil, &remote.Failure{Kind: model.ErrCannot, Text: fmt.Sprintf("its vocabulary is of the kind %q %q", kind, pre)}
	}
	return v, nil
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
	n := 0
	for text != "" {
		at, size := v.specials.findSpecial(text)
		n += v.countPlain(text[:at])
		if size > 0 {
			n++
		}
		text = text[at+size:]
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

// specials finds special tokens.
type specials struct {
	tokens  map[string]bool
	lengths [256][]int // of the tokens that begin with a byte, longest first
}

func (s *specials) addSpecial(token string) {
	if token == "" || s.tokens[token] {
		return
	}
	if s.tokens == nil {
		s.tokens = make(map[string]bool)
	}
	s.tokens[token] = true
	lengths := s.lengths[token[0]]
	at := 0
	for at < len(lengths) && lengths[at] > len(token) {
		at++
	}
	if at == len(lengths) || lengths[at] != len(token) {
		lengths = append(lengths, 0)
		copy(lengths[at+1:], lengths[at:])
		lengths[at] = len(token)
		s.lengths[token[0]] = lengths
	}
}

// findSpecial returns the place and the length of the first special token in text:
// the end of text and 0 if there is none.
func (s *specials) findSpecial(text string) (at, size int) {
	for i := range len(text) {
		for _, n := range s.lengths[text[i]] {
			if i+n <= len(text) && s.tokens[text[i:i+n]] {
				return i, n
			}
		}
	}
	return len(text), 0
}

// The patterns that divide text into words before byte pairs are merged, by their
// names in GGUF files: those of the vocabularies' own tokenizers, in one expression
// each that matches everywhere.
var splits = func() map[string]string {
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
	names := map[string]string{
		llama3: "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral lfm2 glm4 chatglm-bpe smaug-bpe dbrx",
		qwen2:  "qwen2 deepseek-r1-qwen stablelm2 megrez hunyuan grok-2",
		gpt2:   "gpt-2 phi-2 mpt olmo jais exaone4 granite-docling",
		smollm: "smollm starcoder refact command-r codeshell exaone minerva-7b",
		tekken: "tekken",
		gpt4o:  "gpt-4o llama4",
	}
	m := make(map[string]string)
	for split, of := range names {
		for name := range strings.FieldsSeq(of) {
			m[name] = split
		}
	}
	return m
}()
