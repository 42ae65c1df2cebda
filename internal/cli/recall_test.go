package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
)

// runLine runs a command line in this process.
func runLine(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := newRootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestEveryRecallIDOfAReplayGivesWhatWasRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	lines, _, err := runLine(t, "replay", "--archive", folder, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	ids := 0
	for line := range strings.Lines(lines) {
		var b struct{ Report tiercompact.Report }
		if err := json.Unmarshal([]byte(line), &b); err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Report.Edits {
			if e.Recall == "" {
				continue
			}
			ids++
			text, _, err := runLine(t, "recall", e.Recall, "--full", "--archive", folder)
			if err != nil {
				t.Errorf("recall %s: %v", e.Recall, err)
			}
			whole.WriteString(text)
			if _, _, err := runLine(t, "recall", e.Recall, "--archive", folder, "--json", "--session", "demo"); err != nil {
				t.Errorf("recall %s as JSON: %v", e.Recall, err)
			}
		}
	}
	if ids < 5 {
		t.Errorf("only %d recall ids in a replay of three levels", ids)
	}
	for _, lost := range []string{"def apply_coupon(lines: list[Line], coupon: Coupon)", "CREATE TABLE customers", "309447  588.914"} {
		if !strings.Contains(whole.String(), lost) {
			t.Errorf("%q left the conversation and cannot be recalled", lost)
		}
	}
}

// An id in a lost step is an error that names the file, never a list of search hits.
func TestRecallOfALostStepIsAnError(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	if _, _, err := runLine(t, "replay", "--archive", folder); err != nil {
		t.Fatal(err)
	}
	text, _, err := runLine(t, "archive", "show", "1", "--archive", folder, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var step struct{ Removed []struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &step); err != nil || len(step.Removed) == 0 {
		t.Fatalf("%v, %v", step, err)
	}
	lost, err := filepath.Glob(filepath.Join(folder, "demo", "steps-001*.pack"))
	if err != nil || len(lost) != 1 {
		t.Fatal(lost, err)
	}
	if err := os.Remove(lost[0]); err != nil {
		t.Fatal(err)
	}
	for _, e := range step.Removed {
		text, _, err := runLine(t, "recall", e.ID, "--archive", folder)
		if !errors.Is(err, archive.ErrDamaged) || !strings.Contains(err.Error(), filepath.Base(lost[0])) || text != "" {
			t.Errorf("recall %s: %q, %v", e.ID, text, err)
		}
	}
}

func TestTitlesFitTheTerminal(t *testing.T) {
	text := "recall 0123abcd (session s):\n== message 1, user\nhello\n\n== message 2, Bash find . -name '*.go' -path '*/cmd/*' -type f | head, failed, lines 3-9\n== x\n"
	for width, want := range map[int]string{
		0:  text,
		60: "recall 0123abcd (session s):\n== message 1, user\nhello\n\n== message 2, Bash find . -name '*.go' -…, failed, lines 3-9\n\n== x\n",
	} {
		if got := fitTitles(text, width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}
