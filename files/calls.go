package files

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// The names of arguments in common tools.
var (
	pathKeys    = wordList("file_path path filePath absolute_path filename file file_name target_file notebook_path")
	oldKeys     = wordList("old_string oldText oldString old_str old_text search old_source")
	newKeys     = wordList("new_string newText newString new_str new_text replace replacement new_source insert_text insertText insert_line_text")
	contentKeys = wordList("content file_text contents text code")
	patchKeys   = wordList("diff patch input code_edit edit patch_text patchText")
	commandKeys = wordList("command cmd script")
	readTools   = wordList("read view cat open read_file readfile view_file str_replace_editor str_replace_based_edit_tool file_editor edit_file fs_read read_text_file get_file_contents")
)

// arguments records the file texts in the arguments of a call.
func (s *messageScan) arguments(part int, p chat.Part) {
	all := stringLeaves(p.Args)
	if all == nil {
		s.addIdentifiers(p.Args)
		return
	}
	path := pathOfLeaves(all)
	every := replacesEach(p.Args)
	for _, l := range all {
		c := Ref{Part: part, Arg: l.key, leafAt: l.at, Path: path, End: len(l.value)}
		if !c.classify(l) {
			s.addIdentifiers(l.value)
			continue
		}
		if c.Kind == Edit && every != nil {
			c.every, c.inLine = every(l.key), !strings.Contains(l.value, "\n")
		}
		if blocks := searchReplace(l.value, c.Path); len(blocks) > 0 && c.holdsEdits(blocks[0], l.value) {
			for _, r := range blocks {
				s.addSides(Ref{Part: part, Arg: l.key, leafAt: l.at}, l.value, r)
			}
			continue
		}
		s.facts.Mentions = append(s.facts.Mentions, c.Path)
		s.addFileCopy(c, unixLines(l.value[c.Start:c.End]))
	}
}

// replacesEach returns whether the edit with an argument replaces each occurrence of its
// text, nil if none of the call does.
func replacesEach(args string) func(key string) bool {
	if !strings.Contains(args, `"replace_all"`) && !strings.Contains(args, `"replaceAll"`) {
		return nil
	}
	type edit struct {
		Snake bool `json:"replace_all"`
		Camel bool `json:"replaceAll"`
	}
	var call struct {
		edit
		Edits []edit
	}
	if json.Unmarshal([]byte(args), &call) != nil {
		return nil
	}
	return func(key string) bool {
		for i, e := range call.Edits {
			if strings.HasPrefix(key, fmt.Sprintf("edits.%d.", i)) {
				return e.Snake || e.Camel
			}
		}
		return call.Snake || call.Camel
	}
}

// holdsEdits reports whether the blocks in a leaf, of which r is the first,
// are edits of the file. A written file may contain such blocks, but does not
// begin with one.
func (c *Ref) holdsEdits(r replacement, value string) bool {
	return c.Kind == Edit && !c.Old || c.Kind == Write && strings.TrimSpace(value[:r.all.start]) == ""
}

// classify sets the kind of a leaf and reports whether it is a copy.
func (c *Ref) classify(l leaf) bool {
	name := l.lastName()
	switch {
	case patchedPath(l.value) != "" && (patchKeys[name] || commandKeys[name]):
		c.Kind, c.Path = Edit, patchedPath(l.value)
	case commandKeys[name]:
		return c.matchHeredoc(l.value)
	case c.Path == "":
		return false
	case oldKeys[name]:
		c.Kind, c.Old = Edit, true
	case newKeys[name], patchKeys[name]:
		c.Kind = Edit
	case contentKeys[name]:
		c.Kind, c.Whole, c.First = Write, true, 1
	default:
		return false
	}
	return true
}

// matchHeredoc recognises cat > FILE <<'END'.
func (c *Ref) matchHeredoc(command string) bool {
	head, body, ok := strings.Cut(command, "\n")
	if !ok || len(head) > 500 {
		return false
	}
	before, after, ok0 := strings.Cut(head, "<<")
	if !ok0 || !strings.Contains(head, "cat") && !strings.Contains(head, "tee") {
		return false
	}
	word := strings.Trim(strings.TrimSpace(strings.TrimLeft(after, "-")), `'"`)
	word, rest, _ := strings.Cut(word, " ")
	word = strings.Trim(word, `'"`)
	path := redirectTarget(before)
	if path == "" {
		path = redirectTarget(rest)
	}
	end := strings.Index(body, "\n"+word)
	if word == "" || path == "" || end < 0 {
		return false
	}
	c.Kind, c.Whole, c.First, c.Path = Write, true, 1, path
	c.Start = len(head) + 1
	c.End = c.Start + end + 1
	return true
}

