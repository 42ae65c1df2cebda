package redact

import "strings"

// Code is no secret: a comparison, a type, a call, a field or a variable stands
// for a value, and only what is written out is one. In prose, in JSON, in YAML
// and in env files, what stands there is the value.

// A given is what stands behind a name and a colon or an equals sign.
type given struct {
	s        string
	from, to int // the word of the name that says so
	end      int // of the whole name
	i        int // where the value begins, with its quotes
}

// stated returns the value of a name that says of itself that it is a secret.
func stated(s string, from, to, end, i int, g grade) span {
	x := given{s, from, to, end, i}
	if x.closesString() || x.documented() {
		return span{}
	}
	if stop := block(s, from, i); stop > i {
		return span{i, stop}
	}
	if next := labelled(s, i); next > i {
		if reference(s[i:next]) {
			return span{}
		}
		return span{i, max(block(s, from, next), valueAt(s, next).after)}
	}
	short := s[:min(len(s), i+enough)]
	v := x.value(short, g)
	if open := opening(s, i); open > i && !v.quoted { // a long string, or an open one
		if g < must && strings.ContainsAny(short[open:], " \t") {
			return span{} // a sentence
		}
		short = s[:min(len(s), i+longest+enough)]
		v = x.value(short, g)
	}
	if below := strings.IndexByte(s[end:i], '\n') >= 0; below && x.statement(short, v) {
		return span{}
	} else if next := retyped(short, v); !below && next > 0 {
		x.i = next
		v = x.value(short, g)
	}
	if v.to <= v.from || !x.secret(short, v, g) {
		return span{}
	}
	if v.to+tallest > len(short) {
		v = x.value(s, g)
	}
	if !v.quoted && g == must {
		v.to = continued(s, from, v.to)
	}
	return span{v.from, max(v.from, v.to)}
}

// closesString reports whether the quote behind the name closes a string that
// the name is in: getpass("Password: ").
func (x given) closesString() bool {
	quote := at(x.s, x.i)
	if !quotes[quote] || opening(x.s, x.end) > x.end || alnum[at(x.s, x.i+1)] {
		return false
	}
	open := false
	for i := lineStart(x.s, x.from); i < x.from; i++ {
		if x.s[i] == quote && !(alnum[at(x.s, i-1)] && alnum[x.s[i+1]]) {
			open = !open
		}
	}
	return open
}

// documented reports whether the name is one of a test with what it says, or in
// the documentation of a parameter: ":param token: what it is for".
func (x given) documented() bool {
	name := skipBack(x.s, x.from, &word)
	for _, test := range []string{"Test", "Benchmark", "Fuzz"} { // TestToken: what it wanted
		if rest, ok := strings.CutPrefix(x.s[name:x.end], test); ok && x.operator() == ":" && rest != "" && 'A' <= rest[0] && rest[0] <= 'Z' {
			return true
		}
	}
	before := strings.TrimRight(x.s[lineStart(x.s, x.from):name], " *")
	for _, tag := range []string{":param", ":type", ":keyword", ":ivar", ":attr", "@param", "@property", ":param str", "}"} {
		if strings.HasSuffix(before, tag) && x.operator()[0] == ':' {
			return tag != "}" || strings.Contains(before, "@param {")
		}
	}
	return false
}

// statement reports whether what stands on the line below a name is the first
// of a block: if password: and what is done then.
func (x given) statement(s string, v value) bool {
	before := strings.TrimLeft(x.s[lineStart(x.s, x.from):x.from], " \t})")
	first, _, _ := strings.Cut(before, " ")
	switch first {
	case "if", "elif", "while", "for", "with", "else", "unless", "case", "not":
		return true
	}
	behind := blanks(s, v.to)
	return !v.quoted && (strings.HasSuffix(s[v.from:v.to], ":") || behind > v.to && operator(s, behind) > behind)
}

// value returns the value, which behind a password goes to the next space.
func (x given) value(s string, g grade) value {
	if g == must && at(s, x.i-1) != '>' { // else it ends with its element
		return valueAt(s, x.i)
	}
	return valueFor(s, x.from, x.i)
}

func (x given) secret(s string, v value, g grade) bool {
	text := unescaped(flat(s[v.from:v.to]))
	switch {
	case text == Mark:
		return true // which is left as it is
	case variable(text), x.directory(text), x.label(text):
		return false
	case g < must && (strings.HasPrefix(text, "0x") && len(text) <= 10 || len(x.s[x.from:x.to]) < 4 && expressed(text) > 0):
		return false
	case g < must && (x.counted(text, v.quoted) || !v.quoted && x.operator() == ":" && (prose[strings.ToLower(text)] || strings.Contains(text, ":`"))):
		return false
	case v.quoted:
		return g == must || writtenOut(text)
	case skip(text, 0, &hollow) == len(text), blankToFill(s, v.from, text):
		return false
	}
	return (g == must || !stand(text)) && !x.code(s, v)
}

