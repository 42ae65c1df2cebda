package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tiercompact/tiercompact/internal/fault"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tiercompact": Main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"make": makeFile, "spoil": spoilFile, "ollama": func(ts *testscript.TestScript, neg bool, args []string) { startOllama(t, ts, neg, args) }},
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLUMNS", "80")
			e.Setenv("OLLAMA_HOST", "127.0.0.1:1") // no server listens there
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			return nil
		},
	})
}

// startOllama starts a scripted server, and has OLLAMA_HOST name it:
// ollama MODEL=CAPABILITY,CAPABILITY…
func startOllama(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: ollama MODEL=CAPABILITY,…")
	}
	server := fault.Fake(t)
	server.Models = nil
	for _, arg := range args {
		name, can, _ := strings.Cut(arg, "=")
		server.Models = append(server.Models, fault.Model{Name: name, Capabilities: strings.Split(can, ","), Window: 8192})
	}
	server.Pullable = []fault.Model{
		{Name: "nomic-embed-text:latest", Capabilities: []string{fault.Embedding}, Window: 2048},
		{Name: "llama3.2:3b", Capabilities: []string{fault.Completion}, Window: 131072},
	}
	ts.Setenv("OLLAMA_HOST", server.URL)
}

// makeFile writes text n times into a file, between before and after: make FILE N
// BEFORE TEXT AFTER.
func makeFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: make FILE N BEFORE TEXT AFTER")
	}
	n := 0
	for _, d := range args[1] {
		n = 10*n + int(d-'0')
	}
	unescape := strings.NewReplacer(`\n`, "\n", `\xff`, "\xff").Replace
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(unescape(args[2])+strings.Repeat(unescape(args[3]), n)+unescape(args[4])), 0o644))
}

// spoilFile replaces a text in a file: spoil FILE OLD NEW.
func spoilFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: spoil FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
}
