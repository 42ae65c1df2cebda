package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestEmptyListsAreNeverNull(t *testing.T) {
	type inner struct {
		List []string        `json:"list"`
		Gone []string        `json:"gone,omitempty"`
		At   time.Time       `json:"at"`
		Raw  json.RawMessage `json:"raw,omitempty"`
	}
	var out bytes.Buffer
	v := struct {
		inner
		All  []inner        `json:"all"`
		One  *inner         `json:"one"`
		None *inner         `json:"none,omitempty"`
		Any  any            `json:"any"`
		Map  map[string]any `json:"map"`
	}{All: []inner{{}}, One: new(inner), Any: []int(nil), Map: map[string]any{"a": []string(nil), "b": 1}}
	if err := writeJSONLine(&out, v); err != nil {
		t.Fatal(err)
	}
	const in = `"list":[],"at":"0001-01-01T00:00:00Z"`
	if want := `{` + in + `,"all":[{` + in + `}],"one":{` + in + `},"any":[],"map":{"a":[],"b":1}}` + "\n"; out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

// Every command with --json, on empty input or with nothing to show.
func TestNoCommandWritesNullForAnEmptyList(t *testing.T) {
	t.Setenv("OLLAMA_HOST", "http://127.0.0.1:1")
	dir := t.TempDir()
	empty, clean, kept := filepath.Join(dir, "empty.json"), filepath.Join(dir, "clean.jsonl"), filepath.Join(dir, "kept")
	for path, text := range map[string]string{empty: "[]", clean: `{"role":"user","content":"hello"}` + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	small := filepath.Join(dir, "small.jsonl")
	if _, stderr, err := runLine(t, "compact", empty, "-w", "8192", "--archive", kept, "-o", filepath.Join(dir, "out.json")); err != nil {
		t.Fatal(err, stderr)
	}
	commands := [][]string{
		{"check", empty}, {"check", clean}, {"plan", empty, "-w", "8192"}, {"plan", clean, "-w", "8192"}, {"compact", clean, "-w", "8192", "-o", filepath.Join(dir, "same.jsonl")},
		{"replay", empty, "-w", "8192"}, {"replay", clean, "-w", "8192"}, {"doctor"}, {"config", "show"}, {"version"},
		{"archive", "list", "--archive", kept}, {"archive", "verify", "--archive", kept}, {"archive", "prune", "--archive", kept, "--keep", "1", "--force"},
	}
	filled := filepath.Join(dir, "filled")
	demo := filepath.Join(dir, "demo.jsonl")
	if err := os.WriteFile(demo, demoSession, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := runLine(t, "compact", demo, "-w", "8192", "--engine", "built-in", "--level", "soft", "--archive", filled, "--session", "s", "-o", small); err != nil {
		t.Fatal(err, stderr)
	}
	talk := filepath.Join(dir, "talk.json")
	const one = `[{"conversation": {"session_1": [{"speaker": "Jo", "dia_id": "D1:1", "text": "Lunch in Riga."}]}, "qa": [{"question": "Which town?", "evidence": ["D1:1"], "category": 1}]}]`
	if err := os.WriteFile(talk, []byte(one), 0o600); err != nil {
		t.Fatal(err)
	}
	commands = append(commands, []string{"archive", "list", "--archive", filled}, []string{"archive", "show", "1", "--archive", filled},
		[]string{"archive", "show", "1", "--archive", filled, "--edits"}, []string{"archive", "show", "1", "--archive", filled, "--transcript"},
		[]string{"recall", "orders", "--archive", filled}, []string{"bench", "--quick", "--preset", "steady", "--level", "soft", "--window", "0.5", "--cost=false"},
		[]string{"bench", clean, "--level", "soft", "--window", "0.5", "--cost=false"}, []string{"bench", "score", demo, clean}, []string{"bench", "score", clean, clean}, []string{"bench", "recall", talk}, []string{"undo", small, "--archive", filled, "-o", filepath.Join(dir, "again.jsonl")})
	null := regexp.MustCompile(`(?m)(:\s*null|^null)\b`)
	for _, args := range commands {
		stdout, stderr, err := runLine(t, append(args, "--json")...)
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		shown := strings.ReplaceAll(stdout+stderr, `"share": null`, "") // the share of nothing is not a list
		if found := null.FindString(shown); found != "" {
			t.Errorf("%v: %s in %s%s", args, found, stdout, stderr)
		}
	}
}
