// Package arch holds the architecture: which package of this module may import
// which. A change to the table is a design decision.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/tiercompact/tiercompact"
)

// may lists, for each package, the packages of this module it may import.
// Tests may import anything.
var may = map[string][]string{
	".":                              {"archive", "chat", "internal/cooldown", "internal/edit", "embed", "files", "internal/guard", "internal/usedids", "levels", "internal/protection", "internal/recall", "redact", "internal/sizes", "summarize", "tokens", "trace"},
	"archive":                        {"chat", "internal/edit", "internal/protection", "redact"},
	"internal/archivetest":           {"archive", "chat", "internal/edit"},
	"archive/s3":                     {"archive"},
	"internal/bench":                 {".", "internal/bench/corpus", "chat", "embed", "levels", "internal/recall", "tokens"},
	"internal/bench/corpus":          {"chat"},
	"internal/bench/evidence":        {"archive", "internal/bench", "chat", "embed", "levels", "internal/recall", "wire"},
	"internal/bench/report":          {"internal/bench", "internal/chart", "internal/screen", "levels"},
	"chat":                           {},
	"internal/chattest":              {"chat"},
	"cmd/tiercompact":                {"internal/cli"},
	"internal/cli":                   {".", "archive", "internal/bench", "internal/bench/corpus", "internal/bench/evidence", "internal/bench/report", "chat", "config", "engine", "files", "internal/filetools", "internal/ollama", "internal/openai", "internal/screen", "internal/tui", "levels", "internal/protection", "internal/recall", "redact", "summarize", "tokens", "trace", "internal/timeline", "internal/proxy", "internal/proxy/redisstate", "wire"},
	"config":                         {".", "archive", "archive/s3", "chat", "engine", "levels", "internal/recall", "redact", "summarize", "trace", "trace/ariadne", "internal/otlp", "trace/prometheus"},
	"internal/cooldown":              {},
	"internal/edit":                  {"chat"},
	"embed":                          {"chat", "internal/model"},
	"engine":                         {".", "chat", "embed", "internal/ollama", "internal/openai", "levels", "internal/model", "summarize", "tokens"},
	"internal/embedtest":             {"embed"},
	"examples/coding_session":        {".", "chat", "trace", "trace/ariadne", "internal/ariadnetest"},
	"examples/long_research":         {".", "chat", "trace", "trace/ariadne"},
	"examples/minimal":               {".", "chat", "trace"},
	"examples/models":                {".", "chat", "engine"},
	"examples/ollama":                {".", "chat"},
	"examples/preflight":             {".", "chat"},
	"examples/undo":                  {".", "chat", "trace", "trace/ariadne"},
	"files":                          {"chat", "internal/clip", "internal/logline"},
	"internal/arch":                  {},
	"internal/guard":                 {"archive", "chat", "levels", "summarize", "tokens"},
	"internal/usedids":               {"chat", "internal/protection"},
	"internal/sizes":                 {"chat", "internal/texthash"},
	"internal/texthash":              {},
	"internal/chart":                 {"levels"},
	"internal/clip":                  {},
	"internal/screen":                {".", "archive", "chat", "levels", "summarize"},
	"internal/tui":                   {".", "archive", "chat", "internal/clip", "files", "internal/filetools", "internal/markdown", "internal/screen", "levels", "internal/model", "summarize", "tokens"},
	"internal/fault":                 {},
	"internal/markdown":              {"internal/screen"},
	"internal/filetools":             {},
	"internal/ollama":                {"chat", "internal/remote", "internal/model", "tokens"},
	"internal/ollamatest":            {},
	"internal/ollamatest/testmodels": {"internal/ollamatest"},
	"internal/logline":               {"chat"},
	"internal/openai":                {"chat", "internal/remote", "internal/model", "tokens"},
	"internal/remote":                {"chat", "internal/model"},
	"internal/s3test":                {},
	"levels":                         {"chat", "internal/edit", "embed", "files", "internal/protection", "summarize"},
	"internal/protection":            {"chat"},
	"internal/model":                 {"chat"},
	"internal/proxy":                 {".", "archive", "chat", "internal/edit", "internal/remote", "internal/texthash", "levels", "internal/proxy/page", "redact", "tokens", "trace", "wire"},
	"internal/proxy/redisstate":      {"internal/proxy"},
	"internal/proxy/page":            {"archive", "chat", "internal/edit", "internal/screen", "levels", "internal/recall"},
	"internal/recall":                {"archive", "chat", "embed"},
	"redact":                         {},
	"internal/redacttest":            {},
	"summarize":                      {"chat", "internal/clip", "files", "internal/logline", "internal/model", "redact"},
	"internal/summarizetest":         {"chat", "summarize"},
	"tokens":                         {"chat"},
	"trace":                          {"redact", "levels"},
	"trace/ariadne":                  {"internal/clip", "trace", "internal/loss", "levels"},
	"internal/ariadnetest":           {},
	"internal/loss":                  {"trace"},
	"trace/otel":                     {"trace"},
	"internal/otlp":                  {"trace", "internal/loss", "trace/otel"},
	"trace/prometheus":               {"trace", "levels"},
	"internal/timeline":              {"internal/chart", "internal/screen", "trace", "levels"},
	"wire":                           {"archive", "chat"},
}

