package redact

import "strings"

// A secret is also a literal if it is the default of a variable, or the fallback
// for an unset one.

// defaultBytes limits the distance of a default from the name of its variable.
const defaultBytes = 600

// standIn finds the literal of the name s[from:end] in other forms than an
// assignment. It reports whether the search ends here.
func standIn(s string, from, end int) (x span, ok bool) {
	if !standInBytes[byteAt(s, skipBlanks(s, openingQuote(s, end)))] {
		return span{}, false // the usual case
	}
	if x, ok := expansionOf(s, from, end); ok {
		return x, true
	}
	if x = defaultOf(s, end); x.to == 0 {
		x = fallbackOf(s, from, end)
	}
	if x.to == 0 {
		x = listedArgument(s, from, end)
	}
	return x, x.to > 0
}

// standInBytes follow a name with such a literal.
var standInBytes = newByteSet(":={|?.,)]!\r\n")

// defaultOf finds the literal in the block of a name: variable "name" { default =
// "value" }, and name: with default: value in the lines below it.
func defaultOf(s string, end int) span {
	j := skipBlanks(s, openingQuote(s, end))
	colon := byteAt(s, j) == ':'
	if colon || byteAt(s, j) == '=' {
		j = skipBlanks(s, j+1)
	}
	switch {
	case (colon || byteAt(s, j-1) == '=' || byteAt(s, j-2) == '=') && j > end && identifierBytes[byteAt(s, j)]:
		return defaultInCall(s[:min(len(s), j+widest)], j)
	case byteAt(s, j) == '{' && j > end: // otherwise it is a literal of a type
		return defaultInBraces(s[:min(len(s), j+defaultBytes)], j)
	case colon && skipNewline(s, j) > j && !letterBytes[byteAt(s, skipNewline(s, j))]:
		return defaultBelow(s[:min(len(s), j+defaultBytes)], skipNewline(s, j), indentColumn(s, lineStart(s, end)))
	}
	return span{}
}

// defaultInCall finds the literal in the call at i that describes a field:
// string().default("value"), Field(default="value").
func defaultInCall(s string, i int) span {
	if byteAt(s, skipBytes(s, i, &dotted)) != '(' {
		return span{}
	}
	line, _, _ := strings.Cut(s[i:], "\n")
	n := strings.Index(line, "default")
	if n < 1 || strings.IndexByte("(. ,", line[n-1]) < 0 || strings.IndexByte(line[:n], '(') < 0 {
		return span{}
	}
	k := i + n + len("default")
	if c := byteAt(s, k); c != '(' && c != '=' {
		return span{}
	}
	v, ok := quotedAt(s, k+1)
	if text := s[v.from:max(v.from, v.to)]; !ok || text != Mark && !isLiteral(text) {
		return span{}
	}
	return span{v.from, v.to}
}

// defaultInBraces searches the braces that open at i, but none inside them.
func defaultInBraces(s string, i int) span {
	depth := 0
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return span{}
			}
		case quotes[c]:
			if depth == 1 {
				if x := namedDefault(s, i+1, true); x.to > 0 {
					return x
				}
			}
			if next := closingQuote(s, i+1, c, 0, false); next > 0 {
				i = next
			}
		case depth == 1 && (c|0x20 == 'd' || c|0x20 == 'v') && !identifierBytes[byteAt(s, i-1)]:
			if x := namedDefault(s, i, true); x.to > 0 {
				return x
			}
		}
	}
	return span{}
}

// defaultBelow searches the lines from i on that are indented more than column.
func defaultBelow(s string, i, column int) span {
	for i < len(s) {
		start := skipMargin(s, i)
		if start-i <= column && start < len(s) && skipNewline(s, start) == start {
			return span{}
		}
		if x := namedDefault(s, start, false); x.to > 0 {
			return x
		}
		n := strings.IndexByte(s[start:], '\n')
		if n < 0 {
			return span{}
		}
		i = start + n + 1
	}
	return span{}
}

// namedDefault returns the literal that is given to default or value at i.
func namedDefault(s string, i int, quoted bool) span {
	end := skipBytes(s, i, &word)
	switch strings.ToLower(s[i:end]) {
	case "default", "value", "defaultvalue", "default_value":
	default:
		return span{}
	}
	j := skipBlanks(s, openingQuote(s, end))
	if c := byteAt(s, j); c != ':' && c != '=' || byteAt(s, j+1) == c {
		return span{}
	}
	v := valueAt(s, skipBlanks(s, j+1))
	if v.to <= v.from || quoted && !v.quoted {
		return span{}
	}
	text := s[v.from:v.to]
	if text == Mark || v.quoted && isLiteral(text) || !v.quoted && isLiteral(text) && !emptyValues[text] && expressionKind(text) == 0 && (unlikeWords(text) || skipBytes(text, 0, &lowercase) == len(text)) {
		return span{v.from, v.to}
	}
	return span{}
}

