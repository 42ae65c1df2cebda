package summarize

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/clip"
)

// An actionKind says what a call does.
type actionKind uint8

const (
	uses    actionKind = iota // any other tool
	reads                     // a file
	changes                   // a file
	runs                      // a command
	finds                     // searches
	plans                     // keeps the list of todos
	inputs                    // to the command that runs: text, a key, or nothing to wait for it
)

// An action is what a call does, according to its name and arguments.
type action struct {
	kind    actionKind
	tool    string
	object  string      // path, command line, pattern
	names   []string    // changes: what is declared in the new text, else its first line
	todos   []todoEntry // plans
	whole   bool        // plans: todos replace all earlier ones
	removes bool        // changes: the file is removed
	full    string      // runs: the whole command; "" if object is all of it

	edits     bool // uses: the file that is open
	delegates bool // uses: another assistant, whose answer is the result
}

// actionsOf returns the actions of a call: one, or one for each file of a patch.
func actionsOf(name, args string) []action {
	var fields map[string]any
	if json.Unmarshal([]byte(args), &fields) != nil {
		if strings.Contains(args, "*** Begin Patch") {
			return patchActions(name, args)
		}
		if acts := scriptActions(args); isToolScript(args) && len(acts) > 0 {
			return acts
		}
		return []action{{tool: name, object: clipLine(args, 80)}}
	}
	if a, ok := readPlan(name, fields); ok {
		return []action{a}
	}
	if progress := firstText(fields, "task_progress"); progress != "" { // Cline's tools report it beside what they do
		delete(fields, "task_progress")
		rest, _ := json.Marshal(fields)
		if todos := readChecklist(progress); len(todos) > 0 {
			return append([]action{{kind: plans, tool: name, whole: true, todos: todos}}, actionsOf(name, string(rest))...)
		}
	}
	if script := firstText(fields, "input", "code", "script"); isToolScript(script) {
		if acts := scriptActions(script); len(acts) > 0 {
			return acts
		}
	}
	low := strings.ToLower(name)
	path := firstText(fields, "file_path", "path", "filePath", "filename", "target_file", "notebook_path", "file")
	command := firstText(fields, "command", "cmd", "script")
	for _, v := range []string{command, firstText(fields, "patch", "input", "patchText")} {
		if strings.Contains(v, "*** Begin Patch") {
			return patchActions(name, v)
		}
	}
	switch {
	case strings.HasPrefix(command, "C-") && len(command) == 3 || saysTrue(fields["is_input"]):
		return []action{{kind: inputs, tool: name, object: command}}
	case containsAny(low, "webfetch", "web_fetch", "browse", "fetch_url", "read_url", "web_run"):
		return []action{{kind: finds, tool: name, object: firstText(fields, "url", "uri", "prompt")}}
	case containsAny(low, "grep", "glob", "search", "find"):
		return []action{{kind: finds, tool: name, object: joinNonEmpty(firstText(fields, "pattern", "query", "q"), path)}}
	case path != "" && command == "view":
		return []action{{kind: reads, tool: name, object: path}}
	case path != "" && (containsAny(low, "edit", "write", "create", "replace", "insert", "patch", "apply_diff") || slices.Contains([]string{"create", "str_replace", "insert"}, command)):
		return []action{{kind: changes, tool: name, object: path, names: declaredNames(fields)}}
	case path != "" && (containsAny(low, "read", "view", "cat", "open")):
		return []action{{kind: reads, tool: name, object: path}}
	case command != "" && (containsAny(low, "bash", "shell", "exec", "run", "command", "terminal") || path == "" && strings.Contains(command, " ")):
		return []action{{kind: runs, tool: name, object: commandLine(command), full: clip.Bytes(command, maxCommand)}}
	}
	if slices.Contains([]string{"read", "list", "get", "show", "status"}, command) {
		return []action{{kind: finds, tool: name, object: clipLine(describe(fields), 100)}} // of a tool with several commands
	}
	if low == "edit" || low == "insert" { // SWE-agent's: of the open file
		return []action{{tool: name, object: clipLine(describe(fields), 100), names: declaredNames(fields), edits: true}}
	}
	if task := firstText(fields, "description"); task != "" && firstText(fields, "prompt") != "" {
		return []action{{tool: name, object: clipLine(task, 100), delegates: true}}
	}
	return []action{{tool: name, object: clipLine(describe(fields), 100)}}
}

