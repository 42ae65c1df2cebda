package files

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// A talk is a conversation under construction.
type talk struct {
	t     chat.Transcript
	facts []Scan
}

func (k *talk) add(m chat.Message, c *chat.Part) {
	k.t = append(k.t, m)
	k.facts = append(k.facts, ScanMessage(m, c))
}

func (k *talk) does(tool string, a args, text string) {
	c := call(tool, a)
	k.add(chat.Message{Role: chat.Assistant, Parts: []chat.Part{*c}}, nil)
	k.add(result(text), c)
}

func (k *talk) says(texts ...string) {
	for _, text := range texts {
		k.add(chat.NewText(chat.User, text), nil)
	}
}

func (k *talk) index() (*Index, func(i int) Ref) {
	return NewIndex(k.t, k.facts), func(i int) Ref { return k.facts[i].Copies[0] }
}

func TestReferences(t *testing.T) {
	tests := []struct {
		name string
		then func(k *talk)
		want int // newest message that refers to the file read in message 1
	}{
		{"none", func(k *talk) { k.says("x", "y") }, 1},
		{"path", func(k *talk) { k.says("see src/store.go please", "y") }, 2},
		{"base name", func(k *talk) { k.says("x", "see store.go:12") }, 3},
		{"base name of two files", func(k *talk) {
			k.does("read", args{"path": "/r/other/store.go"}, strings.ReplaceAll(body, "Open", "Shut"))
			k.says("see store.go")
		}, 1},
		{"symbol", func(k *talk) { k.says("what does `closeAll` do?", "y") }, 2},
		{"plain word", func(k *talk) { k.says("open all the things") }, 1},
		{"read", func(k *talk) { k.says("x"); k.does("read", args{"path": "store.go"}, body) }, 4},
		{"edit", func(k *talk) {
			k.does("edit", args{"path": "/r/src/store.go", "oldText": "a", "newText": "b"}, "ok")
			k.says("y")
		}, 2},
	}
	for _, test := range tests {
		k := new(talk)
		k.does("read", args{"path": "/r/src/store.go"}, body)
		test.then(k)
		x, at := k.index()
		if got := lastReference(x, "/r/src/store.go"); got != test.want {
			t.Errorf("%s: last reference %d, want %d", test.name, got, test.want)
		}
		x, _ = k.index()
		after := len(k.t) - 1 - test.want
		if !x.Stale(1, at(1), max(after, 1)) && after > 0 || x.Stale(1, at(1), after+1) {
			t.Errorf("%s: stale is not last reference %d of %d", test.name, test.want, len(k.t))
		}
	}
}

func TestSuperseded(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("a line that is read again and again\n", n) }
	tests := []struct {
		name  string
		first args
		n     int
		later args
		m     int
		want  bool
	}{
		{"whole by whole", args{"path": "a.go"}, 50, args{"path": "a.go"}, 60, true},
		{"part by whole", args{"path": "a.go", "offset": 10, "limit": 20}, 20, args{"path": "/r/a.go"}, 60, true},
		{"whole by part", args{"path": "a.go"}, 50, args{"path": "a.go", "offset": 1, "limit": 20}, 20, false},
		{"400 by 300 lines", args{"path": "a.go", "offset": 1, "limit": 400}, 400, args{"path": "a.go", "offset": 1, "limit": 300}, 300, false},
		{"inner lines", args{"path": "a.go", "offset": 10, "limit": 20}, 20, args{"path": "a.go", "offset": 5, "limit": 40}, 40, true},
		{"lines that overlap", args{"path": "a.go", "offset": 10, "limit": 20}, 20, args{"path": "a.go", "offset": 15, "limit": 40}, 40, false},
		{"another file", args{"path": "a.go"}, 50, args{"path": "b.go"}, 60, false},
		{"same name, another folder", args{"path": "/r/x/a.go"}, 50, args{"path": "/r/y/a.go"}, 60, false},
	}
	for _, test := range tests {
		k := new(talk)
		k.does("read", test.first, lines(test.n))
		k.does("read", test.later, lines(test.m))
		x, at := k.index()
		if got := x.Superseded(1, at(1)) == 3; got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
		if x.Superseded(3, at(3)) >= 0 {
			t.Errorf("%s: the newest is superseded", test.name)
		}
	}
}

