// Command style prints the measures of a module's style: how long functions and
// their names are, how many unexported functions share a name, how many packages
// can be imported, and how often certain words are in comments and documents.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var words = []*regexp.Regexp{regexp.MustCompile(`(?i)\b(stand|stands|stood)\b`), regexp.MustCompile(`(?i)\bwhere\b`)}

type measures struct {
	lengths, names []int          // of functions, in lines; of their names, in letters
	shared         map[string]int // unexported functions of a name
	packages       map[string]bool
	words          []int
}

func main() {
	log.SetFlags(0)
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	m := measures{shared: make(map[string]int), packages: make(map[string]bool), words: make([]int, len(words))}
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return m.skipFolder(root, path, d.Name())
		case strings.HasSuffix(path, ".md"):
			text, err := os.ReadFile(path)
			m.countWords(string(text))
			return err
		case strings.HasSuffix(path, ".go"):
			return m.addFile(root, path)
		}
		return nil
	}); err != nil {
		log.Fatal(err)
	}
	m.print()
}

// skipFolder leaves out fixtures, hidden folders and other modules.
func (m *measures) skipFolder(root, path, name string) error {
	if path == root {
		return nil
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || name == "testdata" || strings.HasPrefix(name, ".") {
		return fs.SkipDir
	}
	return nil
}

func (m *measures) addFile(root, path string) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range f.Comments {
		m.countWords(group.Text())
	}
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	if folder, err := filepath.Rel(root, filepath.Dir(path)); err == nil && f.Name.Name != "main" && !slices.Contains(strings.Split(filepath.ToSlash(folder), "/"), "internal") {
		m.packages[folder] = true
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		m.lengths = append(m.lengths, files.Position(fn.End()).Line-files.Position(fn.Pos()).Line+1)
		m.names = append(m.names, len(fn.Name.Name))
		if !fn.Name.IsExported() && fn.Name.Name != "main" && fn.Name.Name != "init" {
			m.shared[fn.Name.Name]++
		}
	}
	return nil
}

func (m *measures) countWords(text string) {
	for i, word := range words {
		m.words[i] += len(word.FindAllString(text, -1))
	}
}

func (m *measures) print() {
	slices.Sort(m.lengths)
	slices.Sort(m.names)
	shared, unexported := 0, 0
	for _, n := range m.shared {
		unexported += n
		if n >= 5 {
			shared += n
		}
	}
	fmt.Printf("functions             %6d\n", len(m.lengths))
	fmt.Printf("lines of one, p50     %6d\n", percentile(m.lengths, 50))
	fmt.Printf("lines of one, p95     %6d\n", percentile(m.lengths, 95))
	fmt.Printf("letters of a name     %6d\n", percentile(m.names, 50))
	fmt.Printf("names shared by 5+    %6.1f %% of %d unexported\n", 100*float64(shared)/float64(max(1, unexported)), unexported)
	fmt.Printf("importable packages   %6d\n", len(m.packages))
	for i, word := range words {
		fmt.Printf("%-21s %6d in comments and documents\n", strings.Trim(strings.TrimPrefix(word.String(), "(?i)"), `\b()`), m.words[i])
	}
}

func percentile(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}
