package summarize

import (
	"regexp"
	"strings"
)

// isNoise reports whether a line of output says nothing about how a command ended:
// progress, times, and what browsers, debuggers and runtimes print about themselves.
func isNoise(line string) bool {
	line = strings.TrimSpace(line)
	for _, head := range noiseHeads {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return strings.HasSuffix(line, "looking for funding") || browserLog.MatchString(line) || timeLine.MatchString(line) || progressBar.MatchString(line)
}

var noiseHeads = []string{
	"Downloaded ", "Downloading ", "Downloading:", "Compiling ", "Checking ", "Installing ", "Fetching ", "Resolving ", "Extracting ", "Unpacking ", "Preparing ", "Locking ", "Updating crates.io", "Updating git repository", "Adding ", "Collecting ", "Using cached ", "Requirement already satisfied", "Blocking waiting for file lock", "Progress: ", "Get:", "Hit:", "Reading package lists", "Pulling ", "Pull complete", "Waiting for ", "Running `",
	"Receiving objects:", "Enumerating objects:", "Counting objects:", "Compressing objects:", "Writing objects:", "Delta compression", "Total ", "remote: Counting", "remote: Compressing", "remote: Enumerating", "remote: Total", "remote: Resolving", "% Total", "To https://", "To http://", "To git@", "To ssh://", "To github.com:", "To gitlab.com:", "From https://", "From git@", "From github.com:", "From gitlab.com:", "hint:", "Building [", "WARNING: Running pip as", "[notice]",
	"Shell cwd was reset to ", "run `npm fund`", "npm notice", "npm warn", "npm WARN", "(node:", "(Use `node --trace", "Debugger attached", "Error in the js-debug bootloader", "Debugger listening on", "For help, see: https://nodejs.org", "//# sourceMappingURL=", "//# sourceURL=",
	"DevTools listening on", "Created TensorFlow Lite", "Fontconfig ", "libva ", "libEGL ", "MESA", "Gtk-WARNING", "Gtk-Message", "dbus[", "Opening in existing browser session", "[WDS]", "[HMR]", "Browserslist: ", "npx update-browserslist", "Picked up JAVA_TOOL_OPTIONS", "Picked up _JAVA_OPTIONS",
}

var (
	// browserLog is a line of Chromium's log or of a web driver's.
	browserLog = regexp.MustCompile(`^\[\d+(?::\d+)?:\d{4}/\d{6}(?:\.\d+)?:[A-Z0-9]+:|^\[\d+\.\d+\]\[(?:SEVERE|WARNING|INFO|DEBUG)\]:`)
	// timeLine says only how long a command took, vitest's with the parts.
	timeLine = regexp.MustCompile(`(?i)^(?:\[[\w:.-]+\] )?(?:real|user|sys|time:?|duration:?|elapsed:?|total time:?|start at:?|finished in|done in|took|completed in|✨\s+done in)\s+[\d.:,]+\s?(?:m?s|m[\d.]+s|sec|seconds|min)?\.?(?: .*total\)?| \(.*\))?$`)
	// progressBar is the state of a progress bar.
	progressBar = regexp.MustCompile(`^(?:\[?[=#>.█▏▎▍▌▋▊▉░━╸ -]{6,}\]?|\d{1,3}%\s?\|.*|\d+/\d+ \[[=#>.█ -]*\].*)$`)
)

// exitEcho is the exit code of a command as a script prints it.
var exitEcho = regexp.MustCompile(`(?i)^(?:[a-z]+[_ -])?(?:exit|status|rc|ret|result)(?:[_ -]?(?:code|status))?\s*[:=]\s*-?\d+$`)

// isCode reports whether a line is of a program's text or of data.
func isCode(line string) bool {
	line = strings.TrimSpace(line)
	for _, end := range []string{"{", "};", ");", "=>", "},", "),", "];", "],", "},)", "*/"} {
		if strings.HasSuffix(line, end) {
			return true
		}
	}
	for _, head := range []string{"}", "//", "/*", "#include", "import ", "from ", "return ", "fn ", "func ", "let ", "const ", "var ", "def ", "class ", "pub ", "use ", "package ", "export ", "@@ ", "diff --git", "+++ ", "--- a/", "<?xml", "<!DOCTYPE"} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return codeLine.MatchString(line)
}

// callLine is a call of a function.
var callLine = regexp.MustCompile(`^[\w.$]+\(.*\)$`)

// codeLine is an arm of a match, an arrow function, an assignment that ends with a
// semicolon, or a member of an object.
var codeLine = regexp.MustCompile(`^[\w(|][\w\s(),&*|:.]*\)? => \S|[\w\])]\s*[:+-]?=\s*\S.*;$|^"[\w$./-]+": ?\S`)