func TestKnownEditsOfAFile(t *testing.T) {
	k := new(talk)
	k.does("read", args{"path": "a.go"}, body)
	k.does("edit", args{"path": "a.go", "oldText": "openFolder(dir)", "newText": "openOther(dir)"}, "ok")
	x, at := k.index()
	if x.ChangedSince(1, at(1)) != 2 || !x.ActiveEdit("a.go") || x.ActiveEdit("b.go") || x.Repeated(1, at(1)) != -1 {
		t.Error("wrong after an edit")
	}
	now := x.Current(1, at(1))
	if !strings.Contains(now.Text, "openOther(dir)") || strings.Contains(now.Text, "openFolder") || now.Note != "shown as edited since" || len(now.Edited) != 1 {
		t.Errorf("%+v", now)
	}
	k.does("edit", args{"path": "a.go", "oldText": "nowhere to be found", "newText": "x"}, "ok")
	x, at = k.index()
	if now := x.Current(1, at(1)); now.Note != "changed since" {
		t.Errorf("%+v", now)
	}
	k.says("1", "2", "3", "4", "5")
	k.does("bash", args{"command": "cat a.go"}, body)
	if x, at = k.index(); x.ActiveEdit("a.go") || x.Repeated(1, at(1)) != 12 {
		t.Error("wrong after a second read")
	}
	if x, _ := k.index(); lastReference(x, "none.go") != -1 || x.ChangedSince(1, Ref{}) != -1 || x.Superseded(1, Ref{}) != -1 {
		t.Error("no file has a history")
	}
}

// An edit of each occurrence is made at each, and what it puts there is no line of the
// file. Another edit is made once.
func TestEditsOfEachOccurrence(t *testing.T) {
	for _, call := range []struct {
		args  args
		every bool
	}{
		{args{"file_path": "a.go", "old_string": "dir", "new_string": "folder", "replace_all": true}, true},
		{args{"path": "a.go", "oldString": "dir", "newString": "folder", "replaceAll": true}, true},
		{args{"file_path": "a.go", "edits": []args{{"old_string": "dir", "new_string": "folder", "replace_all": true}}}, true},
		{args{"file_path": "a.go", "old_string": "dir", "new_string": "folder", "replace_all": false}, false},
		{args{"file_path": "a.go", "old_string": "dir", "new_string": "folder"}, false},
	} {
		k := new(talk)
		k.does("read", args{"path": "a.go"}, body)
		k.does("edit", call.args, "ok")
		x, at := k.index()
		now := x.Current(1, at(1))
		if left := strings.Contains(now.Text, "dir"); left == call.every || !strings.Contains(now.Text, "folder") {
			t.Errorf("%v: the text is\n%s", call.args, now.Text)
		}
		for _, c := range x.facts[2].Copies {
			if c.IsWord() != call.every {
				t.Errorf("%v: a word: %v", call.args, c.IsWord())
			}
		}
	}
}

func TestKnownAndLost(t *testing.T) {
	k := new(talk)
	k.does("read", args{"path": "a.go"}, body+"// onlyHere here_too\n"+strings.Repeat("// pad\n", 20))
	k.says("here_too is said again")
	x, at := k.index()
	known := x.Known(func(message, _ int) bool { return message == 1 })
	lost := strings.Join(known.Lost(at(1), at(1).Text(k.t[1]), nil, 10), " ")
	if !strings.Contains(lost, "onlyHere") || strings.Contains(lost, "here_too") {
		t.Error(lost)
	}
	known.Add("onlyHere")
	if lost := strings.Join(known.Lost(at(1), at(1).Text(k.t[1]), FocusOf(k.t, k.facts), 10), " "); strings.Contains(lost, "onlyHere") {
		t.Error(lost)
	}
	for i := range 10_000 {
		known.Add(fmt.Sprintf("name_%d", i))
	}
	if !known.hasHash(hashIdent("name_77")) || known.hasHash(hashIdent("name_x77")) {
		t.Error("the set lost something")
	}
}

func TestLedgerHasRemovedIdentifiers(t *testing.T) {
	removed := []chat.Message{chat.NewText(chat.User, "oldName in src/a.go"), {Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "tool_name", Args: `{"x":"line\nnewName"}`}}}}
	kept := []chat.Message{chat.NewText(chat.User, "see src/a.go")}
	if got := strings.Join(NamesOf(removed, kept).List(100, countBytes), " "); got != "newName oldName" {
		t.Error(got)
	}
	if got := NamesOf(removed, kept).List(2, countBytes); len(got) != 1 {
		t.Error(got)
	}
	if got := NamesOf(removed, kept).List(0, countBytes); got != nil {
		t.Error(got)
	}
}

func BenchmarkNewIndex(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		k := new(talk)
		for i := range n / 2 {
			k.does("read", args{"path": fmt.Sprintf("/r/pkg%d/file.go", i%(n/20))}, body)
		}
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			for b.Loop() {
				NewIndex(k.t, k.facts)
			}
		})
	}
}

// lastReference returns the newest message that refers to the file of path, or -1.
func lastReference(x *Index, path string) int {
	if id, ok := x.names.fileOfPath(path); ok {
		x.lookBack(0)
		if at, referred := x.refs[id]; referred {
			return at
		}
	}
	return -1
}