// blankToFill reports whether an angle bracket opens at i that closes behind
// text, as in <your key>.
func blankToFill(s string, i int, text string) bool {
	if text[0] != '<' || strings.HasPrefix(text, Mark) || !alnum[at(text, 1)] {
		return false
	}
	line, _, _ := strings.Cut(s[i:min(len(s), i+64)], "\n")
	return strings.Contains(line, ">") || strings.Contains(line, `\u003e`)
}

// unescaped returns text with the signs that encoders of JSON escape for HTML.
func unescaped(text string) string {
	if !strings.Contains(text, `\u00`) {
		return text
	}
	return signs.Replace(text)
}

var signs = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// writtenOut reports whether a text in quotes may be a secret: it is no sentence
// and no template.
func writtenOut(text string) bool {
	return len(text) >= 2 && !strings.ContainsAny(text, " \t") && !template(text) && !stand(text) || opaque(text)
}

// stand reports whether text stands in the place of a value that is elsewhere,
// or is none.
func stand(text string) bool {
	if variable(text) || nothing[text] || strings.IndexFunc(text, func(r rune) bool { return r < 0x80 && alnum[r] || r >= 0x80 && r != '…' }) < 0 {
		return true
	}
	for _, p := range []string{"https://", "http://", "vault:", "env:", "env.", "your", "YOUR", "..."} {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return strings.HasSuffix(text, "_here") || strings.HasSuffix(text, "-here") || strings.HasSuffix(text, "_HERE")
}

// nothing are values that are none, and types that are no class.
var nothing = wordSet("null nil none None NULL true false True False undefined string String str bool boolean int integer number float any object bytes byte char unknown void never NaN default auto")

func wordSet(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// counted reports whether a token or a pass is one of those that are counted or
// parsed, and no secret: token: 12, PASS: TestParse, unexpected token: end.
func (x given) counted(text string, quoted bool) bool {
	word := x.s[x.from:x.to]
	if !strings.EqualFold(word, "token") && !strings.EqualFold(word, "pass") && len(word) > 3 {
		return false
	}
	if n := skip(text, 0, &amounts); n == len(text) && len(text) < 6 {
		return true
	}
	if x.operator()[0] != ':' {
		return false
	}
	if word == "PASS" && !dashed[at(x.s, x.from-1)] {
		return true
	}
	before := strings.TrimRight(x.s[lineStart(x.s, x.from):x.from], " \t\"'`*")
	adjective := before[skipBack(before, len(before), &letter):]
	verb := len(adjective) > 3 && strings.HasSuffix(adjective, "s") && strings.EqualFold(word, "pass") // all checks pass: build, test
	return (verb || parsed[strings.ToLower(adjective)]) && !opaque(text) && (quoted || skip(text, 0, &wordlike) == len(text))
}

var (
	amounts  = bytesOf(digits + ".,_%kKmM/")
	letter   = bytesOf(letters)
	wordlike = bytesOf(letters + "_-.()[]{}<>+*/=")
	parsed   = wordSet("unexpected invalid unknown illegal bad missing expected next current each every per last first second third final single one")
)

// operator returns what stands between the name and the value.
func (x given) operator() string {
	j := skipBack(x.s, x.i, &blank)
	for k := j; ; k-- {
		if k == 0 || j-k == 3 || strings.IndexByte(":=!>", x.s[k-1]) < 0 {
			if k == j {
				return " "
			}
			return x.s[k:j]
		}
	}
}

// code reports whether an unquoted value is an expression.
func (x given) code(s string, v value) bool {
	whole := unescaped(s[v.from:v.to])
	if end := strings.Index(whole, `\n`); end > 0 { // in a string of JSON
		whole = whole[:end]
	}
	text := strings.TrimRight(whole, "):;,?|]}")
	if text == "" || strings.ContainsAny(text, "([{") {
		text = whole
	}
	op := x.operator()
	switch {
	case op == "==", op == "===", op == "!=", op == "!==", op == "::":
		return true
	case environment(s, x.from, x.end):
		return (callAt(text, 0) > 0 || strings.Contains(text, ".")) && hasPrefix(text, "process.env", "os.environ", "os.getenv", "getenv", "System.getenv", "env(")
	case opening(x.s, x.end) > x.end && skip(text, 0, &identifier) == len(text) && !strings.ContainsAny(text, digits), len(text) < 6 && skip(text, 0, &digit) == len(text) && opening(x.s, x.end) > x.end:
		return true // a name in quotes, and none of a value: no JSON
	case nothing[text], reserved[text] && blank[at(s, v.to)]:
		return true
	case hasPrefix(text, "&", "*", "!") && len(text) > 1 && !digit[text[1]]:
		rest := strings.TrimLeft(text, "&*!'")
		return rest != "" && (expressed(rest) > 0 || skip(rest, 0, &identifier) == len(rest) && !strings.ContainsAny(rest, digits))
	case strings.HasSuffix(text, "*") || strings.HasSuffix(text, "[]"): // a type of C or Java
		if rest := strings.TrimRight(text, "*[]"); nothing[rest] || rest != "" && class(rest) {
			return true
		}
	}
	if inner := strings.TrimLeft(text, "([{"); len(inner) < len(text) && inner != "" { // a list, an object, parameters
		name := skip(inner, 0, &identifier)
		if text[0] == '{' && opening(inner, 0) > 0 { // of JSON: its own names say what is in it
			return true
		}
		return expressed(inner) > 0 || name > 0 && !digit[inner[0]] && (name < len(inner) && strings.IndexByte(",: )=", inner[name]) >= 0 || !strings.ContainsAny(inner, digits))
	}
	strength := -1 // of the signs of code, once it is asked for
	line := func() int {
		if strength < 0 {
			strength = x.lineOfCode(s, v, op)
		}
		return strength
	}
	if end := expressed(text); end > 0 {
		return end > 1 || receiver(text) || line() > 0
	}
	name := skip(text, 0, &identifier)
	if name < len(text) || digit[text[0]] || len(text) > 40 {
		return false
	}
	if strings.ContainsAny(text, digits) {
		return !opaque(text) && line() > 1
	}
	return class(text) || x.same(text) || humps(text) && named(text) || line() > 0
}

// prose are words that a sentence begins with, and no secret is.
var prose = wordSet("a an the it is are was this that these those if when for of to in on at by and or not no any all one each we you they there here what which how see only")

var (
	identifier = bytesOf(letters + digits + "_$")
	reserved   = wordSet("new await async function func lambda not typeof yield return if match fn def sizeof delete")
)

func hasPrefix(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// expressed says whether text is a path of names, as user.password: 1; or one
// with a call, an index, or a sign that only code has: 2; else 0.
func expressed(text string) int {
	kind, i := 0, 0
	for {
		end := skip(text, i, &identifier)
		if end == i || digit[text[i]] || end-i > 40 {
			return 0
		}
		if i = end; i == len(text) {
			return kind
		}
		rest := text[i:]
		switch {
		case rest[0] == '.' && len(rest) > 1:
			kind = max(kind, 1)
			i++
		case hasPrefix(rest, "?.", "->", "::", "!."):
			kind = 2
			i += 2
			if i < len(text) && (text[i] == '[' || text[i] == '(') {
				return kind
			}
		case callAt(text, i) > 0:
			return 2
		default:
			return 0
		}
	}
}

// callAt returns where the bracket at or behind i opens that is of a call, an
// index or a type with parts; 0 where none is.
func callAt(text string, i int) int {
	if i = skip(text, i, &identifier); i == 0 {
		return 0
	}
	switch c := at(text, i); {
	case c == '(' || c == '[':
		next := at(text, i+1)
		if next == 0 || next == ')' || next == ']' || identifier[next] || quotes[next] || strings.IndexByte("&*{[(-:$@.\\", next) >= 0 {
			return i
		}
	case c == '<' && strings.HasSuffix(text, ">") && !strings.HasSuffix(text, Mark):
		return i
	case c == '{' && (strings.HasSuffix(text, "}") || i+1 == len(text) || at(text, skip(text, i+1, &identifier)) == ':'):
		return i
	}
	return 0
}

// receivers are what fields are read from.
var receivers = wordSet("self this cls process os sys env config cfg conf settings options opts args argv flags req request res response ctx context user account body form params props state store data event input client session app auth creds credentials secrets vault var local module cookies headers query window document import e t s c r p m x it obj item row")

// receiver reports whether the first of a path of names is one that fields are
// read from, or the last is named as secrets are.
func receiver(text string) bool {
	first, _, _ := strings.Cut(text, ".")
	return receivers[strings.ToLower(first)] || class(first) || named(text[strings.LastIndexByte(text, '.')+1:])
}

// named reports whether a variable has a name as those of secrets and texts.
func named(text string) bool {
	lower := strings.ToLower(text)
	for _, w := range []string{"pass", "pwd", "token", "secret", "key", "cred", "auth", "value", "input", "config", "param", "hash", "str", "env", "arg", "field"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// humps reports whether a name has parts, as newPassword and new_password.
func humps(text string) bool {
	if i := strings.IndexByte(text, '_'); i >= 0 && i < len(text)-1 {
		return true
	}
	for i := 1; i < len(text); i++ {
		if 'A' <= text[i] && text[i] <= 'Z' && 'a' <= text[i-1] && text[i-1] <= 'z' {
			return true
		}
	}
	return false
}

// class reports whether text is the name of a type: Token, SecretString.
func class(text string) bool {
	if text[0] < 'A' || text[0] > 'Z' || strings.ToUpper(text) == text {
		return false
	}
	for _, w := range []string{"Token", "Secret", "Pass", "Key", "Str", "Type", "Bytes", "Buffer", "Option", "Config", "Field", "Kind", "Credential", "Text", "Input", "Value", "Node", "Class"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// label reports whether the value is the name once more, of another language than
// English: what a form is labelled with.
func (x given) label(text string) bool {
	name := x.s[x.from:x.to]
	return strings.EqualFold(name, text) && strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 }) >= 0
}

// directory reports whether the value is that of the shell's PWD.
func (x given) directory(text string) bool {
	return x.s[x.from:x.end] == "PWD" && (hasPrefix(text, "/", "~", ".") || len(text) > 2 && text[1] == ':')
}

// same reports whether a variable has the name that it is given to, as in
// f(password=password).
func (x given) same(text string) bool {
	start := skipBack(x.s, x.from, &word)
	name := x.s[start:x.end]
	return strings.EqualFold(name, text) || strings.EqualFold(x.s[x.from:x.end], text)
}

// lineOfCode says how much the line around the value looks like source code: 2
// where it can be nothing else, 1 where it may be a line of settings, too, and
// 0 for prose and settings.
func (x given) lineOfCode(s string, v value, op string) int {
	start := lineStart(s, x.from)
	name := skipBack(s, x.from, &identifier)
	before := escapedLine(s[start:max(start, name)])
	text := strings.TrimLeft(before[margin(before, 0):], "{(")
	first := text[:skip(text, 0, &identifier)]
	behind := s[v.to:min(len(s), v.to+128)]
	if n := strings.IndexAny(behind, "\n\\\""); n >= 0 {
		behind = behind[:n]
	}
	behind = strings.TrimRight(behind, " \t\r")
	after := strings.TrimLeft(behind, " \t")
	spaced := op == "=" && blank[at(s, x.i-1)]
	switch {
	case op == ":=", declares[first] && len(text) > len(first), strings.HasSuffix(before, "self."), strings.HasSuffix(before, "this."):
		return 2
	case spaced && (strings.HasSuffix(before, ", ") || member(text)), spaced && after == ";", unclosed(before), hasPrefix(after, ") {", "){", ") =>", ") ->", "):", ");", "=>", "&&", "||", "??", "? "):
		return 1
	case spaced && (hasPrefix(after, "+ ", "or ", "and ", "if ", "{", ".") || len(before) > 1 && strings.Trim(before, " \t") == ""):
		return 1
	case after == ",":
		return 1
	}
	return 0
}

// escapedLine returns what of before is on the same line, where the text is a
// string of JSON.
func escapedLine(before string) string {
	if i := strings.LastIndex(before, `\n`); i >= 0 {
		before = before[i+len(`\n`):]
	}
	if i := strings.LastIndex(before, `":"`); i >= 0 {
		before = before[i+len(`":"`):]
	}
	return before
}

// member reports whether before is one name and a dot, as in w.token = t.
func member(before string) bool {
	name := skip(before, 0, &identifier)
	return name > 0 && before[name:] == "."
}

// declares are words that begin statements.
var declares = wordSet("const let var val final static public private protected readonly def func fn function async await return mut")

// unclosed reports whether a call or a list of parameters is open at the end of
// the part of a line.
func unclosed(before string) bool {
	depth := 0
	for i := len(before) - 1; i > 0; i-- {
		switch before[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth < 0 {
				return identifier[before[i-1]]
			}
		}
	}
	return false
}

// reference reports whether a tag of YAML names where the value is.
func reference(tag string) bool {
	return hasPrefix(tag, "!Ref", "!Sub", "!GetAtt", "!ImportValue", "!env", "!ENV", "!secret", "!reference")
}
