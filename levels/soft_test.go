package levels_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// A script builds a conversation, message by message.
type script struct{ t chat.Transcript }

func (s *script) add(m chat.Message) *script {
	m.ID = fmt.Sprintf("m%d", len(s.t))
	s.t = append(s.t, m)
	return s
}

func (s *script) say(role chat.Role, text string) *script { return s.add(chat.NewText(role, text)) }

// talk adds n messages that name no file.
func (s *script) talk(n int) *script {
	for i := range n {
		role := chat.Assistant
		if i%2 == 1 {
			role = chat.User
		}
		s.say(role, fmt.Sprintf("nothing of note, part %d", i))
	}
	return s
}

// call adds a call and its result.
func (s *script) call(tool string, args map[string]any, result string) *script {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	id := fmt.Sprintf("c%d", len(s.t))
	s.add(chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: tool, Args: string(data)}}})
	return s.add(chat.NewResult(id, result))
}

// soften applies a level's plan and checks what must hold.
func soften(t *testing.T, s levels.Soft, in chat.Transcript) chat.Transcript {
	t.Helper()
	v := viewOf(in)
	plan, err := s.Plan(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	return applied(t, v, plan)
}

// applied returns what edits leave of v. A summary may take a former one's place.
func applied(t *testing.T, v levels.View, edits []edit.Edit) chat.Transcript {
	t.Helper()
	locked := func(i int) bool { return v.Protections[i]&^protection.Session != 0 }
	out, err := edit.Apply(v.Messages, edits, edit.Rules{Locked: locked, Size: size})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// userManager returns a Python file of about 45 KB.
func userManager() string {
	var b strings.Builder
	b.WriteString("\"\"\"Users and what they may do.\"\"\"\nimport os\nfrom typing import Optional\n\n\nclass UserManager:\n    \"\"\"Keeps users.\"\"\"\n\n")
	for i := 0; b.Len() < 45_000; i++ {
		fmt.Fprintf(&b, "    def update_field_%d(self, user_id: int, value: Optional[str] = None) -> bool:\n", i)
		for k := range 10 {
			fmt.Fprintf(&b, "        if value == os.environ.get(\"SETTING_%d_%d\"):\n            return self._store(user_id, %d)\n", i, k, k)
		}
		b.WriteString("        return False\n\n")
	}
	return b.String()
}

func TestUserManagerOf45KBLastReferenced16MessagesAgoTakesAtMost500Tokens(t *testing.T) {
	s := new(script).say(chat.User, "Look at the users.").call("read_file", map[string]any{"path": "app/user_manager.py"}, userManager())
	s.say(chat.Assistant, "user_manager.py has one class.").talk(16)
	out := soften(t, levels.Soft{}, s.t)
	if got := out[2]; got.State != chat.Outlined || size(got) > 504 || got.Recall == "" {
		t.Fatalf("%d tokens, state %q, recall %q:\n%s", size(got), got.State, got.Recall, got.Text())
	}
	for _, want := range []string{"[outline app/user_manager.py", "recall " + out[2].Recall, "class UserManager", "update_field_0(self, user_id: int", "left out: "} {
		if !strings.Contains(out[2].Text(), want) {
			t.Errorf("%q is missing in\n%s", want, out[2].Text())
		}
	}
	if out := soften(t, levels.Soft{All: true}, s.t); size(out[2]) > 154 {
		t.Errorf("emergency: %d tokens", size(out[2]))
	}
}

func TestStaleFileOf11250TokensOf20000(t *testing.T) {
	s := new(script).say(chat.User, "go on").call("read", map[string]any{"path": "big.go"}, goFile(11_250*3+2000))
	s.say(chat.Assistant, strings.Repeat("this has to stay as it is. ", 1000)).talk(5)
	out := soften(t, levels.Soft{}, s.t)
	if freed := total(s.t) - total(out); freed < size(s.t[2])-504 {
		t.Errorf("freed %d of %d", freed, size(s.t[2]))
	}
}

// goFile returns Go source of about size bytes.
func goFile(size int) string {
	var b strings.Builder
	b.WriteString("// Package big is big.\npackage big\n\nimport \"fmt\"\n\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "// Step%d does step %d.\nfunc Step%d(in string) error {\n\tif in == \"\" {\n\t\treturn fmt.Errorf(\"step %d: empty\")\n\t}\n\tfmt.Println(in, %d)\n\treturn nil\n}\n\n", i, i, i, i, i)
	}
	return b.String()
}

func TestSoftDecides(t *testing.T) {
	file, other := goFile(4000), strings.ReplaceAll(goFile(4000), "Step", "Walk")
	read := func(path string) map[string]any { return map[string]any{"path": path} }
	log := "ok  \tpkg/a\n" + strings.Repeat("--- PASS: TestX (0.00s)\n", 100) + "--- FAIL: TestLogin (0.01s)\n" + strings.Repeat("more\n", 50)
	tests := []struct {
		name string
		soft levels.Soft
		t    chat.Transcript
		at   int
		head string // "" leaves the message as it is
	}{
		{"stale", levels.Soft{}, new(script).call("read", read("a.go"), file).talk(3).t, 1, "[outline a.go"},
		{"named in the last three", levels.Soft{}, new(script).call("read", read("x/a.go"), file).talk(3).say(chat.User, "now a.go").talk(2).t, 1, ""},
		{"named before the last three", levels.Soft{}, new(script).call("read", read("x/a.go"), file).say(chat.User, "now a.go").talk(3).t, 1, "[outline"},
		{"named, stale or not", levels.Soft{All: true}, new(script).call("read", read("x/a.go"), file).talk(3).say(chat.User, "now a.go").talk(2).t, 1, "[outline"},
		{"symbol called", levels.Soft{}, new(script).call("read", read("a.go"), file).talk(3).say(chat.User, "what of Step3()?").talk(2).t, 1, ""},
		{"symbol of two files", levels.Soft{}, new(script).call("read", read("a.go"), file).call("read", read("b.go"), file+"// b\n").talk(3).say(chat.User, "what of Step3()?").talk(2).t, 1, "[outline"},
		{"another file's symbol", levels.Soft{}, new(script).call("read", read("a.go"), file).call("read", read("b.go"), other).talk(3).say(chat.User, "what of Walk3()?").talk(2).t, 1, "[outline"},
		{"superseded by a newer read", levels.Soft{}, new(script).call("read", read("a.go"), file).call("read", read("a.go"), file+"// new\n").talk(3).t, 1, "[superseded a.go"},
		{"not by a read of fewer lines", levels.Soft{}, new(script).call("read", map[string]any{"path": "a.go", "offset": 1, "limit": 400}, strings.Repeat("a line\n", 400)).
			call("read", map[string]any{"path": "a.go", "offset": 1, "limit": 300}, strings.Repeat("a line\n", 300)).talk(3).t, 1, ""},
		{"a part that takes over a tenth of the window", levels.Soft{}, new(script).call("read", map[string]any{"path": "a.go", "offset": 1, "limit": 12000}, strings.Repeat("a line\n", 12000)).
			call("read", map[string]any{"path": "b.go", "offset": 1, "limit": 300}, strings.Repeat("a line\n", 300)).talk(3).t, 1, "[outline"},
		{"repeated output", levels.Soft{}, new(script).call("bash", map[string]any{"command": "make"}, log).call("bash", map[string]any{"command": "make"}, log).talk(3).t, 1, "[repeated"},
		{"old output", levels.Soft{}, new(script).call("bash", map[string]any{"command": "make"}, log).talk(3).t, 1, "[digest"},
		{"active edit", levels.Soft{All: true}, new(script).talk(4).call("read", read("a.go"), file).call("edit", map[string]any{"path": "a.go", "oldText": "x", "newText": "y"}, "done").say(chat.Assistant, "ok").t, 5, ""},
		{"newest messages, in an emergency", levels.Soft{All: true}, new(script).call("read", read("a.go"), file).say(chat.Assistant, "ok").t, 1, "[outline"},
		{"newest messages", levels.Soft{}, new(script).call("read", read("a.go"), file).say(chat.Assistant, "ok").t, 1, ""},
		{"not read yet", levels.Soft{All: true}, new(script).call("read", read("a.go"), file).t, 1, ""},
		{"shown by cat", levels.Soft{}, new(script).call("shell", map[string]any{"command": "cd src && cat a.go"}, file).talk(3).t, 1, "[outline src/a.go"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := soften(t, test.soft, test.t)[test.at].Text()
			if test.head == "" && got != test.t[test.at].Text() {
				t.Errorf("changed to\n%s", got)
			}
			if !strings.HasPrefix(got, test.head) {
				t.Errorf("want %s, got\n%s", test.head, got)
			}
		})
	}
}

func TestSoftKeepsWhatFailedInADigest(t *testing.T) {
	log := strings.Repeat("--- PASS: TestX (0.00s)\n", 100) + "--- FAIL: TestLogin (0.01s)\n" + strings.Repeat("more\n", 50)
	out := soften(t, levels.Soft{}, new(script).call("bash", map[string]any{"command": "go test"}, log).talk(3).t)
	if !strings.Contains(out[1].Text(), "--- FAIL: TestLogin") {
		t.Error(out[1].Text())
	}
}

func TestArgumentsStayJSONAndKeepTheirOrder(t *testing.T) {
	args := `{"b": 1, "path":"a.go" , "content":` + string(must(json.Marshal(goFile(6000)))) + `, "z":[true,{"content":"kept"}], "a": "\ud83d\ude00"}`
	s := new(script)
	s.add(chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "1", Name: "write", Args: args, Raw: "x"}}})
	s.add(chat.NewResult("1", "written")).talk(4)
	got := soften(t, levels.Soft{}, s.t)[0].Parts[0]
	if !json.Valid([]byte(got.Args)) || got.Raw != "" {
		t.Fatalf("raw %q, arguments %s", got.Raw, got.Args)
	}
	if !strings.HasPrefix(got.Args, `{"b": 1, "path":"a.go" , "content_left_out":"[outline a.go`) || !strings.HasSuffix(got.Args, `, "z":[true,{"content":"kept"}], "a": "\ud83d\ude00"}`) {
		t.Error(got.Args)
	}
}

