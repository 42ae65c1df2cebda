package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tiercompact/tiercompact/internal/screen"
)

func TestPathsWithBlanks(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"my docs/a b.txt", "my docs/a c.txt", "my docs/plain", "my notes", "other"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"see @my":                      `see @"my `,
		`see @"my d`:                   `see @"my docs/`,
		`see @"my docs/a`:              `see @"my docs/a `,
		`see @"my docs/a b`:            `see @"my docs/a b.txt" `,
		`see @"my docs/p`:              `see @"my docs/plain" `,
		`see @"o`:                      `see @other `,
		`see @"my docs/a b.txt" and @`: `see @"my docs/a b.txt" and @`,
		"see @o":                       "see @other ",
		"/add my d":                    "/add my docs/",
		"/add my docs/a b":             "/add my docs/a b.txt ",
	} {
		if got, _ := completeLine(line, ".compact"); got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
	for text, want := range map[string][]string{
		`@"my docs/a b.txt" and @other, (not mail@other)`: {"my docs/a b.txt", "other"},
		"@a\n@b!":     {"a", "b"},
		`@"open`:      nil,
		"no @ and @.": nil,
	} {
		equal(t, attachedPaths(text), want)
	}
}

func TestTabCompletes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"main.go", "map.go", "docs/plan.md", "docs/übersicht.md", ".env", ".compact/sessions/monday.jsonl", ".compact/sessions/morning.jsonl"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"/und":               "/undo ",
		"/":                  "/",
		"/s":                 "/s sessions save system",
		"/sa":                "/save ",
		"/nothing":           "/nothing",
		"/add m":             "/add ma main.go map.go",
		"/add d":             "/add docs/",
		"/add docs/p":        "/add docs/plan.md ",
		"/add .e":            "/add .env ",
		"/add x/y":           "/add x/y",
		"what is @mai":       "what is @main.go ",
		"see @docs/":         "see @docs/ docs/plan.md docs/übersicht.md",
		"and @docs/ü":        "and @docs/übersicht.md ",
		"/sessions mo":       "/sessions mo monday morning",
		"/sessions mon":      "/sessions monday ",
		"a word":             "a word",
		"mail someone@docs/": "mail someone@docs/",
		"":                   "",
	} {
		got, candidates := completeLine(line, ".compact")
		if line == "/" {
			if len(candidates) != len(commands()) {
				t.Errorf("%d commands", len(candidates))
			}
			continue
		}
		if line == "/s" { // sorted
			want = "/s save sessions system"
		}
		if all := strings.Join(append([]string{got}, candidates...), " "); strings.TrimRight(all, " ") != strings.TrimRight(want, " ") || len(candidates) == 0 && got != want {
			t.Errorf("%q becomes %q, want %q", line, all, want)
		}
	}
	abs, err := filepath.Abs("main")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := completeLine("/add "+abs, ""); got != "/add "+abs+".go " {
		t.Errorf("an absolute path becomes %q", got)
	}
}

func TestTabInTheInput(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	d.typed("/s")
	d.send(tea.KeyPressMsg{Code: tea.KeyTab})
	if s := d.screenshot(t); !strings.Contains(s, "save sessions system") {
		t.Errorf("the candidates are not shown:\n%s", s)
	}
	d.typed("y")
	d.send(tea.KeyPressMsg{Code: tea.KeyTab})
	if got := d.input.Value(); got != "/system " {
		t.Errorf("the input is %q", got)
	}
}

func TestWhatWasSaidStaysInTheTerminal(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	d.told()
	var out strings.Builder
	d.printTranscript(&out)
	for _, want := range []string{"> what does main.go do?", "fmt.Println(", "↓ soft −536 tokens"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for range 3 * maxPrinted {
		d.page.addBlock(noted, "line")
	}
	out.Reset()
	if d.printTranscript(&out); strings.Count(out.String(), "\n") != maxPrinted {
		t.Errorf("%d lines were printed", strings.Count(out.String(), "\n"))
	}
}