// only lists heavy modules, and the packages that may import them: the root
// package and all it imports stay light.
var only = map[string][]string{
	"charm.land/":                   {"internal/tui", "internal/cli", "internal/markdown"},
	"github.com/minio/":             {"archive/s3", "internal/s3test"},
	"github.com/ollama/ollama/":     {"examples/ollama", "internal/ollama", "internal/ollamatest/testmodels"},
	"github.com/sashabaranov/":      {"internal/openai"},
	"github.com/spf13/":             {"internal/cli", "config"},
	"go.yaml.in/yaml/":              {"config", "wire"},
	"github.com/prometheus/":        {"config", "trace/prometheus"},
	"go.opentelemetry.io/otel/sdk/": {"internal/otlp"},
	"go.opentelemetry.io/":          {"trace/otel", "internal/otlp"},
	"gonum.org/v1/plot":             {"internal/bench/report", "internal/chart", "internal/timeline"},
	"net/http":                      {"archive/s3", "config", "internal/cli", "internal/fault", "internal/ollama", "internal/ollamatest", "internal/ollamatest/testmodels", "internal/openai", "internal/remote", "internal/proxy", "internal/proxy/page", "trace/ariadne", "internal/ariadnetest"},
	"go.etcd.io/bbolt":              {"internal/proxy"},
	"github.com/redis/":             {"internal/proxy/redisstate"},
}

// isModule reports whether a folder has a module of its own.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func TestImports(t *testing.T) {
	// The files are parsed here, not listed by the go command: go test caches
	// a result until a file that the test itself opened changes.
	seen := make(map[string]bool)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && isModule(file) {
			return fs.SkipDir
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && file != root) {
			return fs.SkipDir
		}
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		allowed, listed := may[pkg]
		if !listed {
			t.Errorf("%s: no such package in the table", pkg)
		}
		seen[pkg] = true
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value) // parsed, so well formed
			for prefix, where := range only {
				if strings.HasPrefix(imp, prefix) && !slices.Contains(where, pkg) {
					t.Errorf("%s imports %s, which is for %v alone", file, imp, where)
				}
			}
			if rest, ours := strings.CutPrefix(imp, module); ours && !slices.Contains(allowed, path.Join(".", rest)) {
				t.Errorf("%s imports %s, which the table does not allow", file, imp)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range may {
		if !seen[pkg] && pkg != "internal/arch" {
			t.Errorf("%s is in the table, and is no package", pkg)
		}
	}
}
