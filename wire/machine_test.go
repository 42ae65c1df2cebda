package wire

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func TestMachineTextIsWhatNoPersonTyped(t *testing.T) {
	for text, want := range map[string]bool{
		"":                          false,
		"fix the test":              false,
		"see <b>this</b>":           false,
		"<div>why is this not red?": false,
		"[1] is a list, [2] too":    false,
		"<system-reminder>x":        true,
		"<system-reminder>x</system-reminder>\n<system-reminder>y</system-reminder> ": true,
		"<system-reminder>x</system-reminder>\nand fix it":                            false,
		"fix it\n<system-reminder>x</system-reminder>":                                false,
		"<task>do it</task>\n<environment_details>x</environment_details>":            false,
		"  <environment_context>\n<cwd>/x</cwd></environment_context>":                true,
		"<environment_details>\n# Files\n</environment_details>":                      true,
		"# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>be good</INSTRUCTIONS>":     true,
		"<returncode>0</returncode>\n<output>ok</output>":                             true,
		"OBSERVATION:\nok":                           true,
		"EXECUTION RESULT of [terminal]:\nok":        true,
		"[read_file for 'a.go'] Result:\npackage a":  true,
		"[Request interrupted by user for tool use]": true,
		"<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>": true,
		"<local-command-stdout></local-command-stdout>":                                                                true,
		"<command-named>x": false,
	} {
		if got := machineText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestMachineTextIsLinear(t *testing.T) {
	for _, text := range []string{"<skill>", "<skill></skill>", "<skill </skill>", "[x", "< "} {
		machineText(strings.Repeat(text, 1<<17)) // would not end if it were not
	}
}

func TestStateIsToldByTheFirstLine(t *testing.T) {
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
		{chat.User, "[marker go on]", chat.Marked}, // as it once was written
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
