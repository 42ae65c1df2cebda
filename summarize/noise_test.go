package summarize

import "testing"

// Lines that say how a command ended are told from those that do not. The lines are in
// the forms of cargo, npm, pip, git, Node.js, Chromium, ChromeDriver and shells.
func TestIsNoiseAndCode(t *testing.T) {
	for _, line := range []string{
		"Downloaded rand_pcg v0.3.1", "   Compiling serde v1.0.200", "Waiting for the debugger to disconnect...", "Debugger attached.",
		"[12345:12345:0612/101112.131415:ERROR:gpu_init.cc(523)] Passthrough is not supported", "[7:9:0612/101112.131415:WARNING:bluez.cc(1)] x", "[1623456789.123][SEVERE]: Timed out receiving message from renderer",
		"DevTools listening on ws://127.0.0.1:9222/devtools/browser/1", "Finished in 2.44s", "real\t0m1.003s", "Done in 3.1s.", "//# sourceMappingURL=a.js.map",
		"To github.com:shop/cart.git", "(node:12) ExperimentalWarning: x", "[=====>    ]", " 45%|████      | 9/20", "Requirement already satisfied: six",
	} {
		if !isNoise(line) {
			t.Errorf("no noise: %q", line)
		}
	}
	for _, line := range []string{"(Some(left), _) => Some(left),", "const x = 1;", "func Round(v float64) int {", "})", `"name": "cart",`, "total += 2;", "left => left.id"} {
		if !isCode(line) {
			t.Errorf("no code: %q", line)
		}
	}
	for _, line := range []string{
		"ok  \tshop/billing\t0.2s", "12 passed in 0.3s", "main -> main (forced update)", "release 1.4 uploaded to staging", "Tests 31 passed (31)", "added 12 packages in 3s",
		"Finished `dev` profile in 3.1s", "0 issues.", "test result: ok. 3 passed; 0 failed", "built in 2 s", "error: expected 3, got 4", "[main 1ab23cd] second", "✓ 12 modules transformed.",
		"Successfully rebased and updated refs/heads/topic.", "E   assert 3 == 4", "http://localhost:3000", "status: all 3 services are up",
	} {
		if isNoise(line) || isCode(line) {
			t.Errorf("noise %v, code %v: %q", isNoise(line), isCode(line), line)
		}
	}
}
