package chat_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// The texts are in the forms of clients; expected is the part that a person typed.
func TestTypedTextIsThePersonsText(t *testing.T) {
	for text, want := range map[string]string{
		"fix the test":              "fix the test",
		"see <b>this</b>":           "see <b>this</b>",
		"<div>why is this not red?": "<div>why is this not red?",
		"[1] is a list, [2] too":    "[1] is a list, [2] too",
		"<system-reminder>x":        "",
		"<system-reminder>x</system-reminder>\n<system-reminder>y</system-reminder> ": "",
		"<system-reminder>x</system-reminder>\nand fix it":                            "and fix it",
		"fix it\n<system-reminder>x</system-reminder>":                                "fix it",
		"what does <skill> mean?":                                                     "what does <skill> mean?",
		"  <environment_context>\n<cwd>/x</cwd></environment_context>":                "",
		"# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>be good</INSTRUCTIONS>":     "",
		"<returncode>0</returncode>\n<output>ok</output>":                             "",
		"OBSERVATION:\nok":                                       "",
		"EXECUTION RESULT of [terminal]:\nok":                    "",
		"[read_file for 'a.go'] Result:\npackage a":              "",
		"[Request interrupted by user for tool use]":             "",
		"<local-command-stdout></local-command-stdout>":          "",
		"<command-named>x":                                       "<command-named>x",
		"<bash-input>go test</bash-input>":                       "",
		"<turn_aborted>\nreason\n</turn_aborted>":                "",
		"<permissions instructions>x</permissions instructions>": "",

		// Claude Code's slash commands
		"<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>":                                        "",
		"<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n            <command-args>\n</command-args>":              "",
		"<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n<command-args>the lexer, not the parser</command-args>": "the lexer, not the parser",
		"<command-name>/review</command-name><command-args>a < b\nand c</command-args>":                                                                       "a < b\nand c",

		// Cline, Roo, Kilo
		"<task>do it</task>\n<environment_details>x</environment_details>":                                                                                 "do it",
		"<task>\ndo it\n</task>\n\n# task_progress RECOMMENDED\n\nWhen starting a new task, include one.":                                                  "do it",
		"<task>\ndo it as in 'a.md' (see below for file content)\n</task>\n\n<file_content path=\"a.md\">\nnever use tabs\n</file_content>":                "do it as in 'a.md' (see below for file content)",
		"<environment_details>\n# Files\n</environment_details>":                                                                                           "",
		"\n\n\t\t\t\t# TODO LIST UPDATE REQUIRED - You MUST include the task_progress parameter in your NEXT tool call.\n\n\t\t\t\t- [ ] fix":              "",
		"# task_progress\n\nYou've made 12 API requests without a task_progress parameter.":                                                                "",
		"[ERROR] You did not use a tool in your previous response! Please retry with a tool use.\n\n# Reminder: Instructions for Tool Use\n\n# Next Steps": "",
		"<feedback>\nno, the other one\n</feedback>\n\n\t\t\t\t# TODO LIST UPDATE REQUIRED - x":                                                            "no, the other one",
		"[TASK RESUMPTION] This task was interrupted.\n\nNew instructions for task continuation:\n<user_message>\nuse tabs\n</user_message>":               "use tabs",
		"[TASK RESUMPTION] This task was interrupted.":                                                                                                     "",
		"[ask_followup_question for 'Which?'] Result:\n<answer>\nthe second\n</answer>":                                                                    "the second",
		"[read_file for 'a'] Result:\n<feedback>\nnever test\n</feedback>":                                                                                 "",
		"[NOTE] Some previous conversation history with the user has been removed to maintain optimal context window":                                      "",
		"[[NOTE] This file read has been removed to save space in the context window.]":                                                                    "",
		"# .clinerules is what I want to change":                                                                                                           "# .clinerules is what I want to change",
		"# TODO\n- write the list":                                                                                                                         "# TODO\n- write the list",
		"Called the Read tool with the following input: {\"filePath\":\"/a\"}":                                                                             "",
		"The following tool was executed by the user":                                                                                                      "",
		"<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n</session_context>":                                       "",
		"This is the Gemini CLI. We are setting up the context for our chat.\nToday's date is x":                                                           "",
		"This is the Qwen Code. We are setting up the context for our chat.":                                                                               "",
		"This is the Gemini CLI, and I like it":                                                                                                            "This is the Gemini CLI, and I like it",
		"<environment_info>\nmacOS\n</environment_info>\n<workspace_info>\nx\n</workspace_info>":                                                           "",
		"<context>\ndate\n</context>\n<reminderInstructions>\nbe good\n</reminderInstructions>\n<userRequest>\nhello\n</userRequest>":                      "hello",
		"<current_datetime>2026-01-01</current_datetime>\n\nwhat is here?\n\n<system_notification>x</system_notification>":                                 "what is here?",
		"<additional_data>x</additional_data>\n<user_query>\nfix it\n</user_query>":                                                                        "fix it",
		"<context>I wrote this</context> and this":                                                                                                         "<context>I wrote this</context> and this",
	} {
		m := chat.NewText(chat.User, text)
		if got := m.TypedText(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := chat.ClientText(text); got != (want == "") {
			t.Errorf("%q: a client's is %v", text, got)
		}
	}
	if chat.ClientText(" \n") {
		t.Error("a client has written nothing")
	}
}

func TestTypedTextIsOfTextPartsAndOfPersons(t *testing.T) {
	text := func(s string) chat.Part { return chat.Part{Kind: chat.Text, Text: s} }
	m := chat.Message{Role: chat.User, Parts: []chat.Part{
		text("<task>\nfix it\n</task>"), {Kind: chat.Result, Text: "r"}, {Kind: chat.Image},
		text("# TODO LIST UPDATE REQUIRED - You MUST"), text("soon"), text("<environment_details>x</environment_details>"),
	}}
	if got := m.TypedText(); got != "fix it\nsoon" {
		t.Errorf("%q", got)
	}
	machine, assistant := m, m
	machine.Machine, assistant.Role = true, chat.Assistant
	for _, m := range []chat.Message{machine, assistant, {Role: chat.User}} {
		if got := m.TypedText(); got != "" {
			t.Errorf("%q", got)
		}
	}
}

func TestTypedTextIsFoundInLinearTime(t *testing.T) {
	for _, text := range []string{"<skill>", "<skill></skill>", "<skill </skill>", "[x", "< ", "a<skill>", "\n# task", "<command-args>x", "<task>", "x<userRequest>", "<command-args><skill>"} {
		chat.ClientText(strings.Repeat(text, 1<<17)) // the search would not end otherwise
	}
}

func FuzzTypedText(f *testing.F) {
	f.Add("<task>a</task><system-reminder>b</system-reminder>\n# task_progress")
	f.Add("<command-name>/x</command-name><command-args>y</command-args>")
	f.Add("[TASK RESUMPTION] <user_message>x</user_message>")
	f.Fuzz(func(t *testing.T, text string) {
		typed := chat.NewText(chat.User, text).TypedText()
		if len(typed) > len(text) || typed != strings.TrimSpace(typed) {
			t.Errorf("%q of %q", typed, text)
		}
	})
}
