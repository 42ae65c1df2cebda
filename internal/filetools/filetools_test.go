package filetools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// project returns a folder with files, inside of a folder with a file that no tool
// may read.
func project(t *testing.T, files map[string]string) (*Folder, string) {
	t.Helper()
	outer := t.TempDir()
	dir := filepath.Join(outer, "project")
	put(t, filepath.Join(outer, "secret.txt"), "the secret of the outer folder\n")
	put(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() {}\n")
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// call runs a tool as a model calls it.
func call(t *testing.T, f *Folder, k Kind, args map[string]any) (string, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCall(string(k), string(raw))
	if err != nil {
		return "", err
	}
	return f.Run(t.Context(), c, 4096)
}

// refused checks that every tool refuses a path, with a reason, and shows nothing of
// the outer folder.
func refused(t *testing.T, f *Folder, path, reason string) {
	t.Helper()
	for _, k := range Kinds() {
		got, err := call(t, f, k, map[string]any{"path": path, "text": "secret"})
		if err == nil || strings.Contains(got, "outer") {
			t.Errorf("%s of %q returned %q", k, path, got)
		} else if !strings.Contains(err.Error(), reason) {
			t.Errorf("%s of %q: %q does not say %q", k, path, err, reason)
		}
	}
}

func TestAPathThatLeadsOutIsRefused(t *testing.T) {
	f, dir := project(t, map[string]string{"a/b.txt": "x"})
	for path, reason := range map[string]string{
		"..":                           "leads out",
		"../secret.txt":                "leads out",
		"a/../../secret.txt":           "leads out",
		"a/../main.go":                 "leads out", // it does not, but no model needs it
		"./../secret.txt":              "leads out",
		" ../secret.txt":               "leads out",
		"/etc/passwd":                  "absolute",
		"//etc/passwd":                 "absolute",
		filepath.Join(dir, "main.go"):  "absolute",
		"C:/Windows/win.ini":           "absolute",
		"c:secret.txt":                 "absolute",
		`..\secret.txt`:                "backslash",
		`\\server\share\x`:             "backslash",
		"~/.ssh/id_ed25519":            "home",
		"~root/x":                      "home",
		"a\x00/../../secret.txt":       "control",
		"..\u200c/secret.txt":          "control",
		"a/\u202e../x":                 "control",
		"\xff":                         "",
		"a/b.txt/../../../secret.txt":  "leads out",
		"/proc/self/root/etc/hostname": "absolute",
		"/dev/zero":                    "absolute",
	} {
		refused(t, f, path, reason)
	}
}

func TestLinksAreRefused(t *testing.T) {
	f, dir := project(t, map[string]string{"a/b.txt": "x"})
	for name, target := range map[string]string{
		"out.txt":    "../secret.txt",
		"abs.txt":    filepath.Join(filepath.Dir(dir), "secret.txt"),
		"up":         "..",
		"a/up":       "../..",
		"in.txt":     "main.go",
		"a/loop":     "loop",
		"a/dangling": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no links on this system: ", err)
		}
		refused(t, f, name, "is a link")
	}
	refused(t, f, "up/secret.txt", "is a link")
	refused(t, f, "a/up/secret.txt", "is a link")
	refused(t, f, "a/loop/x", "is a link")

	got, err := call(t, f, Search, map[string]any{"text": "secret"})
	if err != nil || !strings.Contains(got, "no line has the text") {
		t.Errorf("a search followed a link: %q, %v", got, err)
	}
	if got, err = call(t, f, List, nil); err != nil || !strings.Contains(got, "out.txt  (a link, not followed)") {
		t.Errorf("listed was %q, %v", got, err)
	}
}

// A link that replaces a folder after the check does not lead out either: the root
// refuses it.
func TestALinkThatReplacesAFolderDoesNotLeadOut(t *testing.T) {
	f, dir := project(t, nil)
	if err := os.Symlink("..", filepath.Join(dir, "up")); err != nil {
		t.Skip("no links on this system: ", err)
	}
	if file, err := f.root.Open("up/secret.txt"); err == nil {
		file.Close()
		t.Error("the root follows a link that leads out")
	}
}

func TestPrivateFoldersAreRefusedInAnyCase(t *testing.T) {
	f, _ := project(t, map[string]string{
		".git/config": "url = https://user:secret@example.com", ".compact/sessions/x.jsonl": "secret", "a/.git/config": "secret",
	})
	for _, path := range []string{".git", ".git/config", ".GIT/config", ".Git", ".compact/sessions/x.jsonl", ".COMPACT", "a/.git/config", ".git./config", ".git /config"} {
		refused(t, f, path, "private")
	}
	for _, k := range []Kind{List, Search} {
		got, err := call(t, f, k, map[string]any{"text": "secret"})
		if err != nil || strings.Contains(got, ".git") || strings.Contains(got, ".compact") {
			t.Errorf("%s shows a private folder: %q, %v", k, got, err)
		}
	}
}

func TestAnotherCaseIsNotTheFile(t *testing.T) {
	f, _ := project(t, map[string]string{"Docs/Read.md": "x"})
	refused(t, f, "MAIN.GO", "there is main.go")
	refused(t, f, "docs", "there is Docs")
	refused(t, f, "Docs/READ.md", "there is Docs/Read.md")
	refused(t, f, "nothing.txt", "list_files")
}

// NTFS gives .git the second name GIT~1, which no folder lists.
func TestANameThatNoFolderListsIsRefused(t *testing.T) {
	f, _ := project(t, map[string]string{".git/config": "secret"})
	for name, want := range map[string]string{"GIT~1": "there is no GIT~1", ".git": "", "main.go": "", "MAIN.go": "there is main.go"} {
		err := checkSpelling(f.root, name, name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Other forms of a name are not the name: other compositions of its characters, characters
// that look alike, streams of NTFS, escapes of URLs and shells, and names of any length.
func TestAnotherFormOfANameIsNotTheName(t *testing.T) {
	longest := strings.Repeat("n", 255)
	f, _ := project(t, map[string]string{".git/config": "secret", "caf\u00e9.txt": "x", longest: "x"})
	for path, reason := range map[string]string{
		"cafe\u0301.txt":                  "there is no",
		".git::$INDEX_ALLOCATION/config":  "there is no",
		"main.go::$DATA":                  "there is no",
		".g\u0131t/config":                "there is no", // a dotless i
		"\uff0egit/config":                "there is no", // a full-width dot
		".git\u00a0/config":               "there is no",
		".git\u034f/config":               "there is no", // a joiner without a width
		".g\u200cit/config":               "control",
		"\u2024\u2024/secret.txt":         "there is no", // one-dot leaders
		"\uff0e\uff0e/secret.txt":         "there is no",
		"%2e%2e/secret.txt":               "there is no",
		"file:///secret.txt":              "there is no",
		"${HOME}/secret.txt":              "there is no",
		longest + "n":                     "cannot be read",
		strings.Repeat("a/", 199) + "b":   "there is no a",
		strings.Repeat("a/", 201) + "b":   "more than the 400",
		longest + "/" + longest + "/../x": "more than the 400",
	} {
		refused(t, f, path, reason)
	}
	for _, path := range []string{"caf\u00e9.txt", longest} {
		if got, err := call(t, f, Read, map[string]any{"path": path}); err != nil || got != "x" {
			t.Errorf("%.20s: %q, %v", path, got, err)
		}
	}
}

func TestTheFolderOfSessionsIsPrivateWhateverItsName(t *testing.T) {
	_, dir := project(t, map[string]string{"chats/sessions/x.jsonl": "secret\n", "a/chats": "not the sessions\n"})
	f, err := Open(dir, filepath.Join(dir, "chats"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused(t, f, "chats", "private")
	refused(t, f, "chats/sessions/x.jsonl", "private")
	for _, k := range []Kind{List, Search} {
		if got, err := call(t, f, k, map[string]any{"text": "secret"}); err != nil || strings.Contains(got, "chats") {
			t.Errorf("%s shows the folder: %q, %v", k, got, err)
		}
	}
	if got, err := call(t, f, Read, map[string]any{"path": "a/chats"}); err != nil || got != "not the sessions\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// What a user is asked has to be read in one look, and a name must not steer a terminal.
func TestWhatTheUserReadsIsShortAndPlain(t *testing.T) {
	f, _ := project(t, map[string]string{"a\u202egpj.exe": "x secret\n", "b\x1b[2J\u009b": "x secret\n", "c\u2028d": "x secret\n", "line\nmain.go  1 bytes": "x secret\n"})
	for _, k := range []Kind{List, Search} {
		got, err := call(t, f, k, map[string]any{"text": "secret"})
		if err != nil || strings.Count(got, "\n") != map[Kind]int{List: 5, Search: 4}[k] || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && steersText(r) }) {
			t.Errorf("%s: %q, %v", k, got, err)
		}
	}
	refused(t, f, "c\u2028d", "control")
	refused(t, f, strings.Repeat("a/", 300), "bytes, more than")
	if _, err := call(t, f, Search, map[string]any{"text": strings.Repeat("x", maxText+1)}); err == nil || !strings.Contains(err.Error(), "bytes, more than") {
		t.Errorf("a long text: %v", err)
	}
}

func TestHugeFilesAreRefused(t *testing.T) {
	f, dir := project(t, map[string]string{"huge.log": ""})
	for _, size := range []int64{maxFileBytes + 1, 1 << 40} { // of a hole
		if err := os.Truncate(filepath.Join(dir, "huge.log"), size); err != nil {
			t.Skip("no such files on this system: ", err)
		}
		for _, k := range []Kind{Read, Search} {
			if got, err := call(t, f, k, map[string]any{"path": "huge.log", "text": "x", "start_line": 1, "end_line": 2}); err == nil || !strings.Contains(err.Error(), "bytes, more than") {
				t.Errorf("%s of %d bytes: %.40q, %v", k, size, got, err)
			}
		}
	}
	got, err := call(t, f, Search, map[string]any{"text": "func"})
	if err != nil || !strings.Contains(got, "main.go:3: func main() {}") || !strings.Contains(got, "1 files are not text, or larger") {
		t.Errorf("a search beside a huge file: %q, %v", got, err)
	}
}

func TestOnlyTextIsRead(t *testing.T) {
	f, _ := project(t, map[string]string{"nul": "a\x00b", "latin": "caf\xe9", "empty": ""})
	for _, name := range []string{"nul", "latin"} {
		if _, err := call(t, f, Read, map[string]any{"path": name}); err == nil || !strings.Contains(err.Error(), "not text") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := call(t, f, Read, map[string]any{"path": "empty"}); err != nil || got != "the file is empty" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := call(t, f, Read, map[string]any{"path": "."}); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder was read: %v", err)
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestReadReturnsARangeOfLines(t *testing.T) {
	f, _ := project(t, map[string]string{"ten.txt": numbered(10), "long.txt": numbered(2000), "wide.txt": strings.Repeat("é", 9000) + "\nend"})
	for _, x := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"path": "ten.txt"}, numbered(10)},
		{map[string]any{"path": "./ten.txt"}, numbered(10)},
		{map[string]any{"path": "ten.txt", "start_line": 0, "end_line": 0}, numbered(10)},
		{map[string]any{"path": "ten.txt", "start_line": 3, "end_line": 4}, "line 3\nline 4\n(lines 3 to 4 of 10)"},
		{map[string]any{"path": "ten.txt", "start_line": "3", "end_line": "4"}, "line 3\nline 4\n(lines 3 to 4 of 10)"},
		{map[string]any{"path": "ten.txt", "start_line": 9.0, "end_line": 99}, "line 9\nline 10\n(lines 9 to 10 of 10)"},
	} {
		if got, err := call(t, f, Read, x.args); err != nil || got != x.want {
			t.Errorf("%v: %q, %v", x.args, got, err)
		}
	}
	for want, args := range map[string]map[string]any{
		"has only 10 lines": {"path": "ten.txt", "start_line": 11},
		"is before line 5":  {"path": "ten.txt", "start_line": 5, "end_line": 4},
		`needs "path"`:      {},
		"number of a line":  {"path": "ten.txt", "start_line": "three"},
	} {
		if got, err := call(t, f, Read, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %q, %v", args, got, err)
		}
	}
	got, err := call(t, f, Read, map[string]any{"path": "long.txt"})
	if err != nil || len(got) > 4096+100 || !strings.Contains(got, "the rest begins at start_line ") {
		t.Errorf("%d bytes, ending with %q, %v", len(got), got[max(0, len(got)-80):], err)
	}
	got, err = call(t, f, Read, map[string]any{"path": "wide.txt"})
	if err != nil || len(got) > 4096+100 || !strings.Contains(got, "(the beginning of line 1 of 2, which has 18001 bytes)") || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes, ending with %q, %v", len(got), got[max(0, len(got)-80):], err)
	}
}

func TestListNamesWhatIsThere(t *testing.T) {
	f, _ := project(t, map[string]string{"a/b.txt": "xyz", "z\nz": ""})
	if got, err := call(t, f, List, nil); err != nil || got != "a/\nmain.go  29 bytes\nz?z  0 bytes\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := call(t, f, List, map[string]any{"path": "a/"}); err != nil || got != "b.txt  3 bytes\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := call(t, f, List, map[string]any{"path": "main.go"}); err == nil {
		t.Errorf("a file was listed: %q", got)
	}
}

func TestSearchFindsLines(t *testing.T) {
	f, _ := project(t, map[string]string{
		"a/one.txt": "first\nThe Harbour of Oslo\n", "two.txt": strings.Repeat("x", 400) + "harbour" + strings.Repeat("y", 400),
		".hidden/three.txt": "harbour", "many.txt": strings.Repeat("the same line\n", 500),
	})
	got, err := call(t, f, Search, map[string]any{"text": "HARBOUR"})
	if err != nil || !strings.HasPrefix(got, "a/one.txt:2: The Harbour of Oslo\ntwo.txt:1: …xxx") || !strings.Contains(got, "harbour") || strings.Contains(got, "hidden") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err = call(t, f, Search, map[string]any{"text": "harbour", "path": "a"}); err != nil || got != "a/one.txt:2: The Harbour of Oslo\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err = call(t, f, Search, map[string]any{"text": "same line"}); err != nil || len(got) > 4096+200 || !strings.Contains(got, "more lines have it") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err = call(t, f, Search, map[string]any{"text": "  "}); err == nil {
		t.Error("a search for nothing")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err = f.Run(ctx, Call{Kind: Search, Path: ".", Text: "x"}, 4096); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped search: %v", err)
	}
}

func TestACallIsDescribed(t *testing.T) {
	for args, want := range map[string]string{
		`list_files {}`:                                           "list this folder",
		`list_files {"path":"a/"}`:                                "list a",
		`read_file {"path":"x.go"}`:                               "read x.go",
		`read_file {"path":"x.go","start_line":4}`:                "read x.go from line 4",
		`read_file {"path":"x.go","start_line":4,"end_line":"9"}`: "read lines 4 to 9 of x.go",
		`search_files {"text":"a\"b"}`:                            `search this folder for "a\"b"`,
	} {
		name, raw, _ := strings.Cut(args, " ")
		c, err := ParseCall(name, raw)
		if err != nil || c.String() != want {
			t.Errorf("%s: %q, %v", args, c, err)
		}
	}
	if _, err := ParseCall("read_file", "not JSON"); err == nil {
		t.Error("arguments that are not JSON")
	}
}

func TestToolsAreJSON(t *testing.T) {
	var tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal([]byte("["+Tools()+"]"), &tools); err != nil || len(tools) != len(Kinds()) {
		t.Fatalf("%v: %s", err, Tools())
	}
	for i, k := range Kinds() {
		if tools[i].Function.Name != string(k) {
			t.Errorf("tool %d is %s", i, tools[i].Function.Name)
		}
	}
}

// Whatever a model writes: no path leads out, and no result is longer than it may be.
func FuzzCallsStayInside(f *testing.F) {
	f.Add("../secret.txt", 1, 2)
	f.Add("main.go", 0, -1)
	f.Add("a/./b//c", 5, 9)
	f.Fuzz(func(t *testing.T, path string, start, end int) {
		folder, _ := project(t, nil)
		for _, k := range Kinds() {
			got, _ := call(t, folder, k, map[string]any{"path": path, "text": "outer", "start_line": start, "end_line": end})
			if strings.Contains(got, "outer folder") || len(got) > 4096+300 {
				t.Errorf("%s of %q: %q", k, path, got)
			}
		}
	})
}
