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

func TestReadmeShowsTheMinimalProgram(t *testing.T) {
	if got, want := blocks(t, "go")[0], string(readFile(t, "examples/minimal/main.go")); got != want {
		t.Errorf("the README shows\n%s\nexamples/minimal/main.go is\n%s", got, want)
	}
	_, body, _ := strings.Cut(blocks(t, "go")[0], "func main() {\n")
	if n := strings.Count(body, "\n") - 1; n > 10 {
		t.Errorf("its main has %d lines", n)
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
			if strings.HasPrefix(line, "go ") {
				continue
			}
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir, cmd.Env = folder, append(os.Environ(), "OLLAMA_HOST=127.0.0.1:1") // where nobody answers
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

// checkDemo holds that the table of the README is what a replay ends with, but
// for the milliseconds.
func checkDemo(t *testing.T, folder string) {
	t.Helper()
	out, err := exec.Command(filepath.Join(folder, "tiercompact"), "replay", "--engine", "built-in").Output()
	if err != nil {
		t.Fatal("replay:", err)
	}
	tables := slices.DeleteFunc(blocks(t, "text"), func(b string) bool { return !strings.HasPrefix(b, "level ") })
	if len(tables) != 1 {
		t.Fatalf("%d tables of levels", len(tables))
	}
	for line := range strings.Lines(tables[0]) {
		if line = strings.TrimSpace(line); !strings.Contains(string(out), line) {
			t.Errorf("a replay does not show %q", line)
		}
	}
}

func TestReadmeIsComplete(t *testing.T) {
	text := string(readFile(t, "README.md"))
	named := func(what, name string) {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name+" ") {
			t.Errorf("the README does not name %s %s", what, name)
		}
	}
	for _, f := range wire.Formats() {
		named("format", f.Name)
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
		cmd := exec.Command("go", "run", "-buildvcs=false", "./"+filepath.ToSlash(filepath.Dir(p)))
		cmd.Stderr = os.Stderr
		if out, err := cmd.Output(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v\n%s", p, err, out)
		}
	}
}
