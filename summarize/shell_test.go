package summarize

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitShell(t *testing.T) {
	for line, want := range map[string]string{
		"make":                                         "[{make }]",
		"cd /x && make -j4; echo ok":                   "[{cd /x &&} {make -j4 ;} {echo ok }]",
		"a | b || c & d":                               "[{a |} {b ||} {c &} {d }]",
		"go test ./... 2>&1 | tail -3":                 "[{go test ./... 2>&1 |} {tail -3 }]",
		"a &> log && b |& c":                           "[{a &> log &&} {b |} {c }]",
		`grep "a | b; c" f | wc -l`:                    `[{grep "a | b; c" f |} {wc -l }]`,
		`echo 'it && that' \; x`:                       `[{echo 'it && that' \; x }]`,
		"# first, a word; or two\nmake # all\n":        "[{make ;}]",
		"a\n\nb":                                       "[{a ;} {b }]",
		"cat > f <<'EOF'\nmake all; x\nEOF\nmake test": "[{cat > f <<'EOF' ;} {make test }]",
		"x=$(a; b | c) && y":                           "[{x=$(a; b | c) &&} {y }]",
		"for f in a b; do make $f; done":               "[{for f in a b ;} {make $f ;}]",
		"if ! make; then echo no; fi":                  "[{make ;} {echo no ;}]",
		"(cd x && make) | tail":                        "[{(cd x &&} {make) |} {tail }]",
		"":                                             "[]",
		"a#b":                                          "[{a#b }]",
		"python3 -c \"\nimport json; x = 1\n\" | head": "[{python3 -c \"\nimport json; x = 1\n\" |} {head }]",
	} {
		if got := fmt.Sprint(splitShell(line)); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

// Whatever a model writes as a command can be split.
func TestSplitShellTakesAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOf(rapid.SampledFrom([]rune("ab '\"`\\$()|&;<>#\n-=EOF"))).Draw(t, "line")
		for _, c := range splitShell(line) {
			if c.text == "" {
				t.Fatalf("an empty command in %q", splitShell(line))
			}
		}
	})
}

func TestWhichCommandTheExitCodeIsOf(t *testing.T) {
	for _, test := range []struct {
		line           string
		masked, filter bool
	}{
		{"make", false, false},
		{"cd /x; make", false, false},
		{"cd /x && make && make test", false, false},
		{"make; make test", true, false},
		{"make | tail -3", true, false},
		{"set -o pipefail; make | tail -3", false, false},
		{"npm run build | grep -i error", true, true},
		{"set -euo pipefail; npm run build | grep -i error", false, false},
		{"grep -c x f", false, false},
		{"make || true", true, false},
		{`git commit -m "a; b | grep c"`, false, false},
	} {
		if masked, filter := masksExitCode(test.line), exitsWithFilter(test.line); masked != test.masked || filter != test.filter {
			t.Errorf("%q: masked %v, of a filter %v", test.line, masked, filter)
		}
	}
}