func TestArgumentsThatAreNoJSONStay(t *testing.T) {
	s := new(script)
	s.add(chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "1", Name: "write", Args: `{"path":"a.go","content":"` + strings.Repeat("a line of it ", 500)}}})
	s.add(chat.NewResult("1", "bad call")).talk(4)
	if got := soften(t, levels.Soft{}, s.t); got[0].Parts[0].Args != s.t[0].Parts[0].Args {
		t.Error("changed")
	}
}

func TestOldTextOfAnEditGoes(t *testing.T) {
	s := new(script).call("Edit", map[string]any{"file_path": "a.go", "old_string": goFile(2000), "new_string": "short"}, "done").talk(4)
	got := soften(t, levels.Soft{}, s.t)[0].Parts[0].Args
	if !strings.Contains(got, "[superseded old text of this edit; recall ") || !strings.Contains(got, `"new_string":"short"`) {
		t.Error(got)
	}
}

func TestOutlineShowsAFileAsItIsNow(t *testing.T) { // an edit made from an old copy fails
	file := strings.Replace(goFile(9000), "fmt.Println(in, 7)", "oldCall(in, 7777)", 1)
	s := new(script).call("read", map[string]any{"path": "a.go"}, file)
	s.call("edit", map[string]any{"path": "a.go", "oldText": "oldCall(in, 7777)", "newText": "newCall(in, 7777)"}, "done").talk(6)
	got := soften(t, levels.Soft{}, s.t)[1].Text()
	if strings.Contains(got, "oldCall") || !strings.Contains(got, "newCall(in, 7777)") || !strings.Contains(got, "edited since") {
		t.Error(got)
	}
	s.call("bash", map[string]any{"command": "cat > a.go <<'EOF'\n" + strings.Repeat("x\n", 20) + "EOF"}, "").talk(6)
	if got := soften(t, levels.Soft{}, s.t)[1].Text(); !strings.Contains(got, "changed since") && !strings.HasPrefix(got, "[superseded") {
		t.Error(got)
	}
}