// isLiteral reports whether a text in quotes may be a secret as a default: not a
// sentence, a template, or the name of a secret itself.
func isLiteral(text string) bool {
	named := namedAsSecret(text) && !strings.ContainsAny(text, digits) || skipBytes(text, 0, &nameBytes) == len(text)
	return len(text) >= 3 && writtenOut(text) && !isPlaceholder(text) && !named && !isRequirement(text)
}

// instead are the texts between the look-up of a variable and its fallback.
var instead = []string{"||", "??", "?:", "or ", ".unwrap_or(", ".unwrap_or_else(|_| ", ".orElse(", ".getOrElse(", "| default(", "|default(", "| d(", "{ ", ", default=", ", default: ", ", fallback=", ","}

// fallbackOf finds the literal that is the fallback for the variable whose name
// ends at end: process.env.NAME || "value", getenv("NAME", "value"). If the name is
// not that of an environment variable, only a text unlike a word is a secret.
func fallbackOf(s string, from, end int) span {
	quoted := openingQuote(s, end) > end
	j := openingQuote(s, end)
	open := j
	for j < open+2 && j < len(s) && strings.IndexByte(")]!", s[j]) >= 0 {
		j++
	}
	closed := j > open
	j = skipBlanks(s, j)
	if byteAt(s, j) == '\n' || byteAt(s, j) == '\r' {
		if k := skipToValue(s, j); k < len(s) && (s[k] == '|' || s[k] == '?') { // on the next line
			j = k
		}
	}
	if j >= len(s) || strings.IndexByte("|?o.{,", s[j]) < 0 || s[j] == ',' && !hasPrefix(s[j:], ", default", ", fallback=") && byteAt(s, skipBack(s, skipBack(s, from, &dotted), &beforeArgument)-1) != '(' && !closed {
		return span{}
	}
	for _, op := range instead {
		if !strings.HasPrefix(s[j:], op) {
			continue
		}
		if op[0] == ',' && !quoted || (op[0] == '{' || op[0] == 'o') && !closed {
			return span{}
		}
		v, ok := quotedAt(s[:min(len(s), j+enoughBytes)], skipToValue(s, j+len(op)))
		if !ok || v.to <= v.from {
			return span{}
		}
		text := s[v.from:v.to]
		variable := len(op) > len(", d") && op[0] == ',' || isLookUp(s, from, end, op)
		if text == Mark && variable || isLiteral(text) && !strings.EqualFold(text, s[from:end]) && (variable || op[0] != ',' && op[0] != '{' && (unlikeWords(text) || looksRandom(text))) {
			return span{v.from, v.to}
		}
		return span{}
	}
	return span{}
}

func hasSuffix(text string, suffixes ...string) bool {
	for _, x := range suffixes {
		if strings.HasSuffix(text, x) {
			return true
		}
	}
	return false
}

// beforeArgument is the text between the bracket of a call and its argument.
var beforeArgument = newByteSet(" \t\r\n\"'`")

// isLookUp reports whether the name is looked up in the environment or the
// settings.
func isLookUp(s string, from, end int, op string) bool {
	start := skipBack(s, from, &dotted)
	before := strings.ToLower(s[max(0, start-48):start])
	if op[0] == ',' { // an argument of a function with the name of a look-up
		call := strings.TrimRight(before, "\"'`\\ \t\r\n")
		name, ok := strings.CutSuffix(call, "(")
		if !ok || strings.HasSuffix(name, "setenv") {
			if i := strings.LastIndexByte(call, '('); op == "," && (i < 0 || !strings.Contains(call[:i], "or")) {
				return false
			}
		}
		for _, w := range []string{"env", "default", "config", "property", "fetch", "environ"} {
			if strings.Contains(name[skipBack(name, len(name), &word):], w) {
				return true
			}
		}
		return ok && strings.Contains(before, "environ.get(")
	}
	name := s[start:end]
	return strings.Contains(before, "env") || strings.Contains(strings.ToLower(name), "env.") || name == strings.ToUpper(name) || op[0] == '|' && strings.Contains(op, "d")
}

