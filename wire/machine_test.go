package wire

import (
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func TestStateIsDetectedByTheFirstLine(t *testing.T) {
	for _, c := range []struct {
		role chat.Role
		text string
		want chat.State
	}{
		{chat.User, "hi", chat.Active},
		{chat.Assistant, "<COMPACT-SUMMARY v3>\nx", chat.Summarized},
		{chat.User, "<COMPACT-SUMMARY v3>\nx", chat.Active},
		{chat.System, "[Compressed Message Summary]\nx", chat.Summarized},
		{chat.User, "[outline a.go, 9 lines; recall 0123abcd]", chat.Outlined},
		{chat.Tool, "[digest of 9 lines; recall 0123abcd]", chat.Outlined},
		{chat.Tool, "[superseded by a later read of a.go; recall 0123abcd]", chat.Outlined},
		{chat.Tool, "[repeated below; recall 0123abcd]", chat.Outlined},
		{chat.System, "[outline a.go, 9 lines; recall 0123abcd]", chat.Active},
		{chat.Assistant, "[marker 8 messages left out; recall 0123abcd]\nnames: a b", chat.Marked},
		{chat.Tool, "[marker 8 messages left out; recall 0123abcd]\nnames: a b", chat.Active},
		{chat.User, "[marker a gap]", chat.Marked},
		{chat.User, "[marker go on]", chat.Marked}, // the former form
		{chat.User, "[marker go on] is what it says, why?", chat.Active},
		{chat.User, "[marker pen] is what I want to buy", chat.Active},
		{chat.User, "[outline of the talk]", chat.Active},
		{chat.User, "[digest; recall is broken]", chat.Active},
		{chat.Assistant, "[note]", chat.Active},
	} {
		m := chat.NewText(c.role, c.text)
		if c.role == chat.Tool {
			m = chat.NewResult("a", c.text)
		}
		if classify(&m); m.State != c.want {
			t.Errorf("%s %q: %q, want %q", c.role, c.text, m.State, c.want)
		}
	}
}

func TestMessageWithTypedTextOrImageIsNotTheMachines(t *testing.T) {
	reminder := chat.Part{Kind: chat.Text, Text: "<system-reminder>x</system-reminder>"}
	for _, c := range []struct {
		parts []chat.Part
		want  bool
	}{
		{[]chat.Part{reminder}, true},
		{[]chat.Part{reminder, {Kind: chat.Text, Text: "fix it"}}, false},
		{[]chat.Part{reminder, {Kind: chat.Image, Image: &chat.Picture{}}}, false},
		{nil, false},
	} {
		m := chat.Message{Role: chat.User, Parts: c.parts}
		if classify(&m); m.Machine != c.want {
			t.Errorf("%v: %v", c.parts, m.Machine)
		}
	}
}

// The wrapper of a slash command is Claude Code's, its arguments are a person's.
func TestArgumentsOfASlashCommandAreTyped(t *testing.T) {
	record := func(content string) string {
		return `{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u","message":{"role":"user","content":` + content + `}}` + "\n"
	}
	for content, want := range map[string]string{
		`"<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n<command-args>the lexer first</command-args>"`:              "the lexer first",
		`[{"type":"text","text":"<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the lexer first</command-args>"}]`: "the lexer first",
		`"<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n            <command-args></command-args>"`:                   "",
		`"<command-name>/clear</command-name>\n<command-args> \n</command-args>"`:                                                                                  "",
		`"<command-name>/compact</command-name>"`: "",
		`[{"type":"text","text":"<command-name>/clear</command-name>\n<command-args></command-args>"},{"type":"text","text":"and then?"}]`: "and then?",
	} {
		m := decoded(t, record(content)).Messages[0]
		if m.TypedText() != want || m.Typed() != (want != "") {
			t.Errorf("%s: %q, typed %v, want %q", content, m.TypedText(), m.Typed(), want)
		}
	}
}

// A user's message of Cline is the task, an answer or the client's own words.
func TestClientTextsOfClineAreNotTyped(t *testing.T) {
	text := func(s string) string { return `{"type":"text","text":` + string(appendQuoted(nil, s)) + `}` }
	todo := text("\n\n\t\t\t\t# TODO LIST UPDATE REQUIRED - You MUST include the task_progress parameter in your NEXT tool call.\n\n- [ ] fix\n")
	around := text("<environment_details>\n# Current Mode\nACT MODE\n</environment_details>")
	in := `[{"role":"user","content":[` + text("<task>\nFix the parser.\n</task>") + `,` + todo + `,` + around + `]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read_file","input":{"path":"a.go"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},` + todo + `,` + around + `]},` +
		`{"role":"assistant","content":"Done."},` +
		`{"role":"user","content":[` + text("[ERROR] You did not use a tool in your previous response! Please retry with a tool use.") + `,` + around + `]}]`
	for _, format := range []string{"cline", "anthropic"} {
		c, err := DecodeBytes([]byte(in), Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		var typed []string
		for _, m := range c.Messages {
			if m.Typed() {
				typed = append(typed, m.TypedText())
			}
		}
		if len(typed) != 1 || typed[0] != "Fix the parser." {
			t.Errorf("%s: %q", format, typed)
		}
	}
}
