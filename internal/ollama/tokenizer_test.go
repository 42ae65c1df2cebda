package ollama_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A vocab is a server's data of a vocabulary, without the common beginning of the
// keys.
type vocab map[string]any

// counter returns the client's counter for a vocabulary.
func counter(t testing.TB, v vocab) (func(string) int, error) {
	t.Helper()
	info := map[string]any{"general.architecture": v["architecture"]}
	for key, value := range v {
		info["tokenizer.ggml."+key] = value
	}
	answer, err := json.Marshal(map[string]any{"model_info": info, "capabilities": []string{"completion"}})
	if err != nil {
		t.Fatal(err)
	}
	version, _ := v["version"].(string)
	c, _ := scripted(t, map[string]string{"/api/show": string(answer), "/api/version": `{"version":"` + version + `"}`})
	return c.Tokenizer(t.Context(), "m")
}

func mustCount(t testing.TB, v vocab) func(string) int {
	t.Helper()
	count, err := counter(t, v)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

const (
	normal  = 1
	control = 3
	user4   = 4 // defined by the user
)

// bytePairs returns a vocabulary of all bytes and the results of merges.
func bytePairs(pre string, merges []string, special ...string) vocab {
	var values []string
	for b := range 256 {
		r := rune(b)
		switch {
		case b <= 0x20:
			r += 0x100
		case b >= 0x7F && b <= 0xA0:
			r += 0xA2
		case b == 0xAD:
			r = 0x143
		}
		values = append(values, string(r))
	}
	for _, m := range merges {
		if joined := strings.Replace(m, " ", "", 1); !slices.Contains(values, joined) {
			values = append(values, joined)
		}
	}
	types := slices.Repeat([]int{normal}, len(values))
	for i, s := range special {
		values, types = append(values, s), append(types, control+i%2)
	}
	return vocab{"model": "gpt2", "pre": pre, "tokens": values, "token_type": types, "merges": merges}
}

func TestBytePairsAreMergedInTheOrderOfTheVocabulary(t *testing.T) {
	merges := []string{"a a", "aa aa", "b c", "a b", "Ġ a", "à ¤", "1 2", "Ċ Ċ", "Ġ Ġ", "x", "y  y"}
	for _, pre := range []string{"llama-bpe", "qwen2", "gpt-2", "smollm", "tekken", "gpt-4o"} {
		count := mustCount(t, bytePairs(pre, merges, "<|end|>", "<|end|>>", "<tool>"))
		for text, want := range map[string]int{
			"":                     0,
			"a":                    1,
			"aa":                   1,
			"aaa":                  2, // aa a
			"aaaaa":                2, // aaaa a
			"aaaaaaaa":             2,
			"abc":                  2, // a bc: that pair is earlier
			"ab":                   1,
			" a":                   1,
			"ä":                    2,
			"\u0924":               2, // three bytes, two of them joined
			"a<|end|>a":            3,
			"<|end|>>":             1, // the longest one
			"<tool><|end|><|end|>": 3,
			"<|en":                 4,
			"\xff\xfe":             6, // U+FFFD twice
		} {
			if got := count(text); got != want {
				t.Errorf("%s: %q has %d tokens, want %d", pre, text, got, want)
			}
		}
	}
}

func TestFamiliesCutNumbersAndBlanksTheirWay(t *testing.T) {
	merges := []string{"1 2", "12 3", "Ġ Ġ", "Ċ Ċ", "' s", "' S"}
	for pre, want := range map[string][]int{ // of each text below
		"llama-bpe": {2, 1, 3, 2},
		"qwen2":     {4, 2, 3, 2},
		"gpt-2":     {2, 1, 3, 3},
		"smollm":    {4, 2, 2, 3},
		"tekken":    {4, 2, 3, 2},
		"gpt-4o":    {2, 1, 3, 2},
	} {
		count := mustCount(t, bytePairs(pre, merges))
		for i, text := range []string{"1231", "12", "  1", "a'S"} {
			if got := count(text); got != want[i] {
				t.Errorf("%s: %q has %d tokens, want %d", pre, text, got, want[i])
			}
		}
	}
}

func TestWordsThatAreTokensStayWholeInSomeFamilies(t *testing.T) {
	v := bytePairs("llama-bpe", []string{"a a"}, "")
	values := append(v["tokens"].([]string), "word")
	v["tokens"], v["token_type"] = values, slices.Repeat([]int{normal}, len(values))
	if got := mustCount(t, v)("word"); got != 1 {
		t.Errorf("llama-bpe: %d tokens", got)
	}
	v["pre"] = "qwen2"
	if got := mustCount(t, v)("word"); got != 4 {
		t.Errorf("qwen2: %d tokens", got)
	}
}

func sentences() vocab {
	values := []string{"<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "▁a", "▁ab", "<0x0A>", "<0xC3>", "<0xA4>", "c", "d", "e", "f", "<turn>"}
	types := slices.Repeat([]int{normal}, len(values))
	types[1], types[16] = control, user4
	scores := make([]float64, len(values))
	for i := range scores {
		scores[i] = float64(-i)
	}
	return vocab{"model": "llama", "tokens": values, "token_type": types, "scores": scores}
}

func TestSentencePiecesAreJoinedByScore(t *testing.T) {
	count := mustCount(t, sentences())
	for text, want := range map[string]int{"": 0, "ab": 1, " ab": 1, "abab": 2, "a b": 3, "\n": 1, "ä": 2, "<turn>ab<turn>": 3} {
		if got := count(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
}

// Ollama's own tokenizer searches for special tokens in the order of the vocabulary,
// llama.cpp's for the longest first: a run of blanks is many tokens or one.
func TestSpecialTokensAreFoundInTheServersOrder(t *testing.T) {
	v := sentences()
	v["tokens"] = append(v["tokens"].([]string), "\n", "\n\n", "\n\n\n", "  ", "   ", "<b", "<b>", "a<b")
	v["token_type"] = append(v["token_type"].([]int), user4, user4, user4, user4, user4, user4, user4, user4)
	v["scores"] = append(v["scores"].([]float64), slices.Repeat([]float64{0}, 8)...)
	for server, want := range map[string]map[string]int{
		"gemma3 0.17.4": {"\n\n\n": 3, "a\n\nb": 4, "     ": 3, "b<bb": 3, "<b>c": 2, "<turn>ab": 2},
		"gemma2 0.17.4": {"\n\n\n": 1, "a\n\na": 3, "     ": 2, "b<bb": 4, "<b>c": 3, "<turn>ab": 2}, // with a blank after a special token
		"":              {"\n\n\n": 3, "a\n\nb": 4, "     ": 3, "b<bb": 4},                           // the higher one
	} {
		arch, version, _ := strings.Cut(server, " ")
		v["architecture"], v["version"] = arch, version
		count := mustCount(t, v)
		for text, n := range want {
			if got := count(text); got != n {
				t.Errorf("%s: %q has %d tokens, want %d", server, text, got, n)
			}
		}
	}
}

// A megabyte of hundreds of special tokens, each of which is searched for.
func TestSpecialTokensAreFoundInLinearTime(t *testing.T) {
	var special []string
	for i := range 500 {
		special = append(special, fmt.Sprintf("<unused%d>", i))
	}
	text := strings.Repeat(strings.Join(special, ""), 200)
	if got := mustCount(t, bytePairs("qwen2", []string{"a a"}, special...))(text); got != 200*len(special) {
		t.Errorf("%d tokens", got)
	}
}

func wordPieces(architecture string) vocab {
	values := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁log", "in", "▁test", "▁.", "ing", "▁漢", "▁a", "b", "c", "d", "▁x", "y"}
	return vocab{"model": "bert", "tokens": values, "token_type": slices.Repeat([]int{normal}, len(values)), "architecture": architecture}
}

func TestWordPiecesAreTheLongestOnes(t *testing.T) {
	for text, want := range map[string]int{"": 0, "login": 2, "Login": 2, "login test.": 4, "zzz": 1, "漢漢": 2, "testing": 2} {
		if got := mustCount(t, wordPieces("bert"))(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
	if got := mustCount(t, wordPieces("nomic-bert"))("Login"); got != 1 {
		t.Errorf("a word with a capital has %d tokens, want 1, [UNK]", got)
	}
}

func TestUnknownVocabulariesAreRefused(t *testing.T) {
	change := func(v vocab, key string, value any) vocab {
		v[key] = value
		return v
	}
	for name, c := range map[string]struct {
		vocab vocab
		kind  error
	}{
		"way of cutting":  {bytePairs("of tomorrow", []string{"a a"}), model.ErrCannot},
		"no way at all":   {bytePairs("", []string{"a a"}), model.ErrCannot},
		"no merges":       {bytePairs("qwen2", nil), model.ErrCannot},
		"kind":            {change(sentences(), "model", "t5"), model.ErrCannot},
		"no scores":       {change(sentences(), "scores", nil), model.ErrCannot},
		"scores of none":  {change(sentences(), "scores", []string{"x"}), model.ErrCannot},
		"too few types":   {change(sentences(), "token_type", []int{1}), model.ErrGarbled},
		"no tokens":       {change(sentences(), "tokens", nil), model.ErrGarbled},
		"tokens are none": {change(sentences(), "tokens", []int{1, 2, 3}), model.ErrGarbled},
	} {
		if _, err := counter(t, c.vocab); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, _ := scripted(t, nil)
	if _, err := c.Tokenizer(t.Context(), "m"); !errors.Is(err, model.ErrNoModel) {
		t.Errorf("no model: %v", err)
	}
}

// hostile are texts of a megabyte that are one word, or nearly.
func hostile() map[string]string {
	const n = 1 << 20
	return map[string]string{
		"letter":  strings.Repeat("a", n),
		"blank":   strings.Repeat(" ", n),
		"lines":   strings.Repeat("\n", n),
		"rule":    strings.Repeat("=", n),
		"special": strings.Repeat("<|end|>", n/7),
		"nearly":  strings.Repeat("<|en", n/4),
		"han":     strings.Repeat("漢", n/3),
		"bytes":   strings.Repeat("\xff", n/8),
		"mixed":   strings.Repeat("ab cd1\n", n/7),
	}
}

// A tokenizer with quadratic time would not finish here.
func TestCountingIsNotQuadratic(t *testing.T) {
	for name, count := range map[string]func(string) int{
		"pairs":     mustCount(t, bytePairs("llama-bpe", []string{"a a", "aa aa", "= =", "== =="}, "<|end|>")),
		"sentences": mustCount(t, sentences()),
		"words":     mustCount(t, wordPieces("bert")),
	} {
		for kind, text := range hostile() {
			if got := count(text); got > 3*len(text) {
				t.Errorf("%s, %s: %d tokens in %d bytes", name, kind, got, len(text))
			}
		}
	}
}

func FuzzTokenizers(f *testing.F) {
	counts := []func(string) int{
		mustCount(f, bytePairs("smollm", []string{"a a", "Ġ a"}, "<|end|>")),
		mustCount(f, bytePairs("gpt-4o", []string{"a a", "Ġ a"}, "<|end|>")),
		mustCount(f, sentences()),
		mustCount(f, wordPieces("bert")),
	}
	for _, text := range []string{"", "a <|end|>\n", "\xff漢 1'S", strings.Repeat("ab", 100)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i, count := range counts {
			if n := count(text); n < 0 || n > 3*len(text) || n != count(text) {
				t.Errorf("tokenizer %d: %d tokens in %q", i, n, text)
			}
		}
	})
}

func BenchmarkTokenizers(b *testing.B) {
	text := strings.Repeat("func (c *Client) do(ctx context.Context, name string) error {\n\treturn nil // 12345\n}\n", 200)
	for name, count := range map[string]func(string) int{
		"pairs":     mustCount(b, bytePairs("llama-bpe", []string{"t e", "e r", "Ġ c", "i n"})),
		"sentences": mustCount(b, sentences()),
		"words":     mustCount(b, wordPieces("bert")),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				count(text)
			}
		})
	}
}
