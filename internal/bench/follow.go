package bench

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// followed are the files of a conversation, by its reads, writes, edits and commands.
type followed struct {
	files  []*followedFile
	byPath map[string]*followedFile // by the path as it is named
}

// A followedFile is what is known of one file.
type followedFile struct {
	path    string
	text    string          // its known parts, in the form after all edits
	whole   bool            // text is all of it
	removed bool            // it was removed, and not written since
	ever    map[string]bool // lines that it ever had
	gone    map[string]bool // lines that edits removed
	plain   string          // text with single spaces, after index
	lines   map[string]bool // of text, after index
}

// followFiles follows the files of t. Only calls with a successful result count.
func followFiles(t chat.Transcript) *followed {
	f := &followed{byPath: make(map[string]*followedFile)}
	calls := make(map[string]chat.Part)
	for _, m := range t {
		for _, p := range m.Parts {
			if p.Kind == chat.Call {
				calls[p.ID] = p
			} else if c, ok := calls[p.ID]; ok && p.Kind == chat.Result {
				delete(calls, p.ID)
				if !p.Error && !failedResult.MatchString(p.Text) {
					f.addCall(c, p.Text)
				}
			}
		}
	}
	for _, file := range f.files {
		file.index()
	}
	return f
}

var failedResult = regexp.MustCompile(`(?i)^\s*(?:<tool_use_error>|error[: ]|exit code:? [1-9]|string to replace not found|the user doesn't want|\[request interrupted|file does not exist|no such file|permission )`)

// find returns the file of a path: with the same path, or with one that ends with it.
func (f *followed) find(name string) *followedFile {
	if file := f.byPath[name]; file != nil {
		return file
	}
	clean := path.Clean(name)
	for i := len(f.files) - 1; i >= 0; i-- {
		p := f.files[i].path
		if p == clean || strings.HasSuffix(p, "/"+strings.TrimPrefix(clean, "./")) || strings.HasSuffix(clean, "/"+p) {
			return f.files[i]
		}
	}
	return nil
}

// at returns the file of a path, a new one if it is unknown.
func (f *followed) at(name string) *followedFile {
	if file := f.find(name); file != nil {
		return file
	}
	file := &followedFile{path: path.Clean(name), ever: make(map[string]bool), gone: make(map[string]bool)}
	f.files, f.byPath[name] = append(f.files, file), file
	return file
}

// fileArgs are the arguments of file tools under all of their names.
type fileArgs struct {
	path, content, old, new string
	hasContent, hasOld      bool
	every, part             bool
	command                 string
	more                    []fileArgs // edits of one call
}

func stringAt(args map[string]any, names ...string) (text string, ok bool) {
	for _, name := range names {
		if text, ok = args[name].(string); ok {
			return text, true
		}
	}
	return "", false
}

func readFileArgs(args map[string]any) (a fileArgs) {
	a.path, _ = stringAt(args, "file_path", "filePath", "path", "filename", "target_file", "file")
	a.content, a.hasContent = stringAt(args, "content", "contents", "file_text")
	a.old, a.hasOld = stringAt(args, "old_string", "oldText", "oldString", "old_str")
	a.new, _ = stringAt(args, "new_string", "newText", "newString", "new_str")
	a.command, _ = stringAt(args, "command", "cmd")
	a.every, _ = args["replace_all"].(bool)
	for _, name := range []string{"offset", "limit", "view_range", "start_line", "end_line"} {
		_, has := args[name]
		a.part = a.part || has
	}
	edits, _ := args["edits"].([]any)
	for _, e := range edits {
		if one, ok := e.(map[string]any); ok {
			a.more = append(a.more, readFileArgs(one))
		}
	}
	return a
}

var (
	readTool   = regexp.MustCompile(`(?i)^(?:read|view|cat|open|read_?file|view_?file|get_?file|fs_read)$|str_replace`)
	patchStart = "*** Begin Patch"
)

// addCall follows the files of a call and its result.
func (f *followed) addCall(c chat.Part, result string) {
	var args map[string]any
	if json.Unmarshal([]byte(c.Args), &args) != nil {
		f.addPatch(c.Args)
		return
	}
	a := readFileArgs(args)
	if patch, ok := stringAt(args, "patch", "input"); ok {
		f.addPatch(patch)
	}
	switch {
	case a.path == "":
		f.addPatch(a.command)
		f.addCommand(a.command, result)
	case a.hasOld:
		f.at(a.path).edit(a)
	case len(a.more) > 0:
		for _, e := range a.more {
			f.at(a.path).edit(e)
		}
	case a.hasContent:
		f.at(a.path).write(a.content)
	case readTool.MatchString(c.Name):
		f.addRead(a.path, result, a.part)
	}
}

var cutResult = regexp.MustCompile(`(?i)truncated|use offset|more lines|lines omitted|\[cleared\]|unchanged since|not changed since`)

// addRead follows a read of a file, or of a part of it.
func (f *followed) addRead(name, text string, part bool) {
	text, _, _ = strings.Cut(text, "<system-reminder>")
	file := f.at(name)
	if stub := len(text) < 400 && cutResult.MatchString(text); stub {
		return
	}
	file.removed = false
	if part || cutResult.MatchString(text[max(0, len(text)-300):]) {
		file.insert(text)
		return
	}
	file.write(text)
}

// write sets the whole text.
func (f *followedFile) write(text string) {
	f.text, f.whole, f.removed = text, true, false
	f.note(text)
	clear(f.gone)
}

// insert adds a part that the file has.
func (f *followedFile) insert(text string) {
	f.note(text)
	if !strings.Contains(f.text, strings.TrimSpace(text)) {
		f.text += "\n" + text
		f.whole = false
	}
}

