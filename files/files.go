// Package files finds which message contains, reads, writes, edits or names
// which file, and shortens texts: outlines of files, digests of tool outputs,
// ledgers of identifiers. [ScanMessage] reads one message once; its result, a
// [Scan], is kept beside the message. [NewIndex] joins the scans of a
// conversation. [Outline] and [Digest] shorten one text. Nothing here changes
// a transcript, and no input panics.
package files

import "github.com/tiercompact/tiercompact/chat"

// A RefKind says how a text came into a message.
type RefKind uint8

// The kinds of copy.
const (
	Read     RefKind = iota + 1 // the result of a read, cat, sed -n, Get-Content …
	Write                       // the content argument of a write call
	Edit                        // an old, new or patch argument of an edit call, a side of a SEARCH/REPLACE block, or the answer to an edit
	Block                       // a fenced block with a path, or <file path=…>, inside a text
	Attached                    // the message of an AddFile
	Output                      // a tool output that is not a file
)

// A Ref is one occurrence of a tool output, or of a file's text or a part of
// it.
type Ref struct {
	Part  int     // index of the part
	Arg   string  // of a call: the dotted key of the string leaf, as in "content" and "edits.0.oldText"; else empty
	Kind  RefKind // how it came into the message
	Path  string  // as in the message; empty for an Output
	First int     // first line that it covers, 1-based; 0 if unknown
	Last  int     // last line that it covers; 0 if unknown
	Whole bool    // it is the whole file
	Old   bool    // of an Edit: the text that the edit removed
	Start int     // where the copy begins in the part's text or in the leaf, wrappers included, in bytes
	End   int     // where it ends
	Hash  uint64  // of the text without wrappers
	Size  int     // bytes of the text without wrappers

	held   bool // in a session summary
	total  int  // lines of the whole file according to the tool; 0 if it gave none
	marked bool // a side of a SEARCH/REPLACE block
	every  bool // of an Edit: each occurrence of the text was replaced
	inLine bool // of an Edit: the text may be a part of a line
	leafAt int  // where the JSON literal of Arg is in the arguments
	shape  *fileOutline
}

// Scan is what one message contains and names. It is computed once per message
// and never changed.
type Scan struct {
	Copies   []Ref
	Mentions []string // paths that the message names outside its copies, each once
	Idents   []uint32 // hashes of the identifiers that it names outside its copies of files, each once, sorted
}

// isEdit reports whether c is text that a call, or the assistant's own text, edits
// or writes.
func (c *Ref) isEdit() bool { return c.Arg != "" || c.marked }

// IsWord reports whether c is what an edit put in the place of each occurrence of a text
// within lines, as a new name: it is no line of the file by itself.
func (c Ref) IsWord() bool { return c.every && c.inLine }

// Framed reports whether marks are on the lines around c, so that its
// replacement has to end its line.
func (c Ref) Framed() bool { return c.Kind == Block || c.Kind == Attached || c.marked }

// Calls returns, for each message of t, the call that its result answers, or
// nil.
func Calls(t chat.Transcript) []*chat.Part {
	pairs := chat.PairUp(t)
	calls := make([]*chat.Part, len(t))
	asked, byID := -1, map[string]*chat.Part(nil) // the calls of one message
	for i, m := range t {
		at := pairs.CallOf[i]
		if at < 0 {
			continue
		}
		if at != asked {
			asked, byID = at, callsByID(t[at])
		}
		for _, p := range m.Parts {
			if c := byID[p.ID]; p.Kind == chat.Result && c != nil {
				calls[i] = c
				break
			}
		}
	}
	return calls
}

func callsByID(m chat.Message) map[string]*chat.Part {
	byID := make(map[string]*chat.Part)
	for k := range m.Parts {
		if p := &m.Parts[k]; p.Kind == chat.Call {
			byID[p.ID] = p
		}
	}
	return byID
}