// saysTrue reports whether a parameter is set.
func saysTrue(v any) bool { return v == true || v == "true" }

// openFile is the file that an editor shows after an edit.
var openFile = regexp.MustCompile(`(?m)^\[File: (.+?) \(\d+ lines total\)\]`)

// maxCommand limits the bytes of a command that are read.
const maxCommand = 4 << 10

// line returns the command as it was called.
func (a action) line() string { return cmp.Or(a.full, a.object) }

// containsAny reports whether s contains one of parts.
func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// firstText returns the first of keys with a string, or with a list of strings.
func firstText(fields map[string]any, keys ...string) string {
	for _, k := range keys {
		value, whole := fields[k]
		if !whole {
			value = fields[k+files.LeftOut]
		}
		switch v := value.(type) {
		case string:
			if v != "" {
				return v
			}
		case []any:
			var words []string
			for _, e := range v {
				if s, ok := e.(string); ok {
					words = append(words, s)
				}
			}
			if len(words) > 2 && strings.HasPrefix(words[1], "-") { // bash -lc "…"
				words = words[2:]
			}
			if len(words) > 0 {
				return strings.Join(words, " ")
			}
		}
	}
	return ""
}

func joinNonEmpty(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " in ")
}

// describe returns the string arguments of an unknown tool, each cut short.
func describe(fields map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if v := firstText(fields, k); v != "" {
			parts = append(parts, k+" "+clipLine(v, 60))
		}
	}
	return strings.Join(parts, ", ")
}

// commandLine returns a shell command as one line, without the change of
// directory before it and without the bodies of here documents.
func commandLine(command string) string {
	command = strings.TrimSpace(strings.ReplaceAll(withoutComments(command), " 2>&1", ""))
	for strings.HasPrefix(command, "cd ") {
		_, rest, ok := strings.Cut(command, "&&")
		if !ok {
			break
		}
		command = strings.TrimSpace(rest)
	}
	command = withoutCleaning(command)
	before, body, ok := strings.Cut(command, "<<")
	if !ok {
		return clipLine(joinLines(command), 160)
	}
	before = strings.TrimRight(before, " $(\"'")
	before = strings.TrimSuffix(before, "$(cat")
	if strings.HasPrefix(before, "git ") {
		_, body, _ = strings.Cut(body, "\n")
		first, _, _ := strings.Cut(body, "\n")
		return clipLine(before, 100) + " " + clipLine(first, 100)
	}
	return clipLine(before, 160)
}

// withoutCleaning returns a command without the removal of temporary files before it:
// their names differ from run to run.
func withoutCleaning(command string) string {
	for {
		first := firstRemoval.FindString(command)
		if first == "" || !removesTemporary(plainCommand(strings.TrimRight(first, ";& \n"))) {
			return command
		}
		command = command[len(first):]
	}
}

var firstRemoval = regexp.MustCompile(`^rm [^;&\n]*(?:;|&&|\n)\s*`)

// removesTemporary reports whether a command without wrappers only removes temporary
// files.
func removesTemporary(command string) bool {
	words := strings.Fields(command)
	return len(words) > 1 && words[0] == "rm" && !slices.ContainsFunc(words[1:], func(w string) bool {
		return !strings.HasPrefix(w, "-") && !isTemporary(strings.Trim(w, `"'`))
	})
}

