package summarize

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/clip"
)

// Codex calls its tools from a script: const r = await tools.exec_command({"cmd": …}).

// isToolScript reports whether a text is a script that calls tools.
func isToolScript(text string) bool {
	return strings.Contains(text, "tools.") && (strings.Contains(text, "await ") || strings.Contains(text, "text("))
}

var (
	scriptCall    = regexp.MustCompile(`\btools\.([A-Za-z_]\w*)\s*\(`)
	scriptCommand = regexp.MustCompile("\\b(?:cmd|command)[\"']?\\s*:\\s*(\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`(?:[^`\\\\]|\\\\.)*`)")
	scriptPatch   = regexp.MustCompile("\"\\*\\*\\* Begin Patch(?:[^\"\\\\]|\\\\.)*\"|`\\*\\*\\* Begin Patch[^`]*`")
)

// maxScript limits the bytes of a script that are read.
const maxScript = 64 << 10

// scriptActions returns what the calls of a script do, as far as their arguments are
// literals.
func scriptActions(script string) (acts []action) {
	script = clip.Bytes(script, maxScript)
	for _, patch := range scriptPatch.FindAllString(script, -1) {
		acts = append(acts, patchActions("apply_patch", literalText(patch))...)
	}
	commands := false
	for _, at := range scriptCall.FindAllStringSubmatchIndex(script, -1) {
		name, rest := script[at[2]:at[3]], script[at[1]:]
		switch {
		case name == "exec_command" || name == "shell" || name == "local_shell":
			commands = true
		case name == "apply_patch":
		case name == "update_plan":
			var fields map[string]any
			if json.NewDecoder(strings.NewReader(rest)).Decode(&fields) == nil {
				if a, ok := readPlan(name, fields); ok {
					acts = append(acts, a)
				}
			}
		default:
			acts = append(acts, action{kind: finds, tool: name, object: strings.ReplaceAll(name, "__", " ")})
		}
	}
	if !commands {
		return acts
	}
	for _, m := range scriptCommand.FindAllStringSubmatch(script, -1) {
		command := literalText(m[1])
		acts = append(acts, action{kind: runs, tool: "exec_command", object: commandLine(command), full: clip.Bytes(command, maxCommand)})
	}
	return acts
}

// literalText returns the text of a string literal.
func literalText(literal string) string {
	var text string
	if json.Unmarshal([]byte(literal), &text) == nil {
		return text
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\'`, "'", `\"`, `"`, "\\`", "`", `\\`, `\`).Replace(literal[1 : len(literal)-1])
}

// runsOn returns the number under which a client waits for a command that has not
// ended: Script running with cell ID 24.
func runsOn(output string) (cell string, ok bool) {
	line, _, _ := strings.Cut(output, "\n")
	cell, ok = strings.CutPrefix(strings.TrimSpace(line), "Script running with cell ID ")
	return cell, ok && cell != ""
}

// backgroundTask returns the id of a command that was started in the background.
func backgroundTask(output string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(output, backgroundHead)
	id, _, _ = strings.Cut(rest, ".")
	return id, ok && id != ""
}

// resume returns the command for which a call waits: its result is the command's.
func (w *messageScanner) resume(a action) (action, bool) {
	cell, ok := strings.CutPrefix(a.object, "cell_id ")
	if !ok || a.tool != "wait" {
		return a, false
	}
	ran, ok := w.cells[cell]
	return ran, ok
}

var (
	taskID     = regexp.MustCompile(`\b(?:task_id|bash_id|shell_id) (\w+)`)
	taskStatus = regexp.MustCompile(`<status>(\w+)</status>`)
	taskExit   = regexp.MustCompile(`<exit_code>(-?\d+)</exit_code>`)
	taskOutput = regexp.MustCompile(`(?s)<(?:output|stdout)>(.*)</(?:output|stdout)>`)
)

// recordTask records how a command ended that runs in the background, by the result of a
// call that asks for it or stops it, and reports whether the call is one of these.
func (w *messageScanner) recordTask(call action, result chat.Part) bool {
	id := taskID.FindStringSubmatch(call.object)
	if id == nil || !slices.Contains([]string{"TaskOutput", "BashOutput", "TaskStop", "KillShell", "KillBash"}, call.tool) {
		return false
	}
	a, ok := w.cells[id[1]]
	if !ok {
		return false
	}
	status := ""
	if m := taskStatus.FindStringSubmatch(result.Text); m != nil {
		status = m[1]
	}
	o := outcome{line: killedLine, running: true}
	switch code := taskExit.FindStringSubmatch(result.Text); {
	case code != nil || status == "completed" || status == "failed":
		printed := taskOutput.FindStringSubmatch(result.Text)
		if code == nil {
			code = []string{"", map[bool]string{true: "1", false: "0"}[status == "failed"]}
		}
		text := "Exit code " + code[1]
		if printed != nil {
			text += "\n" + strings.TrimSpace(printed[1])
		}
		o = outcomeOf(a, chat.Part{Text: text}, w.flags)
	case status == "killed", strings.Contains(result.Text, "uccessfully"):
	default:
		return true // it goes on
	}
	delete(w.cells, id[1])
	w.recordCommand(a, o, true)
	w.recordFailure(a, o, result.Text)
	return true
}

// runOn remembers a command that has not ended.
func (w *messageScanner) runOn(cell string, a action) {
	if w.cells == nil || len(w.cells) >= maxPending {
		w.cells = make(map[string]action)
	}
	w.cells[cell] = a
}
