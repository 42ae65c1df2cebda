package files

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// countBytes counts a token for four bytes.
func countBytes(s string) int { return (len(s) + 3) / 4 }

func TestOutlinesAreGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/outline/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source := archive.Files[0]
			limit := countBytes(string(source.Data)) * 7 / 10
			got := outlineText(source.Name, string(source.Data), OutlineOptions{Max: limit, Count: countBytes, Recall: "0badcafe"})
			if n := countBytes(got); n > limit {
				t.Errorf("%d tokens, at most %d", n, limit)
			}
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(archive.Files[1].Data); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestOutlineKeepsTheFocus(t *testing.T) {
	var b strings.Builder
	b.WriteString("package p\n\n")
	for i := range 200 {
		fmt.Fprintf(&b, "func step%d() {\n\tcallNumber%d()\n\tdoMore(%d)\n\tagain()\n}\n\n", i, i, i)
	}
	o := OutlineOptions{Max: 300, Count: countBytes, Recall: "id", Focus: []string{"callNumber77"}, Edited: []string{"\tcallNumber123()\n\tdoMore(123)\n"}, Note: "changed since", Ledger: []string{"someLostName"}}
	got := outlineText("p.go", b.String(), o)
	for _, want := range []string{"\tcallNumber77()\n\tdoMore(77)\n", "\tcallNumber123()\n", "; changed since; recall id]", "also: someLostName"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestOutlineOfTheImpossible(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 5, 30} {
		for _, text := range []string{"", "\n", strings.Repeat("x", 100_000), strings.Repeat("{", 50_000), "\xff\xfe broken", strings.Repeat("a\n", 50_000)} {
			got := outlineText("a.js", text, OutlineOptions{Max: limit, Count: countBytes, Recall: "id"})
			if countBytes(got) > max(limit, 0) || !utf8.ValidString(got) {
				t.Errorf("limit %d: %d tokens", limit, countBytes(got))
			}
		}
	}
}

func TestDigestKeepsFailures(t *testing.T) {
	log := "go test ./...\n" + strings.Repeat("ok   pkg/fine 0.01s\n", 300) + "--- FAIL: TestLogin (0.00s)\n    login_test.go:12: want 1, got 2\n" + strings.Repeat("ok   pkg/fine 0.01s\n", 300) + "FAIL\nexit status 1\n"
	got := Digest(log, DigestOptions{Max: 120, Count: countBytes, Recall: "id", Ledger: []string{"pkg/fine", "otherName"}})
	for _, want := range []string{"[digest of 605 lines; recall id]", "go test ./...", "--- FAIL: TestLogin", "exit status 1", "also: otherName"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if countBytes(got) > 120 {
		t.Errorf("%d tokens", countBytes(got))
	}
	focused := Digest(log+"see special_name here\n"+log, DigestOptions{Max: 120, Count: countBytes, Recall: "id", Focus: []string{"special_name"}})
	if !strings.Contains(focused, "see special_name here") {
		t.Error(focused)
	}
}

func FuzzOutline(f *testing.F) {
	names, _ := filepath.Glob("testdata/outline/*.txtar")
	for _, name := range names {
		if a, err := txtar.ParseFile(name); err == nil {
			f.Add(a.Files[0].Name, string(a.Files[0].Data), 60)
		}
	}
	f.Fuzz(func(t *testing.T, path, text string, limit int) {
		got := outlineText(path, text, OutlineOptions{Max: limit % 1000, Count: countBytes, Recall: "id", Focus: []string{"a_name"}, Edited: []string{"return"}, Ledger: []string{"lost_name"}})
		if countBytes(got) > max(limit%1000, 0) || !utf8.ValidString(got) {
			t.Fatalf("%d tokens of %d: %q", countBytes(got), limit%1000, got)
		}
	})
}

func FuzzDigest(f *testing.F) {
	f.Add("ok\nFAIL\npanic: x\n", 40)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		got := Digest(text, DigestOptions{Max: limit % 1000, Count: countBytes, Recall: "id", Focus: []string{"a_name"}, Ledger: []string{"lost_name"}})
		if countBytes(got) > max(limit%1000, 0) || !utf8.ValidString(got) {
			t.Fatalf("%d tokens of %d: %q", countBytes(got), limit%1000, got)
		}
	})
}

func BenchmarkOutline(b *testing.B) {
	for _, name := range []string{"go", "python", "typescript", "markdown"} {
		a, err := txtar.ParseFile("testdata/outline/" + name + ".txtar")
		if err != nil {
			b.Fatal(err)
		}
		text := strings.Repeat(string(a.Files[0].Data), 100)
		if name == "go" {
			text = "package p\n" + strings.Repeat("// F does.\nfunc F(a int) error {\n\tif a > 1 {\n\t\treturn other.Call(a, \"text\")\n\t}\n\treturn nil\n}\n\n", 1000)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				outlineText(a.Files[0].Name, text, OutlineOptions{Max: 500, Count: countBytes, Recall: "id"})
			}
		})
	}
}

func TestImportsHaveTheirModulesNames(t *testing.T) {
	source := "import os\nfrom shop.pricing import (\n    total,\n    tax,\n)\nfrom a.b import c as d\n\n\ndef run():\n" + strings.Repeat("    total(1)\n", 200)
	outline := outlineText("shop/run.py", source, OutlineOptions{Max: 400})
	if want := "imports os shop.pricing a.b\n"; !strings.Contains(outline, want) {
		t.Errorf("no %q in\n%s", want, outline)
	}
}

// outlineText is the outline of the text of a file, which may have wrappers.
func outlineText(path, text string, o OutlineOptions) string {
	text = unwrapText(text).text
	c := Ref{Path: path, Kind: Read, Size: len(text), shape: outlineOf(path, text)}
	return c.Outline(text, o)
}
