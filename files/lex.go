package files

import "strings"

// skipTokens goes through a line from at on, and tracks strings, comments,
// parentheses and braces. end is where the line ends in the text.
func (c *codeScanner) skipTokens(line string, at, end int) {
	prev := byte('(')
	for at < len(line) {
		if c.shutBy != "" {
			at = c.endOfOpenToken(line, at)
			continue
		}
		b := line[at]
		switch b {
		case ' ', '\t':
			at++
			continue
		case '(', '[':
			c.parens++
		case ')', ']':
			c.parens = max(0, c.parens-1)
		case '{':
			c.openBrace()
		case '}':
			c.closeBrace(end)
		case ';':
			if c.parens == 0 && !c.profile.indent {
				c.endDeclaration(c.pending, end)
				c.pending = -1
			}
		default:
			if n := c.specialLength(line, at, prev); n > 0 {
				at += n
				prev = b
				continue
			}
		}
		prev = b
		at++
	}
}

func (c *codeScanner) openBrace() {
	switch {
	case c.profile.indent:
		c.parens++
	case c.parens > 0:
		c.pushBlock(-1, 0)
	default:
		c.pushBlock(c.pending, 0)
		c.pending = -1
	}
}

func (c *codeScanner) closeBrace(end int) {
	if c.profile.indent {
		c.parens = max(0, c.parens-1)
		return
	}
	c.popBlocks(end)
}

// endOfOpenToken finds the end of the comment or string that the line is in.
func (c *codeScanner) endOfOpenToken(line string, at int) int {
	i := strings.Index(line[at:], c.shutBy)
	if i < 0 {
		return len(line)
	}
	if c.shutBy == "`" && i > 0 && line[at+i-1] == '\\' && c.name != "go" {
		return at + i + 1
	}
	at += i + len(c.shutBy)
	c.shutBy = ""
	return at
}

// specialLength returns how many bytes the comment, string or regular
// expression that begins at at takes, or 0 if none begins there.
func (c *codeScanner) specialLength(line string, at int, prev byte) int {
	rest := line[at:]
	switch rest[0] {
	case '"', '\'', '`', '/', '#':
	default:
		return 0
	}
	for _, mark := range c.profile.line {
		if strings.HasPrefix(rest, mark) && (mark != "#" || prev != '$' && prev != '{') {
			return len(rest)
		}
	}
	if c.open != "" && strings.HasPrefix(rest, c.open) {
		c.shutBy = c.shut
		return len(c.open)
	}
	for _, mark := range c.raw {
		if strings.HasPrefix(rest, mark) {
			c.shutBy = mark
			return len(mark)
		}
	}
	if strings.IndexByte(c.quotes, rest[0]) >= 0 {
		return quotedLength(rest, rest[0], len(rest))
	}
	if rest[0] == '\'' && c.char {
		return quotedLength(rest, '\'', 12)
	}
	if rest[0] == '/' && c.regex && strings.IndexByte("(,=:[!&|?{};+", prev) >= 0 {
		return quotedLength(rest, '/', len(rest))
	}
	return 0
}

// quotedLength returns the length of the string that s begins with, closed
// within limit bytes; 1 if it is not closed.
func quotedLength(s string, quote byte, limit int) int {
	for i := 1; i < len(s) && i < limit; i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return 1
}
