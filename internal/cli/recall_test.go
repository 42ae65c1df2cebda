package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
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
			text, _, err := runLine(t, "recall", e.Recall, "--archive", folder)
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
