package summarize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
)

// A testRun is what a command tests: later runs of the same tests supersede its
// failures.
type testRun struct {
	family     string   // "go", "python", "js", …; "suite" for a runner of a whole project; "" if the command tests nothing
	paths      []string // that are tested
	filter     []string // names that are tested
	everywhere bool     // not in some paths only
}

// A testRunner is a command line that runs tests.
type testRunner struct{ words, family string }

// testRunners are the beginnings of command lines that run tests, without wrappers. The
// families of programs that build or check files begin with "check ": a suite of tests
// says nothing about them.
func testRunners() []testRunner {
	return []testRunner{
		{"go test", "go"}, {"gotestsum", "go"}, {"ginkgo", "go"},
		{"pytest", "python"}, {"py.test", "python"}, {"unittest", "python"}, {"tox", "python"}, {"nox", "python"}, {"manage.py test", "python"},
		{"cargo test", "rust"}, {"cargo nextest", "rust"},
		{"npm test", "js"}, {"npm t", "js"}, {"npm run test", "js"}, {"yarn test", "js"}, {"yarn run test", "js"}, {"pnpm test", "js"}, {"pnpm run test", "js"}, {"bun test", "js"}, {"jest", "js"}, {"vitest", "js"}, {"mocha", "js"}, {"node --test", "js"}, {"deno test", "js"},
		{"mvn test", "java"}, {"mvn verify", "java"}, {"gradle test", "java"}, {"./gradlew test", "java"}, {"gradlew test", "java"},
		{"rspec", "ruby"}, {"rake test", "ruby"}, {"rails test", "ruby"}, {"dotnet test", "dotnet"}, {"ctest", "c"}, {"swift test", "swift"}, {"phpunit", "php"}, {"mix test", "elixir"},
		{"flutter test", "dart"}, {"dart test", "dart"}, {"playwright test", "playwright"}, {"cypress run", "cypress"}, {"zig build test", "zig"}, {"sbt test", "scala"}, {"bazel test", "bazel"}, {"nx test", "js"}, {"turbo test", "js"}, {"turbo run test", "js"},
		{"lein test", "clojure"}, {"prove", "perl"}, {"busted", "lua"}, {"pest", "php"}, {"artisan test", "php"}, {"composer test", "php"}, {"ava", "js"}, {"meson test", "c"}, {"cabal test", "haskell"}, {"stack test", "haskell"},
		{"go build", "check go build"}, {"go vet", "check go vet"}, {"golangci-lint run", "check golangci"}, {"staticcheck", "check staticcheck"},
		{"tsc", "check tsc"}, {"eslint", "check eslint"}, {"ruff check", "check ruff"}, {"mypy", "check mypy"},
		{"cargo build", "check cargo build"}, {"cargo check", "check cargo check"}, {"cargo clippy", "check clippy"},
		{"make test", "suite"}, {"make check", "suite"}, {"mise run test", "suite"}, {"mise test", "suite"}, {"just test", "suite"}, {"task test", "suite"},
	}
}

// wrappers are words before a command that do not change what it does.
var wrappers = []string{"sudo ", "time ", "env ", "npx ", "bunx ", "poetry run ", "uv run ", "pipenv run ", "hatch run ", "bundle exec ", "python -m ", "python3 -m ", "python ", "python3 ", "nice ", "command "}

