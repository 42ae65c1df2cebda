package files

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// The stubs are quoted as the tools write them.
func TestReferents(t *testing.T) {
	const unchanged = "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current — refer to that instead of re-reading."
	type read struct {
		tool   string
		args   args
		answer string
	}
	cc := func(path, answer string) read { return read{"Read", args{"file_path": path}, answer} }
	for _, test := range []struct {
		name  string
		reads []read
		want  []int // for each read: the one that it refers to, or -1
	}{
		{"Claude Code", []read{cc("/p/a.go", body), cc("/p/b.go", body), cc("/p/a.go", unchanged)}, []int{-1, -1, 0}},
		{"a tag", []read{cc("/p/a.go", body), cc("/p/a.go", "<file_unchanged/>")}, []int{-1, 0}},
		{"a part, then all", []read{cc("/p/a.go", body), cc("/p/a.go", body), cc("a.go", unchanged)}, []int{-1, -1, 1}},
		{"a stub of a stub", []read{cc("/p/a.go", body), cc("/p/a.go", unchanged), cc("/p/a.go", unchanged)}, []int{-1, 0, 0}},
		{"nothing above", []read{cc("/p/a.go", unchanged), cc("/p/a.go", body)}, []int{-1, -1}},
		{"Cline", []read{{"read_file", args{"path": "a.go"}, "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read for the most up to date version of this file.]"}, {"read_file", args{"path": "a.go"}, body}, {"read_file", args{"path": "a.go"}, body}}, []int{2, -1, -1}},
		{"our own", []read{cc("/p/a.go", Superseded("/p/a.go", "0123abcd")), cc("/p/a.go", body)}, []int{1, -1}},
		{"our own, of a command", []read{{"Bash", args{"command": "make test"}, Repeated("0123abcd")}, {"Bash", args{"command": "make test"}, body}}, []int{1, -1}},
		{"a shell", []read{{"Bash", args{"command": "cat /p/a.go"}, body}, cc("/p/a.go", unchanged)}, []int{-1, 0}},
		{"a tool that says so in a long text", []read{cc("/p/a.go", body), cc("/p/a.go", body+body+body+unchanged)}, []int{-1, -1}},
	} {
		var messages chat.Transcript
		for i, r := range test.reads {
			c := call(r.tool, r.args)
			c.ID = fmt.Sprint(i)
			messages = append(messages, chat.Message{Role: chat.Assistant, Parts: []chat.Part{*c}}, chat.NewResult(c.ID, r.answer))
		}
		found := Referents(messages)
		got := make([]int, len(test.reads))
		for i := range got {
			got[i] = -1
			if found != nil && found[2*i+1] >= 0 {
				got[i] = found[2*i+1] / 2
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestReferentOfAStubInAText(t *testing.T) {
	machine := func(text string) chat.Message {
		m := chat.NewText(chat.User, text)
		m.Machine = true
		return m
	}
	messages := chat.Transcript{machine("[read_file for 'a.go'] Result:\n[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read for the most up to date version of this file.]"), chat.NewText(chat.Assistant, "go on"), machine("[read_file for 'a.go'] Result:\n" + body)}
	if got := Referents(messages); !slices.Equal(got, []int{2, -1, -1}) {
		t.Errorf("%v", got)
	}
	typed := chat.Transcript{chat.NewText(chat.User, "I have already read a.go, it is unchanged since then")}
	if got := Referents(typed); got != nil {
		t.Errorf("%v", got)
	}
}
