package recall

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// Sizes of passages, in bytes.
const (
	goal    = 1200 // a passage ends at the last good place before it
	longest = 2000
)

// A span is a part of a text.
type span struct {
	start, end int
	old        bool // an edit replaced it
}

// passagesOf returns the passages of a text: all of a short one; of a longer one its
// functions, hunks, paragraphs or pages. The old and the new text of an edit are passages
// of their own.
func passagesOf(text string) []span {
	var out []span
	for _, part := range editParts(text) {
		for start := part.start; start < part.end; {
			end := part.end
			if end-start > longest {
				end = start + passageEnd(text[start:part.end])
			}
			out = append(out, span{start, end, part.old})
			start = end
		}
	}
	return out
}

// editKey finds where a call names the old or the new text of an edit, in the form of
// callText.
var editKey = regexp.MustCompile(`(?m)^(?:(old_?(?:string|text|str|content))|new_?(?:string|text|str|content)):(?:\n| )`)

// editParts returns a text in parts: what is before an edit, its old text, its new text.
func editParts(text string) []span {
	keys := [][]int(nil)
	if strings.Contains(text, "\nold") {
		keys = editKey.FindAllStringSubmatchIndex(strings.ToLower(text), -1)
	}
	var parts []span
	start, old := 0, false
	for _, k := range keys {
		if k[0] > start {
			parts = append(parts, span{start, k[0], old})
		}
		start, old = k[0], k[2] >= 0
	}
	return append(parts, span{start, len(text), old})
}

// passageEnd returns where the first passage of a long text ends: before a line that
// begins a function or a section, else after a paragraph, else after a line.
func passageEnd(text string) int {
	strong, weak, line := 0, 0, 0
	blank := false
	for at := 0; at < len(text) && at <= goal; {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		body := withoutNumber(text[at : at+end])
		switch {
		case at < goal/4:
		case beginsSection(body, blank):
			strong = at
		case blank:
			weak = at
		}
		if at > goal/4 {
			line = at
		}
		blank = strings.TrimSpace(body) == ""
		at += end + 1
	}
	switch {
	case strong > 0:
		return strong
	case weak > 0:
		return weak
	case line > 0:
		return line
	}
	end := goal // a long line
	if at := strings.LastIndexByte(text[:end], '\n'); at > 0 {
		return at + 1
	}
	if at := strings.LastIndexByte(text[:end], ' '); at > goal/2 {
		return at + 1
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return max(1, end)
}

// numbered begins a line of a file as tools print it.
var numbered = regexp.MustCompile(`^ {0,8}(\d{1,7})(?:→|\t|\||: )`)

// withoutNumber returns a line without its number, if it has one.
func withoutNumber(line string) string {
	if len(line) == 0 || line[0] != ' ' && (line[0] < '0' || line[0] > '9') {
		return line
	}
	if at := numbered.FindStringIndex(line); at != nil {
		return line[at[1]:]
	}
	return line
}

// withoutNumbers returns lines of a file without their numbers, if each line has one.
func withoutNumbers(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		at := numbered.FindStringIndex(line)
		if at == nil {
			return text
		}
		lines[i] = line[at[1]:]
	}
	return strings.Join(lines, "\n")
}

// beginsSection reports whether a line begins a function, a hunk or a section.
func beginsSection(line string, afterBlank bool) bool {
	if line == "" || line[0] == ' ' || line[0] == '\t' {
		return false
	}
	for _, start := range [...]string{"func ", "def ", "class ", "fn ", "pub ", "impl ", "type ", "function ", "export ", "async def ", "@@ ", "diff --git ", "# ", "## ", "### ", "--- FAIL", "=== RUN", "// ", "/**", "CREATE "} {
		if strings.HasPrefix(line, start) {
			return afterBlank || start[0] == '@' || start[0] == '-' || start[0] == '=' || start[0] == 'd'
		}
	}
	return afterBlank && line[0] != '}' && line[0] != ')'
}

// textOf returns the text of m in which passages are found: its texts, and its calls
// with their arguments in readable form.
func textOf(m chat.Message) string {
	var parts []string
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Text, chat.Result, chat.Summary, chat.ServerResult, chat.Opaque:
			if p.Text != "" {
				parts = append(parts, p.Text)
			}
		case chat.Call, chat.ServerCall:
			parts = append(parts, callText(p))
		}
	}
	return strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")
}

// piecesOf returns a message in pieces: each call or result after the first begins one,
// because it has a title and a file of its own.
func piecesOf(m chat.Message) []chat.Message {
	var pieces []chat.Message
	first, tools := 0, 0
	for i, p := range m.Parts {
		switch p.Kind {
		case chat.Call, chat.ServerCall, chat.Result:
			if tools++; tools > 1 {
				pieces = append(pieces, partsOf(m, first, i))
				first = i
			}
		}
	}
	return append(pieces, partsOf(m, first, len(m.Parts)))
}

