package logline

import (
	"strings"
	"testing"
)

// Lines as printed by the tools; each kind has its own list.
var (
	errorLines = []string{
		"CONFLICT (content): Merge conflict in cart/store.go", "\tboth modified:   cart/store.go", "Automatic merge failed; fix conflicts and then commit the result.",
		" ! [rejected]        main -> main (fetch first)", " ! [remote rejected] main -> main (pre-receive hook declined)", "git@host: Permission denied (publickey).", "fatal: not a git repository",
		"./a.go:3:5: undefined: cart", "a.c:3:5: error: expected ';' before '}' token", "src/a.ts(3,5): error TS2304: Cannot find name 'cart'.", "error[E0308]: mismatched types",
		"a.o: undefined reference to `cart_add'", "panic: runtime error: index out of range [3]", "Killed", "bash: line 1:  4711 Killed                  ./run", "make: *** [Makefile:3: all] Error 2",
		"Segmentation fault (core dumped)", "<--- Last few GCs ---> FATAL ERROR: JavaScript heap out of memory", "java.lang.OutOfMemoryError: Java heap space", "npm ERR! code ELIFECYCLE", "npm error code E404",
		"ValueError: no such cart", "java.lang.NullPointerException: cart", "Uncaught TypeError: x is not a function", "2026-01-02T03:04:05Z ERROR store: lost", "time=1 level=error msg=lost", `{"level":"error","msg":"lost"}`,
		"[ERROR] Failed to execute goal", "3 failed, 12 passed in 0.3s", "Tests:       1 failed, 5 passed, 6 total", "# fail 2", "ℹ fail 1", "Failures: 2, Errors: 0", "2 errors generated.", "Found 3 errors in 2 files.",
		"localhost : ok=3 changed=0 unreachable=0 failed=1", "exit status 1", "Command exited with code 2", "Exit code: 1", "The command exited with exit code 137", "FAIL", "FAIL\tcart/store\t0.3s", "FAIL cart/store [build failed]",
		"E   AssertionError: assert 3 == 4", "Traceback (most recent call last):", "docker: Error response from daemon: conflict.", "bash: foo: command not found", "cat: x: No such file or directory",
		"Fehler: Verbindung verweigert", "KONFLIKT (Inhalt): Merge-Konflikt in a.go", "3 Tests fehlgeschlagen", "Speicherzugriffsfehler (Speicherabzug geschrieben)", "Getötet",
		"Erreur de segmentation", "CONFLIT (contenu) : Conflit de fusion dans a.go", "2 échecs", "fatal : accès refusé", "Violación de segmento", "3 pruebas fallaron", "acceso denegado", "Falha de segmentação", "1 teste falhou",
		"致命错误：不是 git 仓库", "冲突（内容）：合并冲突于 a.go", "3 个测试失败", "段错误", "已杀死", "エラー: 接続が拒否されました", "テスト 3 件失敗", "セグメンテーション違反です", "테스트 실패: 3", "ошибка: доступ запрещён", "Ошибка сегментирования",
		"\x1b[31merror\x1b[0m: boom",
	}
	fineLines = []string{
		"Error: (none)", "0 errors", "no failures", "Exit Code: 0", "# fail 0", "ℹ fail 0", "not ok 3 # TODO known", "not ok 3 - slow # SKIP no net", "ok 3 - handles errors", "--- PASS: TestError (0.00s)", "✓ rejects a denied user (3 ms)",
		"Failures: 0, Errors: 0", "0 failed, 12 passed", "no errors found", "without errors", "failed=0", "errors: 0", "error: null", "test handles_error ... ok", "tests/test_a.py::test_error PASSED", "<returncode>0</returncode>",
		"Process exited with code 0", "0 Fehler", "keine Fehler", "aucune erreur", "sin errores", "sem erros", "没有错误", "エラーはありません", "0 fallos", "PASS", "ok  \tcart/errors\t0.2s", "0 个错误", "Errors: none", "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
	}
	plainLines = []string{
		"", "src/error_handler.go", "errors.go", "cart/failures/list.md", "--no-fail-fast", "func failed(text string) bool {", "building image", "const errorCode = 3", "1) read the file", "the failsafe is on",
		"terror and horror", "Auto-merging cart/store.go", "fix/error-handling", "@error", "deniedList",
	}
	troubleLines = []string{
		"a.go:3: warning: unused", "Expected: 3", "package errors", "+\t\tt.Fatalf(\"failed to init: %v\", err)", "return fmt.Errorf(\"failed to save: %w\", err)", "expected 3, got 4", "npm WARN deprecated x", "This handles the error case", "could not be sure", "Warnung: veraltet", "警告: 古い",
	}
	failedTests = map[string]string{
		"not ok 81 - cart adds two items": "cart adds two items", "    not ok 2 - sub": "sub", "not ok 7": "7", "not ok 3 cart": "cart",
		"--- FAIL: TestCart (0.42s)": "TestCart", "    --- FAIL: TestCart/empty (0.00s)": "TestCart/empty", "=== FAIL: cart TestCart (0.00s)": "TestCart",
		"FAILED tests/test_a.py::test_adds - AssertionError: 3": "tests/test_a.py::test_adds", "tests/test_a.py::test_adds FAILED   [ 50%]": "tests/test_a.py::test_adds", "ERROR tests/test_a.py - ImportError": "tests/test_a.py",
		"[gw0] [ 10%] FAILED tests/test_a.py::test_adds": "tests/test_a.py::test_adds", "FAIL: test_adds (cart.Tests)": "test_adds (cart.Tests)", "test_adds (cart.Tests) ... ERROR": "test_adds (cart.Tests)",
		"test cart::adds ... FAILED": "cart::adds", "        FAIL [   0.005s] cart tests::adds": "cart tests::adds",
		"[ERROR] com.x.CartTest.adds  Time elapsed: 0.01 s  <<< FAILURE!": "com.x.CartTest.adds", "adds(com.x.CartTest)  Time elapsed: 0.1 sec  <<< ERROR!": "adds(com.x.CartTest)", "[ERROR]   CartTest.adds:12 expected:<1> but was:<2>": "CartTest.adds:12",
		"CartTest > adds() FAILED": "CartTest > adds()", "  ✕ adds two items (5 ms)": "adds two items", "  ● cart › adds two items": "cart › adds two items", "FAIL src/cart.test.js": "src/cart.test.js", " FAIL  src/cart.test.ts > cart > adds": "src/cart.test.ts > cart > adds",
		"× adds": "adds", "✖ adds (1.2ms)": "adds", "rspec ./spec/cart_spec.rb:12 # Cart adds": "./spec/cart_spec.rb:12", "  adds two (FAILED - 1)": "adds two", "  Failed Cart.Tests.Adds [12 ms]": "Cart.Tests.Adds", "  Fehler Cart.Tests.Adds [12 ms]": "Cart.Tests.Adds",
		"  Échoué Cart.Tests.Adds [< 1 ms]": "Cart.Tests.Adds", "  失败 Cart.Tests.Adds [12 ms]": "Cart.Tests.Adds", "  失敗 Cart.Tests.Adds [1 s]": "Cart.Tests.Adds", "  Con error Cart.Tests.Adds [12 ms]": "Cart.Tests.Adds", "  Com falha Cart.Tests.Adds [12 ms]": "Cart.Tests.Adds",
		"[xUnit.net 00:00:00.51]     Cart.Tests.Adds [FAIL]": "Cart.Tests.Adds", "[  FAILED  ] Cart.Adds (1 ms)": "Cart.Adds", "3/5 Test #3: cart ......................***Failed    0.02 sec": "cart", "\t  3 - cart (Failed)": "cart",
		"Test Case '-[Cart adds]' failed (0.1 seconds).": "-[Cart adds]", "00:01 +1 -1: cart adds [E]": "cart adds", "//cart:test                   FAILED in 0.1s": "//cart:test", "t/cart.t .. Failed 1/3 subtests": "t/cart.t", "adds two ... FAILED (5ms)": "adds two", "✗ adds": "adds",
	}
)

