package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/INVARIANTS.md names exists.
func TestInvariantsNameTests(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "INVARIANTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := make(map[string]bool)
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(doc), -1) {
		missing[name] = true
	}
	if len(missing) < 11 {
		t.Fatalf("%d tests are named", len(missing))
	}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			delete(missing, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("docs/INVARIANTS.md names %s, which does not exist", name)
	}
}