// expansionOf finds the fallback of a shell for an unset variable: ${NAME:-value}.
// It reports whether the name is that of such a variable.
func expansionOf(s string, from, end int) (x span, ok bool) {
	if byteAt(s, end) != ':' || end+1 >= len(s) || strings.IndexByte("-=?+", s[end+1]) < 0 {
		return span{}, false
	}
	if start := skipBack(s, from, &word); byteAt(s, start-1) != '{' || byteAt(s, start-2) != '$' {
		return span{}, false
	}
	i := end + 2
	short := s[i:min(len(s), i+enoughBytes)]
	stop := strings.IndexAny(short, "}\n")
	if c := s[end+1]; c == '?' || c == '+' || stop < 1 || short[stop] != '}' {
		return span{}, true
	}
	to := i + stop
	if open := openingQuote(s, i); open > i {
		i = open
		to -= len(s[i:to]) - len(strings.TrimRight(s[i:to], "\"'\\"))
	}
	if text := s[i:max(i, to)]; text == Mark || text != "" && text[0] != '$' && !isStandIn(text) {
		return span{i, to}, true
	}
	return span{}, true
}

// listedArgument finds the value of a flag in a list of arguments: "--password",
// "value"; and in a list of YAML, where it is on the next line.
func listedArgument(s string, from, end int) span {
	if c := byteAt(s, openingQuote(s, end)); c != ',' && c != '\n' && c != '\r' {
		return span{}
	}
	start := skipBack(s, from, &dashed)
	if byteAt(s, start) != '-' {
		return span{}
	}
	if i := listedValue(s, from, end); i >= 0 {
		v := valueAt(s[:min(len(s), i+enoughBytes)], i)
		text := s[v.from:max(v.from, v.to)]
		if text == Mark || v.quoted && text != "" && text[0] != '-' && isLiteral(text) && !argumentWords[strings.ToLower(text)] {
			return span{v.from, v.to}
		}
		return span{}
	}
	line := openingQuote(s, end)
	next := skipNewline(s, line)
	item := strings.TrimRight(s[lineStart(s, start):start], "\"'")
	if next == line || !strings.HasSuffix(item, "- ") {
		return span{}
	}
	if !strings.HasPrefix(s[next:], item) {
		return span{}
	}
	v := valueAt(s[:min(len(s), next+enoughBytes)], next+len(item))
	if v.to <= v.from || isNoArgument(s[v.from:v.to]) {
		return span{}
	}
	return span{v.from, v.to}
}

// shortFlag finds the value of -p in a list of arguments that has a flag for the
// user before it: "-u", "root", "-p", "value".
func shortFlag(s string, _, to int) span {
	before := s[max(0, to-160):to]
	n := max(strings.LastIndexByte(before, '['), strings.LastIndexByte(before, '{'))
	before = before[n+1:]
	user := false
	for _, flag := range []string{`-u`, `-U`, `--user`, `--username`, `-D`} {
		user = user || strings.Contains(before, `"`+flag+`"`) || strings.Contains(before, `'`+flag+`'`) || strings.Contains(before, `"`+flag+`\"`)
	}
	c := commandLine{s: s, end: min(len(s), to+enoughBytes), list: true}
	arg, _ := c.nextArgument(to)
	if arg.to == 0 || !user && (!looksRandom(s[arg.from:arg.to]) || strings.ContainsAny(s[arg.from:arg.to], ".:/=,")) {
		return span{}
	}
	if text := s[arg.from:arg.to]; isNoArgument(text) || !unlikeWords(text) && !looksRandom(text) {
		return span{}
	}
	return arg
}

// shortOption is shortFlag on a command line: -u root -p value. Without a user, -p
// may well be a port or a path.
func shortOption(s string, from, to int) span {
	before := s[lineStart(s, from):from]
	if n := strings.LastIndexAny(before, "|;&"); n >= 0 {
		before = before[n:]
	}
	user, _ := strings.CutSuffix(before, before[strings.LastIndexByte(before, ' ')+1:]) // the text before -p
	user = strings.TrimRight(user, " ")
	if !hasSuffix(user, " -u", " -U", " -n", " --user", " --username") {
		return span{}
	}
	c := commandLine{s: s, end: min(len(s), to+enoughBytes)}
	arg, _ := c.nextArgument(to)
	if text := s[arg.from:arg.to]; arg.to == 0 || isNoArgument(text) || !unlikeWords(text) || strings.ContainsAny(text, ".:/=") {
		return span{}
	}
	return arg
}
