package files

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// many returns the given number of lines of a format, numbered.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+1)
	}
	return b.String()
}

// Outputs whose essential lines are in the midst of noise, in the formats of
// the tools.
func TestDigestKeepsTheNews(t *testing.T) {
	for _, test := range []struct{ name, log, want string }{ // want: lines, or parts of lines
		{"a merge", many(60, "Auto-merging src/part%d.go") + "CONFLICT (content): Merge conflict in src/cart.go\n" + many(40, "Auto-merging lib/part%d.go") +
			"CONFLICT (content): Merge conflict in src/store.go\nCONFLICT (modify/delete): src/old.go deleted in HEAD and modified in topic.\n" + many(30, "Auto-merging cmd/part%d.go") +
			"CONFLICT (add/add): Merge conflict in src/new.go\nCONFLICT (content): Merge conflict in README.md\nAutomatic merge failed; fix conflicts and then commit the result.\n",
			"in src/cart.go|in src/store.go|src/old.go|in src/new.go|in README.md|Automatic merge failed"},
		{"TAP", "TAP version 13\n" + many(80, "ok %d - case of the suite") + "not ok 81 - cart adds two items\n  ---\n  got: 3\n  ...\n" + many(70, "ok 8%d - case of the suite") + "1..151\n", "not ok 81 - cart adds two items"},
		{"mocha", "  cart\n" + many(120, "    ✓ case %d of the suite") + "    1) adds two items\n" + many(50, "    ✓ other case %d") + "\n  170 passing (2s)\n  1 failing\n\n  1) cart adds two items:\n     AssertionError: 3 is not 4\n      at Context.<anonymous> (test/cart.js:12:3)\n", "adds two items|AssertionError: 3 is not 4|1 failing"},
		{"jest", many(120, "PASS src/part%d.test.js") + "FAIL src/cart.test.js\n  ● cart › adds two items\n" + many(50, "PASS lib/part%d.test.js") + "Tests: 1 failed, 170 passed\n", "● cart › adds two items|1 failed"},
		{"pytest", many(120, "tests/test_part.py::test_%d PASSED") + "tests/test_cart.py::test_adds FAILED\n" + many(90, "tests/test_other.py::test_%d PASSED") + "E   assert 3 == 4\n=== 1 failed, 210 passed ===\n", "tests/test_cart.py::test_adds|assert 3 == 4|1 failed"},
		{"cargo", many(120, "test part::case_%d ... ok") + "test cart::adds ... FAILED\n" + many(90, "test other::case_%d ... ok") + "test result: FAILED. 210 passed; 1 failed\n", "test cart::adds ... FAILED"},
		{"Surefire", many(90, "[INFO] Running com.x.Part%dTest") + "[ERROR] com.x.CartTest.adds  Time elapsed: 0.1 s  <<< FAILURE!\n" + many(90, "[INFO] Running com.y.Part%dTest") + "[ERROR] Tests run: 180, Failures: 1, Errors: 0\n", "com.x.CartTest.adds|Failures: 1"},
		{"dotnet, German", many(90, "  Bestanden Teil.Fall%d [1 ms]") + "  Fehler Korb.Addiert [12 ms]\n  Fehlermeldung:\n   Erwartet: 4\n" + many(90, "  Bestanden Rest.Fall%d [1 ms]"), "Fehler Korb.Addiert"},
		{"Chinese", many(90, "正在编译 模块 %d") + "错误：找不到 cart.h\n" + many(90, "正在链接 模块 %d") + "3 个测试失败\n完成\n", "错误：找不到 cart.h|3 个测试失败"},
		{"killed", many(300, "step %d of 900: loss 0.3") + "Killed\n" + many(3, "cleaning up %d") + "done\n", "\nKilled"},
		{"segmentation fault", many(300, "step %d of 900") + "bash: line 1: 4711 Segmentation fault      (core dumped) ./run\n" + many(60, "cleaning up %d"), "Segmentation fault"},
		{"rejected", many(90, "remote: Resolving deltas: %d%% (3/9)") + " ! [rejected]        main -> main (fetch first)\n" + many(20, "hint: line %d of advice"), "[rejected]"},
		{"a rare line", many(200, "worker %d idle") + "worker pool handed over to lease b450b717\n" + many(200, "worker %d idle"), "lease b450b717"},
		{"repeated errors and another", many(200, "ERROR connection %d refused") + "ERROR disk full on /data\n" + many(300, "ERROR connection %d refused"), "connection 1 refused|connection 300 refused|disk full|198 more like it"},
		{"colours", many(90, "\x1b[32mok\x1b[0m part %d") + "\x1b[31merror\x1b[0m: cart.c:3: boom\n" + many(90, "\x1b[32mok\x1b[0m part %d"), "error: cart.c:3: boom"},
	} {
		got := Digest(test.log, DigestOptions{Max: 200, Count: countBytes, Recall: "0123abcd"})
		for want := range strings.SplitSeq(test.want, "|") {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", test.name, want, got)
			}
		}
		if n := countBytes(got); n > 200 {
			t.Errorf("%s: %d tokens", test.name, n)
		}
	}
}