// note marks the lines of a text as held.
func (f *followedFile) note(text string) {
	f.removed = false
	for line := range strings.SplitSeq(text, "\n") {
		if line = plainLine(line); line != "" {
			f.ever[line] = true
			delete(f.gone, line)
		}
	}
}

// edit replaces a text.
func (f *followedFile) edit(a fileArgs) {
	whole := f.whole
	for line := range strings.SplitSeq(a.old, "\n") {
		if line = plainLine(line); line != "" {
			f.gone[line], f.ever[line] = true, true
		}
	}
	switch at := strings.Index(f.text, a.old); {
	case a.old == "" || at < 0:
		f.text, f.whole = f.text+"\n"+a.new, whole && a.old == "" && f.text == ""
	case a.every:
		f.text = strings.ReplaceAll(f.text, a.old, a.new)
	default:
		f.text = f.text[:at] + a.new + f.text[at+len(a.old):]
	}
	f.note(a.new)
}

// index makes what holds searches in.
func (f *followedFile) index() {
	f.lines, f.plain = make(map[string]bool), strings.Join(strings.Fields(f.text), " ")
	for line := range strings.SplitSeq(f.text, "\n") {
		f.lines[plainLine(line)] = true
	}
}

// holds reports whether the file has a plain line, or text within lines.
func (f *followedFile) holds(line string) bool {
	return f.lines[line] || strings.Contains(f.plain, line)
}

// unsure marks that the file may have changed in an unknown way.
func (f *followedFile) unsure() {
	f.whole = false
	clear(f.gone)
}

var (
	removing  = regexp.MustCompile(`^(?:sudo )?(?:git )?rm(?: -\S+)* (.+)$`)
	moving    = regexp.MustCompile(`^(?:git )?mv(?: -\S+)* (\S+) (\S+)$`)
	showing   = regexp.MustCompile(`^cat (\S+)$`)
	changing  = regexp.MustCompile(`\b(?:sed -i|perl -p?i|patch |gofmt -w|go fmt|goimports|prettier|black |ruff |eslint)|[^-=0-9&]>`)
	restoring = regexp.MustCompile(`\bgit (?:checkout|restore|stash|reset|revert|merge|rebase|pull|apply|cherry-pick|switch|am)\b`)
	separator = regexp.MustCompile(`\s*(?:&&|\|\||;|\n)\s*`)
)

// addCommand follows what a shell command does to files.
func (f *followed) addCommand(command, result string) {
	if command == "" {
		return
	}
	if m := showing.FindStringSubmatch(strings.TrimSpace(command)); m != nil {
		f.addRead(m[1], result, false)
		return
	}
	if restoring.MatchString(command) {
		for _, file := range f.files {
			file.unsure()
		}
	}
	if changing.MatchString(command) {
		for _, file := range f.files {
			if strings.Contains(command, path.Base(file.path)) {
				file.unsure()
				file.removed = false
			}
		}
	}
	if strings.Contains(command, "<<") {
		return // lines of a document are no commands
	}
	for _, one := range separator.Split(command, -1) {
		if m := removing.FindStringSubmatch(one); m != nil {
			for name := range strings.FieldsSeq(m[1]) {
				f.remove(strings.Trim(name, `"'`))
			}
		} else if m := moving.FindStringSubmatch(one); m != nil {
			f.move(strings.Trim(m[1], `"'`), strings.Trim(m[2], `"'`))
		}
	}
}

// remove marks a file, or all in a folder, as removed.
func (f *followed) remove(name string) {
	name = strings.TrimSuffix(name, "/")
	if name == "" || strings.ContainsAny(name, "*$|>") {
		return
	}
	if file := f.find(name); file != nil {
		file.removed = true
		return
	}
	if strings.HasPrefix(name, "/") {
		for _, file := range f.files {
			if strings.HasPrefix(file.path, name+"/") {
				file.removed = true
			}
		}
	}
}

// move marks a file as removed, and gives the other path its text.
func (f *followed) move(from, to string) {
	file := f.find(from)
	if file == nil {
		return
	}
	file.removed = true
	if strings.HasSuffix(to, "/") || path.Ext(to) == "" && path.Ext(from) != "" {
		to = path.Join(to, path.Base(from))
	}
	if target := f.at(to); target != file {
		target.text, target.whole = file.text, file.whole
		target.note(file.text)
	}
}

// addPatch follows a patch in the form of apply_patch, if text holds one.
func (f *followed) addPatch(text string) {
	_, patch, ok := strings.Cut(text, patchStart)
	if !ok {
		return
	}
	var file *followedFile
	var removed, added []string
	flush := func() {
		if file != nil && len(removed)+len(added) > 0 {
			file.edit(fileArgs{old: strings.Join(removed, "\n"), new: strings.Join(added, "\n")})
		}
		removed, added = nil, nil
	}
	for line := range strings.SplitSeq(patch, "\n") {
		head, name, isHead := strings.Cut(strings.TrimPrefix(line, "*** "), " File: ")
		switch {
		case strings.HasPrefix(line, "*** ") && isHead:
			flush()
			file = f.at(strings.TrimSpace(name))
			if head == "Delete" {
				file.removed = true
				file = nil
			}
		case strings.HasPrefix(line, "*** ") || strings.HasPrefix(line, "@@"):
			flush()
		case strings.HasPrefix(line, "-"):
			removed = append(removed, line[1:])
		case strings.HasPrefix(line, "+"):
			added = append(added, line[1:])
		default:
			removed, added = append(removed, strings.TrimPrefix(line, " ")), append(added, strings.TrimPrefix(line, " "))
		}
	}
	flush()
}
