package config_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/config"
)

func TestNearestNamesAreTold(t *testing.T) {
	for given, want := range map[string]string{
		"policy.triger_pct": "policy.trigger_pct", "trigger_pct": "policy.trigger_pct", "summary.role": "summary_role",
		"Preset": "preset", "hard_until": "hard.until", "archive.required": "archive_required", "protect": "policy.protect",
		"polcy": "policy", "POLICY": "policy", "trace.otpl": "trace.otlp", "xyzzy": "", strings.Repeat("policy", 50): "",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "compact.json"), `{"`+given+`": 1}`)
		_, err := config.Load(config.Options{Dir: dir, Environ: []string{}})
		if want == "" {
			want = "tiercompact config init writes all that there are"
		} else {
			want = "did you mean " + want + "?"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", given, err, want)
		}
	}
}

// A variable may belong to another program with the same prefix, so it is not an error.
func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	for given, want := range map[string]string{
		"COMPACT_ENABLED": "did you mean COMPACT_REDACT_ENABLED?", "COMPACT_SOFT": "did you mean COMPACT_THRESHOLDS_SOFT?",
		"COMPACT_SUMMARY": "did you mean COMPACT_DEADLINES_SUMMARY?", "COMPACT_WNDOW": "did you mean COMPACT_WINDOW?", "COMPACT_policy.reserve": "did you mean COMPACT_POLICY_RESERVE?",
		"COMPACT_": "tiercompact config init writes all", "COMPACT_ZZZZ": "tiercompact config init writes all",
		"COMPACT_TRIGER_PCT": "did you mean COMPACT_TRIGGER_PCT?", "COMPACT_S3_SECRET_KEY": "credentials do not belong", "COMPACT_PASSWORD": "COMPACT_API_KEY",
	} {
		const secret = "correct horse"
		l := load(t, config.Options{Environ: []string{given + "=" + secret, "COMPACT_FILL=0.3", "COMPACT_API_KEY=x", "OTHER=1"}})
		notices := l.Notices()
		if len(notices) != 1 || !strings.HasPrefix(notices[0], given+" is no setting and changes nothing; ") || !strings.Contains(notices[0], want) || strings.Contains(notices[0], secret) {
			t.Errorf("%s: notices are %q, want one with %q", given, notices, want)
		}
		if l.Config.Fill != 0.3 {
			t.Errorf("%s: the other variables do not hold", given)
		}
	}
}

func TestEachErrorOfAListIsTold(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "compact.yaml"), "policy:\n  protect:\n  - role:bob\n  - m1\n  - /(/\n  - [x]\nredact:\n  patterns:\n  - name: a\n  - {regexp: x}\n  - {regexp: '['}\n  - 7\n  - y\n")
	_, err := config.Load(config.Options{Dir: dir, Environ: []string{}})
	var all config.Errors
	if !errors.As(err, &all) {
		t.Fatalf("error is %v", err)
	}
	var got []string
	for _, e := range all {
		got = append(got, fmt.Sprintf("%s:%d", e.Path, e.Origin.Line))
		if strings.Contains(e.Remedy, "quotes") {
			t.Errorf("quotes make no text of a list: %v", e)
		}
	}
	want := "policy.protect[0]:3 policy.protect[2]:5 policy.protect[3]:6 redact.patterns[0].regexp:9 redact.patterns[2].regexp:11 redact.patterns[3]:12"
	if strings.Join(got, " ") != want {
		t.Errorf("errors are %v, want %s", got, want)
	}
}

func TestAPathOfWindowsInDoubleQuotesIsExplained(t *testing.T) {
	for _, path := range []string{`C:\Users\x`, `C:\t.jsonl`, `C:\q`} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "compact.yaml"), `embed: {cache: "`+path+`"}`)
		if _, err := config.Load(config.Options{Dir: dir, Environ: []string{}}); err == nil || !strings.Contains(err.Error(), "a backslash begins an escape") {
			t.Errorf("%s: error is %v", path, err)
		}
	}
}
