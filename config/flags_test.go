package config_test

import (
	"github.com/tiercompact/tiercompact"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/tiercompact/tiercompact/config"
)

func TestFlagsTakeAutoAndAnEmptyList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "compact.yaml")
	write(t, path, "window: 9\npolicy: {hard_cap_buffer: 9, protect: [m1]}\nsummary: {max_tokens: 9}\n")
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.Register(fs, config.Paths()...)
	if err := fs.Parse([]string{"--window=auto", "--hard-cap-buffer=auto", "--summary-max-tokens=auto", "--roles-never-prune=[]", "--protect=[]"}); err != nil {
		t.Fatal(err)
	}
	c := load(t, config.Options{File: path, Flags: fs}).Config
	if c.Window != 0 || c.Policy.HardCapBuffer != (tiercompact.Size{}) || c.Summary.MaxTokens != (tiercompact.Size{}) {
		t.Errorf("numbers are %d, %v, %v", c.Window, c.Policy.HardCapBuffer, c.Summary.MaxTokens)
	}
	if len(c.Policy.RolesNeverPrune)+len(c.Protect) > 0 {
		t.Errorf("protected are %v, %v", c.Policy.RolesNeverPrune, c.Protect)
	}
}

func TestAStrongerSourceTurnsTheArchiveOff(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compact.yaml")
	write(t, path, "archive: {adapter: s3, dir: kept, s3: {bucket: b, region: r}}\n")
	l := load(t, config.Options{File: path, Environ: []string{"COMPACT_ADAPTER=memory"}})
	if got := l.Config.Archive.Adapter; got != config.Memory {
		t.Errorf("adapter is %s", got)
	}
	if _, err := config.Load(config.Options{File: path, Environ: []string{"COMPACT_ADAPTER=memory", "COMPACT_DIR=other"}}); err == nil || !strings.Contains(err.Error(), "archive.dir must be left out") {
		t.Errorf("a folder for no archive: error is %v", err)
	}
}
