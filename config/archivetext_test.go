package config_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/config"
)

// An archive may be one text, as the flag takes it.
func TestArchiveAsOneText(t *testing.T) {
	for text, want := range map[string]string{
		"archive: kept\n":                         "kept",
		"archive: \"some/folder\"\n":              "some/folder",
		"archive: s3://bucket/pre/fix\n":          "s3://bucket/pre/fix",
		"archive: memory\n":                       "",
		"archive:\n  adapter: dir\n  dir: kept\n": "kept",
	} {
		if got := loadText(t, "compact.yaml", text).Config.Archive.Place(); got != want {
			t.Errorf("%q: the archive is at %q, want %q", text, got, want)
		}
	}
}

func TestShowIsLimitedToPaths(t *testing.T) {
	l := loadText(t, "compact.yaml", "window: 9000\npolicy:\n  trigger_pct: 0.5\n")
	for _, test := range []struct {
		changed bool
		only    []string
		want    string
	}{
		{false, []string{"window"}, "window: 9000  # \n"},
		{true, []string{"policy"}, "policy:\n  trigger_pct: 0.5  # \n"},
		{true, []string{"trigger"}, ""},
	} {
		if got := string(l.YAML(test.changed, test.only...)); !strings.HasPrefix(got, strings.TrimSuffix(test.want, "\n")) || strings.Count(got, "\n") != strings.Count(test.want, "\n") {
			t.Errorf("%v: %q, want %q", test.only, got, test.want)
		}
		if got := l.Values(test.changed, test.only...); (len(got) == 0) != (test.want == "") || len(got) > 1 {
			t.Errorf("%v: %v", test.only, got)
		}
	}
	if _, err := config.ResolvePath("windo"); err == nil {
		t.Error("an unknown setting has a path")
	}
}
