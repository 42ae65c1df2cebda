// Package filetools has the tools with which a model reads the files of one folder:
// it lists folders, reads lines, and searches. Nothing is ever written, and nothing
// outside of the folder is read: [os.Root] holds the folder open, links are refused,
// and so is everything that is not a plain file.
package filetools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Kind is a kind of access, for which the user is asked.
type Kind string

// The kinds of access. Each is the name of its tool.
const (
	List   Kind = "list_files"
	Read   Kind = "read_file"
	Search Kind = "search_files"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{List, Read, Search} }

// Limits on sizes.
const (
	maxFileBytes   = 8 << 20  // of a file that is read
	maxSearched    = 1 << 20  // of a file that is searched
	maxSearchBytes = 64 << 20 // of all files of a search
	maxEntries     = 20_000   // of the files and folders of a search, or of one folder
	maxPath        = 400      // of a path
	maxText        = 400      // of a text to search for
	minResult      = 1 << 10  // of a result
	maxResult      = 48 << 10
)

// A Folder is the folder that the tools read. Its methods are safe for concurrent use.
type Folder struct {
	root    *os.Root
	name    string
	private []string // folders that are not read

	checked func(p string) // called between the check of a path and its opening; for tests
}

// Open opens a folder. The private folders, which need not exist yet, are not read,
// in addition to those that never are.
func Open(dir string, private ...string) (*Folder, error) {
	name, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder of the tools: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open folder of the tools: %w", err)
	}
	f := &Folder{root: root, name: name}
	for _, p := range private {
		if p, err = filepath.Abs(p); err != nil {
			return nil, errors.Join(fmt.Errorf("open folder of the tools: %w", err), root.Close())
		}
		f.private = append(f.private, p)
	}
	return f, nil
}

// Name returns the absolute path of the folder.
func (f *Folder) Name() string { return f.name }

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// A Call is a call of a tool, with valid arguments. Its path is inside of the folder
// as it is written; whether it leads to a plain file shows when it runs.
type Call struct {
	Kind  Kind
	Path  string // relative to the folder, with slashes; ".": the folder itself
	Text  string // to search for
	Start int    // first line to read, from 1
	End   int    // last line to read; 0: the last line of the file
}

// String describes the access, for the question to the user.
func (c Call) String() string {
	at := c.Path
	if at == "." {
		at = "this folder"
	}
	switch {
	case c.Kind == List:
		return "list " + at
	case c.Kind == Search:
		return fmt.Sprintf("search %s for %q", at, c.Text)
	case c.End > 0:
		return fmt.Sprintf("read lines %d to %d of %s", c.Start, c.End, at)
	case c.Start > 1:
		return fmt.Sprintf("read %s from line %d", at, c.Start)
	}
	return "read " + at
}

// ParseCall returns the call of a tool with arguments in JSON, as a model wrote them.
// The error is for the model: it says what is right.
func ParseCall(name, args string) (Call, error) {
	var a struct {
		Path  string `json:"path"`
		Text  string `json:"text"`
		Start number `json:"start_line"`
		End   number `json:"end_line"`
	}
	c := Call{Kind: Kind(name)}
	if strings.TrimSpace(args) != "" {
		if err := json.Unmarshal([]byte(args), &a); err != nil {
			return c, fmt.Errorf("the arguments of %s are not a JSON object of its parameters: %w", name, err)
		}
	}
	c.Text, c.Start, c.End = a.Text, max(1, int(a.Start)), max(0, int(a.End))
	switch {
	case c.Kind == Search && strings.TrimSpace(c.Text) == "":
		return c, errors.New(`search_files needs "text", the words to find`)
	case len(c.Text) > maxText: // the user has to read it
		return c, fmt.Errorf("the text has %d bytes, more than the %d that a search takes", len(c.Text), maxText)
	case c.Kind == Read && a.Path == "":
		return c, errors.New(`read_file needs "path", a file in the folder, such as "main.go"`)
	case c.End > 0 && c.End < c.Start:
		return c, fmt.Errorf("line %d is before line %d; end_line must not be less than start_line", c.End, c.Start)
	}
	var err error
	c.Path, err = insidePath(a.Path)
	return c, err
}

// A number is an integer that a model may write as a text.
type number int

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "" || text == "null" {
		return nil
	}
	var x float64
	if err := json.Unmarshal([]byte(text), &x); err != nil || x != x || x > 1e9 || x < -1e9 {
		return fmt.Errorf("%s is not the number of a line", raw)
	}
	*n = number(x)
	return nil
}

// Run makes a call, and returns at most limit bytes, within bounds. The error is for
// the model, too.
func (f *Folder) Run(ctx context.Context, c Call, limit int) (string, error) {
	limit = min(max(limit, minResult), maxResult)
	switch c.Kind {
	case List:
		return f.listFolder(c, limit)
	case Read:
		return f.readLines(c, limit)
	case Search:
		return f.searchFiles(ctx, c, limit)
	}
	return "", fmt.Errorf("there is no tool %q", c.Kind)
}

// Tools returns the tools as a model's server gets them: JSON objects in OpenAI's
// form, separated by commas.
func Tools() string {
	const path = `"path":{"type":"string","description":"relative to the folder, with slashes"}`
	return strings.Join([]string{
		tool(List, "List a folder of the user's project.", path, ""),
		tool(Read, "Read lines of a text file of the user's project.",
			path+`,"start_line":{"type":"integer","description":"from 1"},"end_line":{"type":"integer"}`, `"path"`),
		tool(Search, "Find lines with a text, in all files of the user's project or below a path. Case does not matter.",
			`"text":{"type":"string"},`+path, `"text"`),
	}, ",")
}

func tool(k Kind, about, properties, required string) string {
	return fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":{"type":"object","properties":{%s},"required":[%s]}}}`,
		k, about, properties, required)
}