func TestSoftLeavesSettledAndLockedMessagesAlone(t *testing.T) {
	s := new(script).say(chat.User, "go on").call("read", map[string]any{"path": "a.go"}, goFile(4000)).talk(5)
	once := soften(t, levels.Soft{}, s.t)
	twice := soften(t, levels.Soft{}, once)
	if edit.FirstChanged(once, twice) >= 0 {
		t.Error("a second pass changed something")
	}
	s.t[2].Protected = true
	if got := soften(t, levels.Soft{}, s.t); edit.FirstChanged(s.t, got) >= 0 {
		t.Error("a protected message changed")
	}
}

func TestImagesAndThinkingStayBesideAnOutline(t *testing.T) {
	s := new(script).call("read", map[string]any{"path": "a.go"}, goFile(4000)).talk(5)
	extra := chat.Part{Kind: chat.Image, Image: &chat.Picture{Width: 10, Height: 10}}
	s.t[1].Parts = append(s.t[1].Parts, extra)
	got := soften(t, levels.Soft{}, s.t)[1]
	if len(got.Parts) != 2 || got.Parts[1] != extra || !strings.HasPrefix(got.Parts[0].Text, "[outline") {
		t.Errorf("%+v", got.Parts)
	}
}

func TestAttachedFileIsOutlinedInItsFrame(t *testing.T) {
	m := chat.NewText(chat.User, files.AttachText("docs/a.go", goFile(4000)))
	m.Machine = true
	got := soften(t, levels.Soft{}, new(script).say(chat.User, "hi").add(m).talk(5).t)[1].Text()
	if !strings.HasPrefix(got, "<file path=\"docs/a.go\">\n[outline docs/a.go") || !strings.HasSuffix(got, "\n</file>") {
		t.Error(got)
	}
}

