package archive

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPruneRemovesDrafts(t *testing.T) {
	root, d := twoSessions(t)
	draft := filepath.Join(root, "s", tempMark+transcriptName(3))
	must(t, os.WriteFile(draft, []byte("{"), 0o600))
	_, err := Prune(t.Context(), d, "s", PruneOptions{Keep: 5, Dry: true})
	must(t, err)
	if _, err := os.Stat(draft); err != nil {
		t.Errorf("with Dry: %v", err)
	}
	_, err = Prune(t.Context(), d, "s", PruneOptions{Keep: 5})
	must(t, err)
	if f, err := Verify(t.Context(), d, "s"); err != nil || !f.Clean() || len(f.Notes) > 0 || f.Steps != 2 {
		t.Errorf("Verify = %+v, %v", f, err)
	}
}
