package suite

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/wire"
)

// blocks returns the code blocks of a language in the README.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var out []string
	for _, found := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllSubmatch(readFile(t, "README.md"), -1) {
		out = append(out, string(found[1]))
	}
	if len(out) == 0 {
		t.Fatalf("the README has no block of %s", language)
	}
	return out
}

// The README shows the loop of examples/ollama, and what it prints when each
// answer has 150 words.
func TestReadmeShowsAChatWithOllama(t *testing.T) {
	loop := regexp.MustCompile("(?m)^(.)").ReplaceAllString(blocks(t, "go")[0], "\t$1")
	if !strings.Contains(string(readFile(t, "examples/ollama/main.go")), loop) {
		t.Errorf("examples/ollama/main.go does not have\n%s", loop)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command")
	}
	server := fault.Fake(t)
	server.Answer = func(string) string {
		return strings.Repeat("The handler reads the token, and looks it up in the store. It", 12)
	}
	cmd := exec.Command("go", "run", "-buildvcs=false", "./examples/ollama")
	cmd.Env = append(os.Environ(), "OLLAMA_HOST="+server.URL)
	cmd.Stdin = strings.NewReader(strings.Repeat("How does the login work?\n", 8))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || !slices.Contains(blocks(t, "text"), string(out)) {
		t.Errorf("the README does not show what is printed (%v):\n%s", err, out)
	}
}

func TestReadmeCommandsWork(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs the go command and a POSIX shell")
	}
	folder := t.TempDir()
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", folder, "./cmd/tiercompact").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	checkDemo(t, folder)
	ran := 0
	for _, block := range blocks(t, "sh") {
		for line := range strings.Lines(block) {
			if !strings.HasPrefix(line, "./tiercompact ") {
				continue
			}
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir, cmd.Env = folder, append(os.Environ(), "OLLAMA_HOST=127.0.0.1:1") // no server there
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s%v\n%s", line, err, out)
			}
			ran++
		}
	}
	if ran < 5 {
		t.Errorf("%d commands", ran)
	}
}

// checkDemo holds that the README shows lines of a replay, and docs/SPEED.md its
// table, but for the milliseconds.
func checkDemo(t *testing.T, folder string) {
	t.Helper()
	out, err := exec.Command(filepath.Join(folder, "tiercompact"), "replay", "--engine", "built-in").Output()
	if err != nil {
		t.Fatal("replay:", err)
	}
	milliseconds := regexp.MustCompile(`[0-9.]+ ms`)
	replayed := milliseconds.ReplaceAllString(string(out), "ms")
	shown := append(blocks(t, "text")[:1], tableOfLevels(t))
	for line := range strings.Lines(strings.Join(shown, "")) {
		if line = milliseconds.ReplaceAllString(strings.TrimSpace(line), "ms"); !strings.Contains(replayed, line) {
			t.Errorf("a replay does not show %q", line)
		}
	}
}

// tableOfLevels returns the table of docs/SPEED.md that a replay ends with.
func tableOfLevels(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile("(?ms)^```text\n(level .*?)^```").FindSubmatch(readFile(t, "docs/SPEED.md"))
	if found == nil {
		t.Fatal("docs/SPEED.md has no table of levels")
	}
	return string(found[1])
}

func TestEveryFormatIsDocumented(t *testing.T) {
	text := string(readFile(t, "docs/FORMATS.md"))
	for _, f := range wire.Formats() {
		if !strings.Contains(text, "`"+f.Name+"`") {
			t.Errorf("docs/FORMATS.md does not name %s", f.Name)
		}
	}
}

// The README is read in three minutes, and its first screen says what this is.
func TestReadmeIsShort(t *testing.T) {
	lines := strings.Split(string(readFile(t, "README.md")), "\n")
	if len(lines) > 130 {
		t.Errorf("%d lines", len(lines))
	}
	if first := strings.Join(lines[:min(40, len(lines))], "\n"); !strings.Contains(first, "cmd/tiercompact replay") || !strings.Contains(first, "go test ./...") {
		t.Error("the first 40 lines do not have the two commands")
	}
}

func TestEveryExampleRuns(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command")
	}
	programs, err := filepath.Glob("examples/*/main.go")
	if err != nil || len(programs) == 0 {
		t.Fatal("no examples", err)
	}
	for _, p := range programs {
		if filepath.Dir(p) == filepath.Join("examples", "ollama") {
			continue // needs a server: TestReadmeShowsAChatWithOllama runs it
		}
		cmd := exec.Command("go", "run", "-buildvcs=false", "./"+filepath.ToSlash(filepath.Dir(p)))
		cmd.Stderr = os.Stderr
		if out, err := cmd.Output(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v\n%s", p, err, out)
		}
	}
}