func partsOf(m chat.Message, from, to int) chat.Message {
	m.Parts = m.Parts[from:to:to]
	return m
}

// callText returns a call with the values of its arguments as they are, not as JSON.
func callText(p chat.Part) string {
	var b strings.Builder
	b.WriteString(p.Name)
	leaves := leavesOf(p.Args)
	if leaves == nil && p.Args != "" {
		b.WriteString(" " + withoutEscapes(p.Args))
	}
	for _, l := range leaves {
		if slices.Contains(scriptKeys, l.key) {
			l.value = withoutEscapes(l.value)
		}
		b.WriteString("\n" + l.key + ":")
		if strings.Contains(l.value, "\n") || len(l.value) > maxInline && !slices.Contains(pathKeys, l.key) {
			b.WriteString("\n" + l.value) // the value can be found as whole lines
		} else {
			b.WriteString(" " + l.value)
		}
	}
	return b.String()
}

// withoutEscapes returns a text with the line ends of a script or patch that is a string
// literal in it: a long line with several escaped line ends is no line for a reader.
func withoutEscapes(text string) string {
	if strings.Count(text, `\n`) < minEscapes {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) >= longLine && strings.Count(line, `\n`) >= minEscapes {
			lines[i] = unescape.Replace(line)
		}
	}
	return strings.Join(lines, "\n")
}

// A line is several lines from so many bytes and escaped line ends on.
const (
	longLine   = 120
	minEscapes = 3
)

// scriptKeys are arguments that have a script or a patch, perhaps as a literal.
var scriptKeys = []string{"command", "cmd", "script", "code", "input", "patch", "arguments", "args"}

var unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`)

// maxInline is the maximum size of a value on the line of its name.
const maxInline = 11

// A leaf is a value in the arguments of a call that is no object or list.
type leaf struct{ key, value string }

// leavesOf returns the values in JSON, in their order; nil if it is not an object.
func leavesOf(args string) []leaf {
	if !strings.HasPrefix(strings.TrimSpace(args), "{") || !json.Valid([]byte(args)) {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	leaves := []leaf{}
	keys := []string{""} // of the open objects and lists
	object := []bool{false}
	expectKey := false
	for {
		token, err := d.Token()
		if err != nil {
			return leaves
		}
		depth := len(keys) - 1
		switch v := token.(type) {
		case json.Delim:
			if v == '}' || v == ']' {
				keys, object = keys[:depth], object[:depth]
				expectKey = object[len(object)-1]
				continue
			}
			keys, object = append(keys, keys[depth]), append(object, v == '{')
			expectKey = v == '{'
			continue
		case string:
			if expectKey {
				keys[depth], expectKey = v, false
				continue
			}
			leaves = append(leaves, leaf{keys[depth], v})
		case json.Number:
			leaves = append(leaves, leaf{keys[depth], v.String()})
		case bool:
			leaves = append(leaves, leaf{keys[depth], strconv.FormatBool(v)})
		}
		expectKey = object[depth]
	}
}

// A callInfo is what titles and filters use of a tool call.
type callInfo struct{ tool, file, args string }

// The names of arguments in common tools, the ones that say most first.
var (
	pathKeys = []string{"file_path", "path", "filePath", "absolute_path", "filename", "file", "file_name", "target_file", "notebook_path"}
	saidKeys = []string{"command", "cmd", "script", "pattern", "query", "url", "regex", "search", "description", "prompt", "text"}
)

const maxArgs = 80 // bytes of callInfo.args

func callInfoOf(p chat.Part) callInfo {
	c := callInfo{tool: p.Name}
	leaves := leavesOf(p.Args)
	value := func(keys []string) string {
		for _, key := range keys {
			for _, l := range leaves {
				if l.key == key && l.value != "" {
					return l.value
				}
			}
		}
		return ""
	}
	c.file = clipped(oneLine(value(pathKeys)), 200)
	c.args = clipped(oneLine(value(saidKeys)), maxArgs)
	return c
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text[:min(len(text), 400)]), " ")
}

// clipped returns at most size bytes of text, with … for the rest.
func clipped(text string, size int) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= size {
		return text
	}
	end := size
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// firstLine returns the number of the first line of a span: that of the file if the text
// has numbers, else that of the text.
func firstLine(text string, s span) (number int, ofFile bool) {
	for line := range strings.Lines(text[s.start:s.end]) {
		if at := numbered.FindStringSubmatch(line); at != nil {
			n, _ := strconv.Atoi(at[1]) // at most seven digits
			return n, true
		}
		break
	}
	return 1 + strings.Count(text[:s.start], "\n"), false
}