// If failed tests do not fit, their shortened names and a count are given.
func TestDigestNamesFailedTests(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "tests/unit/test_cart.py::TestCart::test_adds_item_number_%d FAILED\n", i)
	}
	got := Digest(b.String(), DigestOptions{Max: 200, Count: countBytes, Recall: "0123abcd"})
	if n := strings.Count(got, "number_"); !strings.Contains(got, "100 failed tests of tests/unit/test_cart.py::TestCart::") || n < 10 || !strings.Contains(got, fmt.Sprintf("and %d more", 100-n)) {
		t.Errorf("%d names in\n%s", n, got)
	}
	few := Digest(many(200, "ok %d fine")+"not ok 201 - one\nnot ok 202 - two\n", DigestOptions{Max: 200, Count: countBytes, Recall: "0123abcd"})
	if !strings.Contains(few, "not ok 201 - one\nnot ok 202 - two") {
		t.Errorf("got\n%s", few)
	}
}

// A test that an output names twice is listed once, with the line that says
// why it failed.
func TestDigestNamesATestOnce(t *testing.T) {
	got := Digest(many(90, "test_%d.py::a PASSED")+"cart.py::adds FAILED\n"+many(90, "test_%d.py::b PASSED")+"FAILED cart.py::adds - assert 3 == 4\n", DigestOptions{Max: 200, Count: countBytes, Recall: "0123abcd"})
	if strings.Count(got, "cart.py::adds") != 1 || !strings.Contains(got, "assert 3 == 4") {
		t.Errorf("got\n%s", got)
	}
}

// The limit holds for any text and however little fits.
func TestDigestKeepsItsLimit(t *testing.T) {
	lines := []string{"ok 1 - fine", "not ok 2 - cart", "ERROR boom", "--- FAIL: TestA (0.1s)", "    why", "", "plain text", "\x1b[31mred", strings.Repeat("x", 900), "1) numbered", "2 failures", "é失败"}
	rapid.Check(t, func(t *rapid.T) {
		log := strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 0, 300).Draw(t, "lines"), "\n")
		limit := rapid.IntRange(0, 300).Draw(t, "limit")
		got := Digest(log, DigestOptions{Max: limit, Count: countBytes, Recall: "0123abcd", Ledger: []string{"a_name", "b_name"}})
		if n := countBytes(got); n > limit || strings.ContainsRune(got, 0x1b) {
			t.Fatalf("%d tokens of %d: %q", n, limit, got)
		}
	})
}

func TestAlike(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		want       bool
	}{
		{"the same", "x", "x", true},
		{"another time", "run 4711: in_progress 37s", "run 4711: in_progress 42s", true},
		{"another hash", "HEAD is now at 0c5de1aa", "HEAD is now at b450b717", true},
		{"another state", "status: queued", "status: running", false},
		{"one line of many", many(30, "job %d queued"), many(29, "job %d queued") + "job x runs\n", true},
		{"an error more", many(30, "job %d queued"), many(29, "job %d queued") + "error: job lost\n", false},
		{"green after red", "3 failed", "0 failed", false},
		{"another exit code", "Exit code: 0\nOutput:\n" + many(30, "line %d"), "Exit code: 1\nOutput:\n" + many(30, "line %d"), false},
		{"nothing", "", "x", false},
	} {
		if got := Alike(test.a, test.b); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestSameCall(t *testing.T) {
	base := call("Bash", args{"command": "gh run view 1", "description": "look"})
	for _, test := range []struct {
		tool string
		args args
		want bool
	}{
		{"Bash", args{"command": "gh run view 1", "description": "look again"}, true},
		{"Bash", args{"command": "gh run view 1"}, true},
		{"Bash", args{"command": "gh run view 2"}, false},
		{"Bash", args{"command": "gh run view 1", "timeout": 3}, false},
		{"Shell", args{"command": "gh run view 1", "description": "look"}, false},
	} {
		if got := SameCall(*base, *call(test.tool, test.args)); got != test.want {
			t.Errorf("%s %v: %v", test.tool, test.args, got)
		}
	}
}