func TestOf(t *testing.T) {
	for _, list := range []struct {
		kind  Kind
		lines []string
	}{{Error, errorLines}, {Success, fineLines}, {Plain, plainLines}, {Trouble, troubleLines}} {
		for _, line := range list.lines {
			if got := Of(line); got != list.kind {
				t.Errorf("%q: kind %d, want %d", line, got, list.kind)
			}
		}
	}
}

func TestFailedTest(t *testing.T) {
	for line, want := range failedTests {
		if name, _ := (Reader{}).FailedTest(line); name != want || Of(line) != FailedTest {
			t.Errorf("%q: %q, want %q", line, name, want)
		}
	}
	for _, line := range append(append(fineLines, plainLines...), "  1) read it", "3 passing", "  12 passing (1s)", "✖ 3 problems (3 errors, 0 warnings)") {
		if name, _ := (Reader{}).FailedTest(line); name != "" {
			t.Errorf("%q: %q", line, name)
		}
	}
}

// A numbered line is a failed test only in the output of some runners.
func TestNumberedTests(t *testing.T) {
	for _, text := range []string{
		"  12 passing (1s)\n  1 failing\n\n  1) cart adds two items:\n     AssertionError: 3\n",
		"Failures:\n\n  1) cart adds two items\n     Failure/Error: x\n",
		"There was 1 failure:\n\n1) cart adds two items\n",
		"  1) cart adds two items\n     test/cart_test.exs:3\n\n3 tests, 1 failure\n",
	} {
		r, found := NewReader(text), ""
		for line := range strings.Lines(text) {
			if name, _ := r.FailedTest(line); name != "" {
				found += name + "|"
			}
		}
		if found != "cart adds two items|" {
			t.Errorf("%q: %q", text, found)
		}
	}
}

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		text  string
		code  int
		known bool
	}{
		{"Exit code: 1\nWall time: 31.2 seconds\nOutput:\nrelease 1.4 uploaded", 1, true},
		{"Exit code: 0\nWall time: 1 seconds\nOutput:\nerror: none of it matters\nExit code: 3", 0, true},
		{"Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nx", 2, true},
		{"<returncode>1</returncode>\n<output>\nfine\n</output>", 1, true},
		{"Command: npm test\nDirectory: (root)\nStdout: 12 passed\nStderr: (empty)\nError: (none)\nExit Code: 0\nSignal: (none)", 0, true},
		{"all fine\n[Command finished with exit code 1]", 1, true},
		{"all fine\n[The command completed with exit code 0.]\n[Current working directory: /x]", 0, true},
		{"x\n\nCommand exited with code 7", 7, true},
		{"Exit code 1\nx", 1, true},
		{`{"output":"fine","metadata":{"exit_code":1,"duration_seconds":0.3}}`, 1, true},
		{`{"stdout":"","exitCode": 0}`, 0, true},
		{"Script completed\nWall time 0.4 seconds\nOutput:\n" + `{"chunk_id":"a1","exit_code":101,"output":"uploaded, \"exit_code\": 0"}`, 101, true},
		{"Script completed\nWall time 0.4 seconds\nOutput:\n\n" + `{"chunk_id":"a1","exit_code":0,"output":"error: none"}`, 0, true},
		{"Script completed\nWall time 0.4 seconds\nOutput:\nuploaded\nEXIT=2", 2, true},
		{"Script completed\nWall time 0.4 seconds\nOutput:\nuploaded\nexit_code=2", 2, true},
		{"Script completed\nWall time 0.4 seconds\nOutput:\nuploaded", 0, false},
		{"<returncode>2</returncode>\n<warning>\nThe output was too long.\n</warning><output_head>\nfine", 2, true},
		{"x\n<exited with exit code 4>", 4, true},
		{"Command executed successfully with exit code 0.", 0, true},
		{"Command failed with exit code: 3.\nx", 3, true},
		{"Exit code: -1073741819\nOutput:\n", -1073741819, true},
		{"x\nExit code: 99999999999999999999", 1, true},
		{"fine\n12 passed", 0, false},
		{"status 3 of 5", 0, false},
		{"", 0, false},
	} {
		if code, known := ExitCode(test.text); code != test.code || known != test.known {
			t.Errorf("%q: %d, %v", test.text, code, known)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, lines := range [][]string{errorLines, fineLines, plainLines, troubleLines} {
		for _, line := range lines {
			f.Add(line)
		}
	}
	for line := range failedTests {
		f.Add(line)
	}
	f.Add(strings.Repeat("error ", 1<<12))
	f.Add(strings.Repeat("(", 1<<14))
	f.Add(strings.Repeat("0 失", 1<<12))
	f.Fuzz(func(t *testing.T, line string) {
		r := NewReader(line)
		name, _ := r.FailedTest(line)
		if (name != "") != (r.Of(line) == FailedTest) {
			t.Fatalf("%q: %q is of kind %d", line, name, r.Of(line))
		}
		ExitCode(line)
	})
}
