package files

import "strings"

// scanCode finds the declarations of a language that has comments, strings and
// either braces or indentation. It goes once through text; code that is broken
// or begins in the middle gives fewer declarations, never an error.
func scanCode(text string, s *fileOutline) {
	c := codeScanner{profile: s.lang, text: text, shape: s, pending: -1, lead: -1}
	eachLine(text, c.scanLine)
	for range 3 {
		if c.shutBy == "" {
			break
		}
		c.resumeAfterLine()
	}
	for _, f := range c.frames {
		c.endDeclaration(f.decl, len(text))
	}
	c.endDeclaration(c.pending, len(text))
}

// resumeAfterLine continues after the line that began something that never
// ended.
func (c *codeScanner) resumeAfterLine() {
	at := c.openAt
	*c = codeScanner{profile: c.profile, text: c.text, shape: c.shape, pending: -1, lead: -1, line: c.openLine}
	eachLine(c.text[at:], func(start, end int) { c.scanLine(at+start, at+end) })
}

// A frame is a block of code that encloses the current position.
type frame struct {
	decl      int // the declaration whose body it is, or -1
	container bool
	exported  bool
	open      bool // an interface
	indent    int
}

// the members of interfaces are implemented elsewhere; frames only hold
// others' declarations
var (
	interfaces = wordList("interface trait protocol @interface")
	frames     = wordList("namespace module impl extension")
)

// A codeScanner is the state between two lines.
type codeScanner struct {
	*profile
	text     string
	shape    *fileOutline
	line     int32
	shutBy   string // what ends the comment or string that the line begins in; empty in code
	openAt   int    // end of the line in which that began
	openLine int32  // its number
	parens   int
	frames   []frame
	bodies   int // frames that are not containers
	pending  int // a declaration whose body has not begun, or -1
	holds    bool
	kept     bool
	facing   bool
	lead     int // where the comments above the line begin, or -1
	last     int // end of the last line that is not blank
}

func (c *codeScanner) scanLine(start, end int) {
	c.line++
	line := c.text[start:end]
	code := strings.TrimLeft(line, " \t")
	if isBlankLine(code) {
		c.lead = -1
		return
	}
	at := end - start - len(code)
	began := c.shutBy
	if c.shutBy == "" {
		if c.isLeadingComment(code, start, end) {
			c.skipTokens(line, at, end)
			c.openAt, c.openLine = end, c.line
			return
		}
		c.beginDeclaration(line, code, start, end, at)
	}
	c.skipTokens(line, 0, end)
	if began == "" && c.shutBy != "" {
		c.openAt, c.openLine = end, c.line
	}
	c.last = end
	if began == "" || began != c.shut {
		c.lead = -1
	}
}

// isLeadingComment reports whether a line is a comment or an attribute of the
// declaration below it.
func (c *codeScanner) isLeadingComment(code string, start, end int) bool {
	for _, mark := range c.profile.line {
		if strings.HasPrefix(code, mark) {
			c.describe(strings.TrimLeft(code, mark+"! "), end)
			c.extendLead(start)
			return true
		}
	}
	if c.open != "" && strings.HasPrefix(code, c.open) || code[0] == '@' && !strings.Contains(code, "class ") && !strings.HasPrefix(code, "@interface") ||
		strings.HasPrefix(code, "#[") || code[0] == '[' && c.name == "c#" {
		c.describe(strings.TrimLeft(code, c.open+"*! \n"), end)
		c.extendLead(start)
		return true
	}
	return false
}

func (c *codeScanner) extendLead(start int) {
	if c.lead < 0 {
		c.lead = start
	}
}

// describe takes the first comment of a file as its documentation.
func (c *codeScanner) describe(comment string, end int) {
	if c.shape.doc.end == 0 && len(c.shape.decls) == 0 && len(strings.TrimSpace(comment)) > 12 && !strings.HasPrefix(comment, "/usr/bin") {
		c.shape.doc = span{int32(end - len(comment)), int32(end)}
	}
}