// joinLines returns a shell command of several lines as one, without comments and without
// what only prepares the first command.
func joinLines(command string) string {
	if !strings.Contains(command, "\n") {
		return command
	}
	var b strings.Builder
	commands := splitShell(command)
	for i, c := range commands {
		if b.Len() == 0 && c.operator == ";" && i < len(commands)-1 && onlyPrepares(c.text) {
			continue
		}
		b.WriteString(c.text)
		if i < len(commands)-1 {
			b.WriteString(strings.TrimSuffix(" "+c.operator, " ;"))
			if c.operator == ";" {
				b.WriteByte(';')
			}
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// withoutComments returns a shell command without the comments before it.
func withoutComments(command string) string {
	for {
		command = strings.TrimLeft(strings.TrimSpace(command), "\\ \t\n")
		line, rest, more := strings.Cut(command, "\n")
		if !more || !strings.HasPrefix(line, "#") {
			return command
		}
		command = rest
	}
}

// patchActions returns a change for each file in a patch.
func patchActions(name, patch string) []action {
	var acts []action
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
			if path, ok := strings.CutPrefix(line, head); ok {
				acts = append(acts, action{kind: changes, tool: name, object: path, removes: strings.Contains(head, "Delete")})
			}
		}
		if added, ok := strings.CutPrefix(line, "+"); ok && len(acts) > 0 {
			last := &acts[len(acts)-1]
			last.names = addDeclaration(last.names, added)
		}
	}
	return acts
}

// declaredNames returns the declarations in the new text of an edit, or else the
// first line that is not in the old text.
func declaredNames(fields map[string]any) []string {
	return newNames(editTexts(fields))
}

// newNames returns the declarations in the new text, or else the first line that is
// not in the old text.
func newNames(now, old string) []string {
	before := make(map[string]bool)
	for line := range strings.Lines(old) {
		before[strings.TrimSpace(line)] = true
	}
	var names []string
	first := ""
	for line := range strings.Lines(now) {
		line = strings.TrimSpace(line)
		names = addDeclaration(names, line)
		if len(line) > 3 && !before[line] && (first == "" || isComment(first) && !isComment(line)) {
			first = line
		}
	}
	if len(names) == 0 && first != "" {
		names = []string{clipLine(first, 90)}
	}
	return names
}

// editTexts returns the new and the old text of an edit, or of each of several
// edits.
func editTexts(fields map[string]any) (now, old string) {
	edits, _ := fields["edits"].([]any)
	var after, before []string
	for _, e := range append([]any{fields}, edits...) {
		if f, ok := e.(map[string]any); ok {
			after = append(after, firstText(f, "new_string", "new_str", "newText", "content", "file_text", "new_text", "text", "replacement", "replacement_text", "replace"))
			before = append(before, firstText(f, "old_string", "old_str", "oldText", "old_text", "search"))
			blocks, _ := files.TextEdits(firstText(f, "diff"), "the file of the call")
			for _, b := range blocks {
				after, before = append(after, b.New), append(before, b.Old)
			}
		}
	}
	return strings.Join(after, "\n"), strings.Join(before, "\n")
}

func isComment(line string) bool {
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "*") || strings.HasPrefix(line, "/*")
}

// maxNames limits the declarations that are named for one change.
const maxNames = 8

// addDeclaration appends to names the name that line declares, if any.
func addDeclaration(names []string, line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(line, "export "), "pub "), "default "), "async ")
	for _, word := range []string{"func ", "def ", "class ", "type ", "function ", "interface ", "struct ", "enum ", "trait ", "impl ", "fn "} {
		rest, ok := strings.CutPrefix(line, word)
		if !ok {
			continue
		}
		if strings.HasPrefix(rest, "(") { // a Go method's receiver
			_, rest, _ = strings.Cut(rest, ")")
		}
		for w := range wordTokens(rest) {
			if strings.Trim(w.text, "_") != "" && len(names) < maxNames && !slices.Contains(names, w.text) {
				names = append(names, w.text)
			}
			break
		}
	}
	return names
}
