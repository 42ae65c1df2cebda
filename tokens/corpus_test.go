package tokens_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// corpusBytes is the size of a corpus. tiktoken-go needs up to half a second for
// it.
const corpusBytes = 300_000

var corpusDir = flag.String("corpora", "", "count the files of this folder instead of the corpora of the package")

// A corpus returns text to count, or skips.
type corpus struct {
	name string
	text func(testing.TB) string
}

// corpora returns the files of the given folder, else Go code from the Go
// distribution, and texts made of the snippets in testdata.
func corpora(t testing.TB) []corpus {
	t.Helper()
	if *corpusDir == "" {
		return []corpus{
			{"go", fromGo},
			{"javascript", fromSnippets("javascript")},
			{"python", fromSnippets("python")},
			{"markdown", fromSnippets("markdown")},
			{"prose", fromSnippets("prose")},
			{"json", fromSnippets("multilingual")},
		}
	}
	files, err := filepath.Glob(filepath.Join(*corpusDir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", *corpusDir, err)
	}
	var all []corpus
	for _, file := range files {
		all = append(all, corpus{filepath.Base(file), func(t testing.TB) string { return read(t, file) }})
	}
	return all
}

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ToValidUTF8(string(data), "")
}

// fromGo returns files of the Go distribution as one text.
func fromGo(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command:", err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "*", "*", "*.go"))
	var b strings.Builder
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(files)) {
		b.WriteString(read(t, files[i]))
		if b.Len() >= corpusBytes {
			return strings.ToValidUTF8(b.String()[:corpusBytes], "")
		}
	}
	t.Skip("no source of the Go distribution here")
	return ""
}

// fromSnippets returns the snippets of a file in testdata, in random order.
// Placeholders become {{w}} a word, {{c}} camelCase, {{C}} PascalCase, {{s}}
// snake_case, {{S}} SNAKE_CASE or {{d}} a number.
func fromSnippets(name string) func(testing.TB) string {
	return func(t testing.TB) string {
		t.Helper()
		words := strings.Fields(read(t, filepath.Join("testdata", "words.txt")))
		snippets := strings.Split(read(t, filepath.Join("testdata", name+".txt")), "%%\n")
		r := rand.New(rand.NewPCG(3, 4))
		fill := func(mark string) string { return invent(r, words, mark[2]) }
		var b strings.Builder
		for b.Len() < corpusBytes {
			b.WriteString(marks.ReplaceAllStringFunc(snippets[r.IntN(len(snippets))], fill))
		}
		return b.String()
	}
}

var marks = regexp.MustCompile(`\{\{[wcCsSd]\}\}`)

func invent(r *rand.Rand, words []string, kind byte) string {
	a, b := words[r.IntN(len(words))], words[r.IntN(len(words))]
	switch kind {
	case 'w':
		return a
	case 'd':
		return strconv.Itoa(r.IntN(1 << r.IntN(16)))
	case 's':
		return a + "_" + b
	case 'S':
		return strings.ToUpper(a + "_" + b)
	case 'C':
		a = strings.ToUpper(a[:1]) + a[1:]
	}
	return a + strings.ToUpper(b[:1]) + b[1:]
}

// hostile returns texts of about n bytes that are one piece, or nearly.
func hostile(n int) []struct{ name, text string } {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(alphabet string) string {
		all := []rune(alphabet)
		var b strings.Builder
		for b.Len() < n {
			b.WriteRune(all[r.IntN(len(all))])
		}
		return b.String()
	}
	return []struct{ name, text string }{
		{"letter", strings.Repeat("a", n)},
		{"underscore", strings.Repeat("_", n)},
		{"space", strings.Repeat(" ", n)},
		{"newline", strings.Repeat("\n", n)},
		{"emoji", strings.Repeat("😀", n/4)},
		{"cjk", random("的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然作方成者多日都三小军二无同么经法当起与好看学进种将还分此心前面又定见只主没公从")},
		{"han", strings.Repeat("中", n/3)},
		{"base64", random("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")},
		{"letters", random("abcdefghijklmnopqrstuvwxyz")},
		{"capitals", random("ABCDEFGHIJKLMNOPQRSTUVWXYZ")},
		{"symbols", random("!#$%&()*+,-./:;<=>?@[]^_{|}~")},
		{"marks", random("\u0300\u0301\u0302\u0303\u0304")},
	}
}
