package files

import "strings"

// declaration reads a line of code as the beginning of a declaration. holds
// reports whether declarations may be in its body.
func (c *codeScanner) declaration(code string) (d declaration, holds, ok bool) {
	rest := code
	if c.name == "c" || c.name == "c++" {
		rest = strings.TrimPrefix(rest, "template ")
		rest = strings.TrimPrefix(rest, `extern "C" `)
	}
	for {
		w, after := nextWord(rest)
		switch {
		case w == "":
			return c.bareDeclaration(code, rest, d)
		case c.assigned(&d, w, after):
			return d, false, true
		case c.contains[w] && c.opensContainer(w, rest):
			d.word, d.name = w, firstNameIn(after)
			return d, true, true
		case c.declares[w]:
			d.name = firstNameIn(after)
			return d, false, d.name != "" || w == "init" || w == "deinit" || w == "func" || w == "subscript" || w == "function"
		case c.modifiers[w]:
			d.modifiers = append(d.modifiers, w)
			rest = after
			if len(d.modifiers) > 12 {
				return d, false, false
			}
		default:
			return c.bareDeclaration(code, rest, d)
		}
	}
}

// opensContainer reports whether a line that begins with the keyword of a
// container declares one: in C, a struct can also be the type of a function.
func (c *codeScanner) opensContainer(word, rest string) bool {
	if c.bare != typedBare || word == "namespace" {
		return true
	}
	brace, paren := strings.IndexByte(rest, '{'), strings.IndexByte(rest, '(')
	if word == "record" {
		return true
	}
	if paren >= 0 && (brace < 0 || paren < brace) {
		return false
	}
	return brace >= 0 || !strings.Contains(rest, ";") && !strings.Contains(rest, "=")
}

// assigned recognises exports.name = and module.exports =.
func (c *codeScanner) assigned(d *declaration, w, after string) bool {
	if !c.regex || w != "exports" && w != "module" || !strings.Contains(after, "=") {
		return false
	}
	d.modifiers = append(d.modifiers, "exports")
	d.name = firstNameIn(strings.TrimPrefix(strings.TrimLeft(after, "."), "exports."))
	return true
}

// nextWord returns the word that s begins with and what follows it, blanks cut.
func nextWord(s string) (w, after string) {
	i := 0
	for i < len(s) && (byteClass[s[i]]&(word|wide) != 0 || i == 0 && (s[i] == '@' || s[i] == '#') || s[i] == '!' && i > 0 && strings.HasPrefix(s, "macro_rules")) {
		i++
	}
	if s[:i] == "pub" && strings.HasPrefix(s[i:], "(") {
		if k := strings.IndexByte(s, ')'); k > 0 {
			return "pub(crate)", strings.TrimLeft(s[k+1:], " \t")
		}
	}
	if i < len(s) && s[i] == '-' && s[:i] == "non" {
		return "non-sealed", strings.TrimLeft(strings.TrimPrefix(s[i:], "-sealed"), " \t")
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// firstNameIn returns the first name in s, after a receiver, type parameters
// and signs.
func firstNameIn(s string) string {
	s = strings.TrimLeft(s, " \t*&:{")
	if strings.HasPrefix(s, "(") { // a receiver
		if i := strings.IndexByte(s, ')'); i > 0 {
			s = strings.TrimLeft(s[i+1:], " ")
		}
	}
	if strings.HasPrefix(s, "<") { // impl<T>
		if i := strings.IndexByte(s, '>'); i > 0 {
			s = strings.TrimLeft(s[i+1:], " ")
		}
	}
	s = strings.TrimPrefix(s, "self.")
	s = strings.TrimPrefix(s, "class ") // enum class X, companion object
	i := 0
	for i < len(s) && byteClass[s[i]]&(word|wide) != 0 {
		i++
	}
	return s[:i]
}

// control are words before a parenthesis that declare nothing.
var control = wordList("if for while switch return catch else do sizeof new throw await yield super this assert delete typeof in of foreach using lock fixed when elif until case static_assert defined")

// bareDeclaration recognises functions without a keyword: in C and Java by the
// type before the name, in JavaScript inside a class, in the shell by the
// empty parentheses.
func (c *codeScanner) bareDeclaration(code, rest string, d declaration) (declaration, bool, bool) {
	if c.bare == noBare {
		return d, false, false
	}
	paren := strings.IndexByte(code, '(')
	if paren <= 0 {
		return c.matchClassField(code, d)
	}
	head := strings.TrimRight(code[:paren], " \t")
	i := len(head)
	for i > 0 && (byteClass[head[i-1]]&word != 0 || head[i-1] == '#' || head[i-1] == '~') {
		i--
	}
	d.name = head[i:]
	before := strings.TrimRight(head[:i], " \t")
	first, _ := nextWord(rest)
	if d.name == "" || control[d.name] || control[first] || strings.ContainsAny(before, `=."?!;(`) {
		return d, false, false
	}
	tail := strings.TrimRight(code, " \t\r\n")
	switch c.bare {
	case typedBare:
		typed := before != "" && !strings.HasSuffix(before, "->") || len(c.frames) > 0 && d.name[0] >= 'A' && d.name[0] <= '~'
		return d, false, typed && strings.ContainsAny(tail[len(tail)-1:], "{;,()}>")
	case memberBare:
		return d, false, len(c.frames) > 0 && (strings.HasSuffix(tail, "{") || strings.HasSuffix(tail, "(") || strings.HasSuffix(tail, ";"))
	default:
		return d, false, strings.HasPrefix(code[paren:], "()") && before == ""
	}
}

// matchClassField recognises public fields of a class.
func (c *codeScanner) matchClassField(code string, d declaration) (declaration, bool, bool) {
	if c.bare != typedBare || len(c.frames) == 0 || !d.hasModifier("public") && !d.hasModifier("const") {
		return d, false, false
	}
	head, _, _ := strings.Cut(code, "=")
	head = strings.TrimRight(head, " \t\r\n;{")
	i := len(head)
	for i > 0 && byteClass[head[i-1]]&word != 0 {
		i--
	}
	d.name = head[i:]
	return d, false, d.name != ""
}
