package suite

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// recipe is a copy of the module in which the level of CONTRIBUTING is added, as
// the go command sees it: an overlay of its two files and its line in the list.
type recipe struct {
	*testing.T
	folder, overlay string
	name            string // of the level
}

func newRecipe(t *testing.T) recipe {
	t.Helper()
	text := string(readFile(t, "CONTRIBUTING.md"))
	blocks := regexp.MustCompile("(?ms)^`levels/([a-z]+)\\.go`\n\n```go\n(.*?)^```.*?^`levels/[a-z]+_test\\.go`\n\n```go\n(.*?)^```.*?```go\n(.*?)^```").FindStringSubmatch(text)
	if blocks == nil {
		t.Fatal("CONTRIBUTING has no level to add")
	}
	r := recipe{T: t, folder: t.TempDir(), name: blocks[1]}
	const before = "\t\thardLevel(),\n"
	list := string(readFile(t, "levels/level.go"))
	if strings.Count(list, before) != 1 {
		t.Fatal("the list has no place for it")
	}
	replaced := make(map[string]string)
	for path, content := range map[string]string{
		"levels/" + r.name + ".go": blocks[2], "levels/" + r.name + "_test.go": blocks[3],
		"levels/level.go": strings.Replace(list, before, blocks[4]+before, 1),
	} {
		module, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		replaced[module] = r.write(filepath.Base(path), content)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	r.overlay = r.write("overlay.json", string(overlay))
	return r
}

func (r recipe) write(name, content string) string {
	r.Helper()
	path := filepath.Join(r.folder, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.Fatal(err)
	}
	return path
}

// run returns the output of a command. It runs in a folder without a settings file.
func (r recipe) run(folder, command string, args ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), command, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "OLLAMA_HOST=127.0.0.1:1") // no server there
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("%s %s: %v\n%s", command, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// expect asks text for lines that match patterns, in which NAME is the level.
func (r recipe) expect(what, text string, patterns ...string) {
	r.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + strings.ReplaceAll(p, "NAME", r.name)).MatchString(text) {
			r.Errorf("%s lacks %s:\n%s", what, p, text)
		}
	}
}

// TestALevelIsAddedByTheRecipe adds the level of CONTRIBUTING, and checks all outputs that name
// levels.
func TestALevelIsAddedByTheRecipe(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "windows" || testing.Short() {
		t.Skip("builds the program, with the go command")
	}
	r := newRecipe(t)
	program := filepath.Join(r.folder, "tiercompact")
	r.run("", "go", "build", "-buildvcs=false", "-overlay", r.overlay, "-o", program, "./cmd/tiercompact")
	use := func(args ...string) string { r.Helper(); return r.run(r.folder, program, args...) }

	r.expect("help", strings.Join(strings.Fields(use("plan", "--help")), " "), "use this level in place of the one by usage: soft, NAME, hard, emergency", "--thresholds S,O,H,E")
	r.expect("bench's help", strings.Join(strings.Fields(use("bench", "--help")), " "), "auto, soft, NAME, hard, emergency")
	r.expect("settings of --thresholds", use("config", "show", "--thresholds", "0.5,0.6,0.7,0.8", "--level", r.name), "level: +NAME", "NAME: +0.6 ")
	r.write("compact.yaml", "level: "+r.name+"\nthresholds: {"+r.name+": 0.62}\n")
	r.expect("settings of a file", use("config", "show"), "level: +NAME", "NAME: +0.62 ")
	r.expect("a new file of settings", use("config", "init", "other.yaml")+string(readFile(t, filepath.Join(r.folder, "other.yaml"))), "NAME: +0.7")
	if err := os.Remove(filepath.Join(r.folder, "compact.yaml")); err != nil {
		t.Fatal(err)
	}

	const at = "0.5,0.6,0.8,0.9"
	r.expect("replay", use("replay", "--trace", "events.jsonl", "--timeline", "picture.svg", "--thresholds", at), "soft from 50 %, NAME from 60 %, hard from 80 %", "NAME −[0-9,]+ →", "^NAME +[1-9][0-9]* +[0-9,]+ +[1-9][0-9]* %")
	r.expect("replay's JSON", use("replay", "--json", "--thresholds", at), `"level":"NAME","times":[1-9][0-9]*,"freed":[1-9]`)
	r.expect("events", string(readFile(t, filepath.Join(r.folder, "events.jsonl"))), `"thresholds":\{"soft":0.5,"NAME":0.6,"hard":0.8,"emergency":0.9\}`, `compact.level_applied.*"level":"NAME"`)
	r.expect("the timeline", string(readFile(t, filepath.Join(r.folder, "picture.svg"))), ">freed by NAME<", ">NAME 60 %<")
	r.expect("doctor", use("doctor", "--engine", "built-in"), "NAME +built-in")
	r.expect("bench", use("bench", "--quick", "--level", r.name, "--preset", "default"), "outputs +NAME +hard +emergency +fit", "^ +NAME +[1-9]", "soft, ms +NAME, ms +hard, ms")

	for packages, tests := range map[string][]string{
		"./levels":           {"TestOldestDropsTheOlderHalf", "TestTheListIsWhole", "TestWhatEachLevelPlansIsAccepted/" + r.name},
		"./internal/suite":   {"TestRandomAtEachLevel/" + r.name},
		"./trace/prometheus": {"TestEveryLevelHasItsLabel/" + r.name},
		"./config":           {"TestReferenceHasEveryLevel/" + r.name, "TestEveryFieldOfTheLibraryHasASettingOrAReason"},
	} {
		for _, test := range tests {
			pattern := "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
			r.expect("the test of "+packages, r.run("", "go", "test", "-overlay", r.overlay, "-v", "-run", pattern, packages), "--- PASS: "+test+" ")
		}
	}
}