// plainCommand returns one command without wrappers, settings of variables before
// it, and redirections.
func plainCommand(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "()")
	for {
		before := s
		for _, w := range wrappers {
			s = strings.TrimPrefix(s, w)
		}
		for _, folder := range []string{"./", "vendor/bin/", "node_modules/.bin/"} {
			if rest, ok := strings.CutPrefix(s, folder); ok && folder != "./" || ok && (strings.HasPrefix(rest, "vendor/bin/") || strings.HasPrefix(rest, "node_modules/.bin/")) {
				s = rest
			}
		}
		if rest, ok := strings.CutPrefix(s, "timeout "); ok {
			_, s, _ = strings.Cut(rest, " ")
		}
		if rest := withoutAssignment(s); rest != "" {
			s = rest
		}
		if s = strings.TrimSpace(s); s == before {
			break
		}
	}
	var kept []string
	skip := false
	for w := range strings.FieldsSeq(s) {
		switch {
		case skip:
			skip = false
		case w == ">" || w == ">>" || w == "2>" || w == "<":
			skip = true
		case strings.HasPrefix(w, "2>") || strings.HasPrefix(w, ">") || strings.HasPrefix(w, "&>"):
		default:
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// commandKey returns what a command does, without its flags: `git push --force` does
// what `git push` does.
func commandKey(command string) string {
	var kept []string
	for w := range strings.FieldsSeq(command) {
		if !strings.HasPrefix(w, "-") {
			kept = append(kept, strings.Trim(w, `"'`))
		}
	}
	return strings.Join(kept, " ")
}

// nameFlags are the flags of runners that choose tests by name, and valueFlags others
// with a value.
var (
	nameFlags  = []string{"-run", "--run", "-k", "-t", "-g", "--grep", "--filter", "--testNamePattern", "--tests", "-Dtest", "-R", "--example", "-e"}
	valueFlags = []string{"-count", "-timeout", "-p", "-n", "--maxfail", "-C", "--prefix", "--workspace", "-w", "-c", "--config", "--reporter", "-tags", "--features", "-bench", "-m"}
)

// testRunOf returns what a command without wrappers tests.
func testRunOf(command string) testRun {
	if words := strings.Fields(command); len(words) > 2 && strings.HasPrefix(words[1], "-") && slices.Contains([]string{"mvn", "gradle", "./gradlew", "gradlew", "npm", "yarn", "pnpm", "cargo", "dotnet"}, words[0]) {
		command = strings.Join(append(append(words[:1:1], words[2:]...), words[1]), " ") // mvn -q test
	}
	if program, task, _ := strings.Cut(command, " "); strings.HasPrefix(task, ":") && (program == "gradle" || strings.HasSuffix(program, "gradlew")) {
		if project, rest, ok := strings.Cut(task, ":test"); ok {
			return readTestRun("java", strings.Fields(project+rest))
		}
	}
	for _, r := range testRunners() {
		rest, ok := strings.CutPrefix(command, r.words)
		if !ok || rest != "" && rest[0] != ' ' && rest[0] != ':' {
			continue
		}
		return readTestRun(r.family, strings.Fields(rest))
	}
	return testRun{}
}

func readTestRun(family string, words []string) testRun {
	run := testRun{family: family}
	for i := 0; i < len(words); i++ {
		w := strings.Trim(words[i], `"'`)
		flag, value, inline := strings.Cut(w, "=")
		switch {
		case w == "--" || w == "run":
		case slices.Contains(nameFlags, flag):
			if !inline && i+1 < len(words) {
				i++
				value = words[i]
			}
			run.filter = append(run.filter, namesOfPattern(value)...)
		case slices.Contains(valueFlags, w) && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") && (w != "--workspace" || family == "js"):
			i++
			if w == "-C" || w == "--prefix" || w == "--workspace" || w == "-w" {
				run.paths = append(run.paths, words[i])
			}
		case strings.HasPrefix(w, "-"):
		case strings.HasPrefix(w, ":"): // npm run test:unit
			run.paths = append(run.paths, w)
		case family == "rust":
			run.filter = append(run.filter, w)
		case w == "./..." || w == "." && family != "go":
		default:
			run.paths = append(run.paths, w)
		}
	}
	run.everywhere = len(run.paths) == 0 && (family != "go" || slices.Contains(words, "./..."))
	return run
}

// namesOfPattern returns the names in a pattern of tests: ^TestA$|TestB, a or b.
func namesOfPattern(pattern string) []string {
	pattern = strings.NewReplacer(`"`, "", `'`, "", "^", "", "$", "", "(", "", ")", "", " or ", "|", ".*", "").Replace(pattern)
	return slices.DeleteFunc(strings.Split(pattern, "|"), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// covers reports whether the run includes a test that failed in the run old; "" is
// all that old tested.
func (r testRun) covers(old testRun, test string) bool {
	everywhere := r.everywhere
	if r.family != old.family && slices.Contains(compilesFor(r.family), old.family) {
		old.family = r.family // it compiled first
	}
	checks := strings.HasPrefix(r.family, "check ") || strings.HasPrefix(old.family, "check ")
	if r.family == "" || old.family == "" || checks && r.family != old.family || r.family != old.family && (!everywhere || r.family != "suite" && old.family != "suite") {
		return false
	}
	if len(r.filter) > 0 {
		named := func(name string) bool { return strings.Contains(test, name) || strings.HasPrefix(name, test) }
		if test == "" && !slices.Equal(r.filter, old.filter) || test != "" && !slices.ContainsFunc(r.filter, named) {
			return false
		}
	}
	ofTest := func(path string) bool {
		path, _, _ = strings.Cut(strings.TrimPrefix(path, "./"), "::")
		return test != "" && path != "" && (strings.HasPrefix(test, path) || strings.Contains(test, "/"+path))
	}
	of := func(p string) bool {
		return slices.ContainsFunc(r.paths, func(q string) bool { return pathWithin(p, q) })
	}
	switch {
	case everywhere:
		return true
	case old.everywhere:
		return slices.ContainsFunc(r.paths, ofTest)
	case len(r.paths) == 0:
		return len(old.paths) == 0
	}
	return slices.ContainsFunc(r.paths, ofTest) || len(old.paths) > 0 && !slices.ContainsFunc(old.paths, func(p string) bool { return !of(p) })
}

// compilesFor returns the families of the checks that a run of a family makes before its
// own.
func compilesFor(family string) []string {
	switch family {
	case "go", "check go vet", "check golangci", "check staticcheck":
		return []string{"check go build"}
	case "rust", "check clippy", "check cargo build", "check cargo check":
		return []string{"check cargo build", "check cargo check"}
	}
	return nil
}

// pathWithin reports whether path is dir or in it: dir may end in /...
func pathWithin(path, dir string) bool {
	trim := func(s string) string {
		return strings.Trim(strings.TrimSuffix(strings.TrimPrefix(s, "./"), "..."), "/")
	}
	p, d := trim(path), trim(dir)
	p, _, _ = strings.Cut(p, "::")
	if p == d {
		return !strings.HasSuffix(path, "...") || strings.HasSuffix(dir, "...")
	}
	return strings.HasPrefix(p, d+"/") && (strings.HasSuffix(dir, "...") || !strings.Contains(dir, "...") && strings.Contains(path, "."))
}

// familyOfOutput returns the family of the runner that printed a test's output, for
// a suite whose command does not say it.
func familyOfOutput(text string) string {
	text = clip.Bytes(text, maxScan)
	switch {
	case containsAny(text, "--- FAIL: ", "--- PASS: ", "\tcoverage: ") || strings.HasPrefix(text, "ok  \t") || strings.Contains(text, "\nok  \t"):
		return "go"
	case strings.Contains(text, ".py::") || strings.Contains(text, "=== short test summary"):
		return "python"
	case strings.Contains(text, "test result: "):
		return "rust"
	case containsAny(text, "Test Suites: ", "Test Files "):
		return "js"
	}
	return ""
}

// openFailure is what is still wrong after a command failed.
type openFailure struct {
	runs    []testRun
	lines   []string // its commands with their flags that have not succeeded since
	keys    []string // of its commands that have not succeeded since
	tests   []string // of the tests that failed, those that have not passed since
	named   bool     // the output named the tests
	misused bool     // the command was called wrongly
	later   int      // commands that went well since, if it was
}

// maxLater is the number of commands that go well after one that was called wrongly, from
// which the work has gone on without it.
const maxLater = 5

func failureOf(command string, o outcome, output string) *openFailure {
	f := &openFailure{tests: slices.Clone(o.tests), named: len(o.tests) > 0, misused: o.wasMisused()}
	for _, s := range subcommands(command) {
		run := testRunOf(s)
		if run.family == "suite" {
			run.family = cmp.Or(familyOfOutput(output), run.family)
		}
		if run.family != "" {
			f.runs = append(f.runs, run)
		}
		f.keys, f.lines = append(f.keys, commandKey(s)), append(f.lines, s)
	}
	return f
}

// settle removes what a later run of a command settles, and reports whether nothing
// is left. A run that fails settles the tests that it names or passes: those that
// fail are its own.
func (f *openFailure) settle(command string, o outcome, output string) bool {
	passed := !o.failed
	if passed && f.misused {
		if f.later++; f.later >= maxLater {
			return true
		}
	}
	if !passed && (len(o.tests) == 0 || !f.named) {
		return false
	}
	for _, s := range subcommands(command) {
		if passed && !f.named {
			f.keys = slices.DeleteFunc(f.keys, func(k string) bool { return f.settlesCommand(s, k) })
		}
		if passed {
			f.lines = slices.DeleteFunc(f.lines, func(line string) bool { return line == s })
		}
		run := testRunOf(s)
		if run.family == "suite" {
			run.family = cmp.Or(familyOfOutput(output), run.family)
		}
		for _, old := range f.runs {
			f.tests = slices.DeleteFunc(f.tests, func(test string) bool { return run.covers(old, test) })
			if passed && !f.named && run.covers(old, "") && !slices.ContainsFunc(f.keys, func(k string) bool { return testRunOf(k).family == "" }) {
				return true
			}
		}
	}
	if f.named {
		return len(f.tests) == 0 || len(f.lines) == 0
	}
	return len(f.keys) == 0
}

// settleShown removes the tests that a filtered output shows as passed, and reports
// whether none of those that failed is left.
func (f *openFailure) settleShown(command, output string) bool {
	shown := passedTests(output)
	if !f.named || len(shown) == 0 {
		return false
	}
	for _, s := range subcommands(command) {
		run := testRunOf(s)
		if run.family == "suite" {
			run.family = cmp.Or(familyOfOutput(output), run.family)
		}
		f.tests = slices.DeleteFunc(f.tests, func(test string) bool {
			return slices.Contains(shown, test) && slices.ContainsFunc(f.runs, func(old testRun) bool { return run.covers(old, test) })
		})
	}
	return len(f.tests) == 0
}

// settlesCommand reports whether a command that succeeded settles the failed one with
// the given key: it is the same one; or the same step of git, which is done now or given
// up; or it is the same program, called rightly after it was called wrongly.
func (f *openFailure) settlesCommand(command, failed string) bool {
	key := commandKey(command)
	if key == failed {
		return true
	}
	words, old := strings.Fields(command), strings.Fields(failed)
	if len(words) > 0 && len(old) > 0 && words[0] == "git" && old[0] == "git" {
		return settlesGit(gitCommand(words), gitCommand(old), command)
	}
	head := commandHead(key)
	return f.misused && head != "" && head == commandHead(failed)
}

// settlesGit reports whether a command of git, in a line that succeeded, settles a failed
// one: a conflict ends with a commit or a push.
func settlesGit(command, failed, line string) bool {
	switch failed {
	case "merge", "cherry-pick", "rebase", "revert", "pull", "am", "stash":
		again := command == failed && failed != "merge" && failed != "cherry-pick"
		ended := command == failed && containsAny(line, "--continue", "--abort", "--skip", "--quit")
		return again || ended || command == "commit" || command == "push" || command == "reset" && strings.Contains(line, "--hard")
	}
	return command == failed || command == "push"
}

// commandHead returns the words of a command that say what it does, without the values
// that follow: at most three.
func commandHead(key string) string {
	words := strings.Fields(key)
	if len(words) > 1 && slices.Contains([]string{"node", "python", "python3", "bash", "sh", "ruby", "bun", "deno", "tsx", "npx"}, words[0]) {
		words = words[1:]
	}
	n := 1
	for n < min(3, len(words)) && !strings.ContainsAny(words[n], "{}\"'$=:,;<>") {
		n++
	}
	return strings.Join(words[:min(n, len(words))], " ")
}
