package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/tokens"
)

const home = "http://127.0.0.1:11434"

func learnt(ratio float64) tokens.Calibration { return tokens.Calibration{Ratio: ratio, Weight: 700} }

func put(t *testing.T, c *engine.Calibrations, server, model string, l tokens.Calibration) {
	t.Helper()
	if err := c.Put(server, model, l); err != nil {
		t.Fatal(err)
	}
}

func TestCalibrationsAreKeptForEachModelAndServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "calibrations.json")
	c := engine.OpenCalibrations(path)
	if got := c.Get(home, "a"); got != (tokens.Calibration{}) {
		t.Errorf("before anything: %+v", got)
	}
	put(t, c, home, "a", tokens.Calibration{Ratio: 1.1, Weight: 700, Anchor: 5, Base: 4})
	put(t, c, home, "b", learnt(1.2))
	put(t, c, "http://other:11434", "a", learnt(1.3))
	put(t, c, home, "b", learnt(1.25))
	put(t, c, home, "a", tokens.Calibration{Anchor: 9})
	again := engine.OpenCalibrations(path)
	for _, want := range []struct {
		server, model string
		ratio         float64
	}{{home, "a", 1.1}, {home, "b", 1.25}, {"http://other:11434", "a", 1.3}} {
		if got := again.Get(want.server, want.model); got != learnt(want.ratio) {
			t.Errorf("%s at %s: %+v, want ratio %v", want.model, want.server, got, want.ratio)
		}
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 2 {
		t.Errorf("beside file and lock: %v, %v", names, err)
	}
}

func TestDamagedCalibrationsAreNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibrations.json")
	c := engine.OpenCalibrations(path)
	entry := `{"server":"` + home + `","model":"a","ratio":%s,"weight":%s}`
	for name, text := range map[string]string{
		"empty":             "",
		"no JSON":           `{"version":1,"entries":[`,
		"another version":   `{"version":2,"entries":[` + fmt.Sprintf(entry, "1.1", "5") + `]}`,
		"a ratio below 0":   `{"version":1,"entries":[` + fmt.Sprintf(entry, "-1", "5") + `]}`,
		"a weight below 0":  `{"version":1,"entries":[` + fmt.Sprintf(entry, "1.1", "-5") + `]}`,
		"too large":         `{"version":1,"entries":[` + fmt.Sprintf(entry, "1.1", "5") + `]}` + strings.Repeat(" ", 1<<20),
		"a number too long": `{"version":1,"entries":[` + fmt.Sprintf(entry, "1e999", "5") + `]}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.Get(home, "a"); got != (tokens.Calibration{}) {
			t.Errorf("%s: %+v", name, got)
		}
		put(t, c, home, "a", learnt(1.2))
		if got := c.Get(home, "a"); got != learnt(1.2) {
			t.Errorf("%s, and then one put: %+v", name, got)
		}
	}
}

func TestCalibrationsForgetTheOldest(t *testing.T) {
	c := engine.OpenCalibrations(filepath.Join(t.TempDir(), "calibrations.json"))
	put(t, c, home, "kept", learnt(1.1))
	for i := range 300 {
		put(t, c, home, fmt.Sprint("model ", i), learnt(1.2))
		if i == 200 {
			put(t, c, home, "kept", learnt(1.3))
		}
	}
	for model, want := range map[string]tokens.Calibration{"model 0": {}, "model 299": learnt(1.2), "kept": learnt(1.3)} {
		if got := c.Get(home, model); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
}

func TestCalibrationsAreSharedWithoutLoss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibrations.json")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			c := engine.OpenCalibrations(path) // as another process would
			for j := range 5 {
				if err := c.Put(home, fmt.Sprint(i, "/", j), learnt(1.1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	c := engine.OpenCalibrations(path)
	for i := range 8 {
		for j := range 5 {
			if got := c.Get(home, fmt.Sprint(i, "/", j)); got != learnt(1.1) {
				t.Errorf("model %d/%d: %+v", i, j, got)
			}
		}
	}
}

func TestCalibrationsSayWhereTheyCannotBeKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := engine.OpenCalibrations(filepath.Join(path, "calibrations.json")).Put(home, "a", learnt(1.1))
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error is %v", err)
	}
}
