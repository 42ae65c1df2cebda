package redact_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/redact"
)

var (
	linesOf   = flag.String("lines", "", "folders and files, with commas between, whose lines are redacted, in place of Go's own sources")
	showLines = flag.Bool("show", false, "print the lines that were touched")
)

// A count is the number of changed lines of a text.
type count struct{ all, secrets, personal int }

// touched redacts text as a whole, like the result of a tool, and counts the
// changed lines, those with personal data separately.
func touched(text string, show func(kind, was string)) (c count) {
	keep, err := redact.New(redact.Options{KeepPII: true})
	if err != nil {
		panic(err) // there is no pattern
	}
	secrets := keep.String(text)
	both := redact.Default().String(text)
	marked := func(s string) map[string]int {
		lines := make(map[string]int)
		for line := range strings.Lines(s) {
			if strings.Contains(line, redact.Mark) {
				lines[line]++
			}
		}
		return lines
	}
	before, afterSecrets, afterBoth := marked(text), marked(secrets), marked(both)
	c.all = strings.Count(text, "\n")
	for line, n := range afterSecrets {
		if n -= before[line]; n > 0 {
			c.secrets += n
			show("secret", line)
		}
	}
	for line, n := range afterBoth {
		if n -= max(afterSecrets[line], before[line]); n > 0 {
			c.personal += n
			show("personal", line)
		}
	}
	return c
}

// realTexts returns about most lines of real text below a root: whole files, one
// out of several, always the same.
func realTexts(t *testing.T, root string, most int) (texts []string, names []string) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && (info.Size() < 4<<20 || path == root) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	lines := 0
	step := max(1, len(files)/251)
	for start := 0; start < step && lines < most; start++ {
		for i := start; i < len(files) && lines < most; i += step {
			text, err := os.ReadFile(files[i])
			if err != nil || strings.Contains(string(text[:min(len(text), 4096)]), "\x00") {
				continue
			}
			texts, names = append(texts, string(text)), append(names, files[i])
			lines += strings.Count(string(text), "\n")
		}
	}
	return texts, names
}

// Redaction hardly changes real text: under 0.1 % of the lines of Go's standard
// library, including tests with keys and passwords.
//
//	go test ./redact -run TestRealTextIsHardlyTouched -v -args -lines=FOLDER,FILE -show
func TestRealTextIsHardlyTouched(t *testing.T) {
	roots := strings.Split(*linesOf, ",")
	most := 1 << 30
	if *linesOf == "" {
		goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		roots, most = []string{filepath.Join(strings.TrimSpace(string(goroot)), "src")}, 20_000
	}
	var sum count
	for _, root := range roots {
		texts, names := realTexts(t, root, most)
		var c count
		for i, text := range texts {
			one := touched(text, func(kind, line string) {
				if *showLines {
					fmt.Printf("%s: %s: %.240s\n", kind, names[i], strings.TrimSpace(line))
				}
			})
			c.all, c.secrets, c.personal = c.all+one.all, c.secrets+one.secrets, c.personal+one.personal
		}
		t.Logf("%s: %d lines, %d touched by secrets (%.3f %%), %d more by personal data (%.3f %%)", root, c.all, c.secrets, 100*float64(c.secrets)/float64(max(1, c.all)), c.personal, 100*float64(c.personal)/float64(max(1, c.all)))
		sum.all, sum.secrets, sum.personal = sum.all+c.all, sum.secrets+c.secrets, sum.personal+c.personal
	}
	t.Logf("together: %d lines, %d touched by secrets (%.3f %%), %d more by personal data (%.3f %%)", sum.all, sum.secrets, 100*float64(sum.secrets)/float64(max(1, sum.all)), sum.personal, 100*float64(sum.personal)/float64(max(1, sum.all)))
	if sum.all < 10_000 && *linesOf == "" {
		t.Skipf("a share of only %d lines says nothing: a Go without its sources", sum.all)
	}
	if share := float64(sum.secrets) / float64(sum.all); share >= 0.001 && *linesOf == "" {
		t.Errorf("%d of %d lines are touched", sum.secrets, sum.all)
	}
}
