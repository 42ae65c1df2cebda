package arch

import (
	"cmp"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the import table of CONTRIBUTING.md")

// documented matches the table in CONTRIBUTING.md.
var documented = regexp.MustCompile(`(?m)^\| package \|.*\n(\|.*\n)+`)

func TestContributingHasTheImportTable(t *testing.T) {
	file := filepath.Join(root, "CONTRIBUTING.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if tables := documented.FindAll(text, -1); len(tables) != 1 {
		t.Fatalf("%s has %d import tables", file, len(tables))
	}
	want := documented.ReplaceAllLiteralString(string(text), importTable())
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("the import table of %s is out of date; go test ./internal/arch -update writes it", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// importTable returns the table in Markdown, from the packages that import
// nothing to those at the top. Packages with the same imports share a row.
// Examples, test doubles, and this package are left out.
func importTable() string {
	sharing := make(map[string][]string)
	for _, pkg := range slices.Sorted(maps.Keys(may)) {
		if pkg == "internal/arch" || strings.HasPrefix(pkg, "examples/") || strings.HasSuffix(pkg, "test") || strings.Contains(pkg, "test/") {
			continue
		}
		imports := names(slices.Sorted(slices.Values(may[pkg])))
		sharing[imports] = append(sharing[imports], pkg)
	}
	rows := slices.SortedFunc(maps.Values(sharing), func(a, b []string) int {
		return cmp.Or(cmp.Compare(layer(a[0]), layer(b[0])), cmp.Compare(a[0], b[0]))
	})
	var table strings.Builder
	table.WriteString("| package | imports of ours |\n|---|---|\n")
	for _, row := range rows {
		imports := cmp.Or(names(slices.Sorted(slices.Values(may[row[0]]))), "none")
		table.WriteString("| " + names(row) + " | " + imports + " |\n")
	}
	return table.String()
}

// layer returns how many imports are between a package and one without any.
func layer(pkg string) int {
	n := 0
	for _, imported := range may[pkg] {
		n = max(n, layer(imported)+1)
	}
	return n
}

func names(packages []string) string {
	quoted := make([]string, len(packages))
	for i, pkg := range packages {
		quoted[i] = "`" + pkg + "`"
		if pkg == "." {
			quoted[i] = "the root"
		}
	}
	return strings.Join(quoted, ", ")
}