func TestSoftIsDeterministic(t *testing.T) {
	for _, s := range sessions(t)[:3] {
		a, b := soften(t, levels.Soft{}, s), soften(t, levels.Soft{}, s)
		if edit.FirstChanged(a, b) >= 0 {
			t.Error("two runs differ")
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// longSession returns 10,000 messages of 2 MB: mostly short calls and answers,
// with a read of 28 KB for every 200 messages and a log of 4 KB for every 100.
func longSession() chat.Transcript {
	s := new(script).say(chat.User, "go on")
	for len(s.t) < 10_000 {
		switch n := len(s.t); {
		case n%200 < 2:
			s.call("read", map[string]any{"path": fmt.Sprintf("pkg%d/file.go", n)}, strings.ReplaceAll(goFile(28_000), "Step", fmt.Sprintf("Step%d", n)))
		case n%100 < 2:
			s.call("bash", map[string]any{"command": "go test ./..."}, fmt.Sprint(n)+strings.Repeat("--- PASS: TestX (0.00s)\n", 170))
		default:
			s.call("grep", map[string]any{"pattern": fmt.Sprintf("name_%d", n)}, fmt.Sprintf("pkg%d/file.go:12: name_%d := load()", n/200*200, n))
		}
	}
	return s.t
}

func BenchmarkSoftPlanWarm(b *testing.B) {
	v := viewOf(longSession())
	b.ResetTimer()
	for b.Loop() {
		if _, err := (levels.Soft{}).Plan(context.Background(), v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSoftPlanCold(b *testing.B) {
	t := longSession()
	v := viewOf(t)
	bytes := 0
	for _, m := range t {
		bytes += len(measureText(m))
	}
	b.ReportMetric(float64(bytes)/1e6, "MB")
	b.ResetTimer()
	for b.Loop() {
		cold := v
		cold.Facts = make([]files.Scan, len(t))
		calls := files.Calls(t)
		for i, m := range t {
			cold.Facts[i] = files.ScanMessage(m, calls[i])
		}
		cold.Protections = protection.Policy{}.Protections(t)
		if _, err := (levels.Soft{}).Plan(context.Background(), cold); err != nil {
			b.Fatal(err)
		}
	}
}