// redirectTarget returns the file that a command writes to.
func redirectTarget(s string) string {
	if _, rest, ok := strings.Cut(s, ">"); ok {
		s = strings.TrimPrefix(rest, ">")
	} else if _, rest, ok := strings.Cut(s, "tee "); ok {
		s = rest
	} else {
		return ""
	}
	w := splitCommand(s)
	if len(w) == 0 || strings.ContainsAny(w[0], "$&") {
		return ""
	}
	return w[0]
}

// patchedPath returns the first path of a patch in the form of *** Begin Patch or
// of a diff.
func patchedPath(text string) string {
	head := text[:min(len(text), 2000)]
	if !strings.Contains(head, "*** ") && !strings.Contains(head, "+++ ") {
		return ""
	}
	for _, mark := range []string{"*** Update File: ", "*** Add File: ", "+++ b/", "+++ "} {
		before, rest, ok := strings.Cut(head, mark)
		if ok && (mark[0] == '*' || !strings.HasSuffix(before, "+")) { // +++++++ REPLACE ends a block
			line, _, _ := strings.Cut(rest, "\n")
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// pathOfLeaves returns the path among the leaves of a call.
func pathOfLeaves(all []leaf) string {
	for _, l := range all {
		if pathKeys[l.lastName()] && l.value != "" && len(l.value) < 1000 && !strings.Contains(l.value, "\n") {
			return l.value
		}
	}
	return ""
}

// shownByCall returns the file that the result of a call shows, if it shows one.
func shownByCall(call *chat.Part) (f shown, ok bool) {
	if call == nil || len(editedBy(call)) > 0 {
		return f, false
	}
	name := strings.ToLower(call.Name)
	all := stringLeaves(call.Args)
	for _, l := range all {
		if commandKeys[l.lastName()] && l.value != "view" {
			return parseFileRead(l.value)
		}
	}
	f.path = pathOfLeaves(all)
	if f.path == "" || !readTools[name] && !strings.HasSuffix(name, "read") && !strings.HasSuffix(name, "read_file") {
		return f, false
	}
	f.first, f.last = lineRangeOf(call.Args)
	f.whole = f.first == 0
	return f, true
}

// lineRangeOf returns the lines that the arguments of a read ask for, 0 and 0 for
// all.
func lineRangeOf(args string) (first, last int) {
	offset, limit := numberOf(args, "offset", "start_line", "line_number", "startLine"), numberOf(args, "limit")
	end := numberOf(args, "end_line", "endLine")
	if i := strings.Index(args, `"view_range"`); i >= 0 {
		first, last = firstTwoNumbers(args[i:])
		if last < first { // -1 is the end
			last = 0
		}
		return first, last
	}
	switch {
	case offset == 0 && limit == 0 && end == 0:
		return 0, 0
	case end > 0:
		return max(offset, 1), end
	case limit > 0:
		return max(offset, 1), max(offset, 1) + limit - 1
	}
	return offset, 0
}

// numberOf returns the value of the first of keys that is in args.
func numberOf(args string, keys ...string) int {
	for _, k := range keys {
		if i := strings.Index(args, `"`+k+`"`); i >= 0 {
			n, _ := firstTwoNumbers(args[i+len(k)+2 : min(len(args), i+len(k)+40)])
			return n
		}
	}
	return 0
}

// firstTwoNumbers returns the first two numbers of s.
func firstTwoNumbers(s string) (a, b int) {
	s = s[:min(len(s), 80)]
	at := 0
	for _, n := range []*int{&a, &b} {
		for at < len(s) && (s[at] < '0' || s[at] > '9') {
			if s[at] == '}' || s[at] == ']' {
				return a, b
			}
			at++
		}
		for at < len(s) && s[at] >= '0' && s[at] <= '9' && *n < 1<<24 {
			*n = *n*10 + int(s[at]-'0')
			at++
		}
	}
	return a, b
}

// editedBy returns the paths that a call edits or writes.
func editedBy(call *chat.Part) []string {
	all := stringLeaves(call.Args)
	path := pathOfLeaves(all)
	var out []string
	for _, l := range all {
		c := Ref{Path: path}
		if c.classify(l) {
			out = append(out, c.Path)
		}
	}
	return uniqueStrings(out)
}