// beginDeclaration looks at a line that begins in code.
func (c *codeScanner) beginDeclaration(line, code string, start, end, indent int) {
	if c.indent && c.parens == 0 {
		c.closeOuterBlocks(code, indent)
	}
	if indent == 0 && c.parens > 0 && c.opensAtMargin(code) {
		c.parens, c.frames, c.bodies, c.pending = 0, nil, 0, -1 // a line above was misread
	}
	if c.parens > 0 || c.bodies > 0 {
		return
	}
	if indent == 0 || len(c.frames) == 0 {
		for _, word := range c.imports {
			if strings.HasPrefix(code, word) || word == "require(" && strings.Contains(code, word) {
				c.imported(start, end)
				return
			}
		}
	}
	if c.indent && indent == 0 && (strings.HasPrefix(code, `"""`) || strings.HasPrefix(code, "'''")) {
		c.describe(strings.TrimLeft(code, `"'`), end)
	}
	d, holds, ok := c.declaration(code)
	if !ok {
		return
	}
	c.endDeclaration(c.pending, c.last)
	c.pending = c.addDeclaration(d, start, end, indent)
	c.holds, c.kept = holds, c.shape.decls[c.pending].exported
	c.facing = interfaces[d.word]
	if c.indent {
		c.pushBlock(c.pending, indent)
		c.pending = -1
	}
}

// opensAtMargin reports whether a line begins with a keyword of declarations.
func (c *codeScanner) opensAtMargin(code string) bool {
	w, _ := nextWord(code)
	return c.declares[w] || c.contains[w]
}

func (c *codeScanner) imported(start, end int) {
	if len(c.shape.imports) < markMax {
		c.shape.imports = append(c.shape.imports, span{int32(start), int32(end)})
	}
}

func (c *codeScanner) addDeclaration(d declaration, start, end, indent int) int {
	if n := len(c.frames); n > 0 {
		d.inside, d.kept, d.open = true, c.frames[n-1].exported, c.frames[n-1].open
	}
	lead := start
	if c.lead >= 0 {
		lead = c.lead
	}
	c.shape.decls = append(c.shape.decls, decl{
		span: span{int32(start), int32(end)}, sig: int32(c.signature(start, end)), lead: int32(lead), line: c.line,
		name: symbolHash(d.name), depth: uint8(min(len(c.frames), 9)), exported: c.exported(d) || frames[d.word] || d.open && d.kept,
	})
	return len(c.shape.decls) - 1
}

// signature returns the end of the signature that begins at start: the end of its
// line, or up to 4 lines later if its parentheses are still open.
func (c *codeScanner) signature(start, end int) int {
	open := 0
	for n := 0; n < 5 && start < len(c.text); n++ {
		stop := len(c.text)
		if i := strings.IndexByte(c.text[start:], '\n'); i >= 0 {
			stop = start + i + 1
		}
		line := c.text[start:min(stop, start+500)]
		open += strings.Count(line, "(") - strings.Count(line, ")")
		if open <= 0 {
			return max(stop, end)
		}
		start = stop
	}
	return end
}

// symbolHash returns the hash of a name that can be quoted as a symbol, or 0.
func symbolHash(name string) uint32 {
	if len(name) < 5 {
		return 0
	}
	return hashIdent(name)
}

func (c *codeScanner) endDeclaration(decl, at int) {
	if decl >= 0 && int32(at) > c.shape.decls[decl].end {
		c.shape.decls[decl].end = int32(at)
	}
}

func (c *codeScanner) pushBlock(decl, indent int) {
	f := frame{decl: decl, indent: indent}
	if decl >= 0 {
		f.container, f.exported, f.open = c.holds, c.kept, c.facing
	}
	if !f.container {
		c.bodies++
	}
	c.frames = append(c.frames, f)
}

func (c *codeScanner) popBlocks(at int) {
	n := len(c.frames) - 1
	if n < 0 {
		return
	}
	c.endDeclaration(c.frames[n].decl, at)
	if !c.frames[n].container {
		c.bodies--
	}
	c.frames = c.frames[:n]
}

// closeOuterBlocks ends the blocks that do not contain a line.
func (c *codeScanner) closeOuterBlocks(code string, indent int) {
	for n := len(c.frames) - 1; n >= 0 && c.frames[n].indent >= indent; n-- {
		at := c.last
		if c.frames[n].indent == indent && strings.HasPrefix(code, "end") {
			at += indent + len(code)
		}
		c.popBlocks(at)
	}
}
