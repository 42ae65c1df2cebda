package redact

import "strings"

// Code is not a secret: a comparison, a type, a call, a field or a variable
// represents a value; only a literal is a secret. In prose, JSON, YAML and env
// files, the text after the name is the value.

// An assignment is the text after a name and a colon or an equals sign.
type assignment struct {
	s        string
	from, to int // grade of the word of the name
	end      int // of the whole name
	i        int // where the value begins, with its quotes
}

// statedValue returns the value of a name that says that it is a secret.
func statedValue(s string, from, to, end, i int, g grade) span {
	x := assignment{s, from, to, end, i}
	if x.closesString() || x.documented() {
		return span{}
	}
	if stop := yamlBlockEnd(s, from, i); stop > i {
		return span{i, stop}
	}
	if k := skipBlanks(s, i+1); byteAt(s, i) == '[' && openingQuote(s, k) > k { // the first of a list
		return spokenWord(s, k, false)
	}
	if next := skipYAMLLabel(s, i); next > i {
		if isReference(s[i:next]) {
			return span{}
		}
		return span{i, max(yamlBlockEnd(s, from, next), valueAt(s, next).after)}
	}
	short := s[:min(len(s), i+enoughBytes)]
	v := x.readValue(short, g)
	if open := openingQuote(s, i); open > i && !v.quoted { // a long string, or an open one
		if g < must && strings.ContainsAny(short[open:], " \t") {
			return span{} // a sentence
		}
		short = s[:min(len(s), i+longest+enoughBytes)]
		v = x.readValue(short, g)
	}
	if below := strings.IndexByte(s[end:i], '\n') >= 0; below && x.opensBlock(short, v) {
		return span{}
	} else if next := retypedValue(short, v); !below && next > 0 {
		x.i = next
		v = x.readValue(short, g)
	}
	if v.to <= v.from || !x.isSecret(short, v, g) {
		return span{}
	}
	if v.to+tallest > len(short) {
		v = x.readValue(s, g)
	}
	if !v.quoted && g == must {
		v.to = continuedEnd(s, from, v.to)
	}
	return span{v.from, max(v.from, v.to)}
}

// closesString reports whether the quote after the name closes a string with the
// name in it: getpass("Password: ").
func (x assignment) closesString() bool {
	quote := byteAt(x.s, x.i)
	if !quotes[quote] || openingQuote(x.s, x.end) > x.end || alnum[byteAt(x.s, x.i+1)] {
		return false
	}
	open := false
	for i := lineStart(x.s, x.from); i < x.from; i++ {
		if x.s[i] == quote && !(alnum[byteAt(x.s, i-1)] && alnum[x.s[i+1]]) {
			open = !open
		}
	}
	return open
}

// documented reports whether the name belongs to a test and its message, or to the
// documentation of a parameter: ":param token: what it is for".
func (x assignment) documented() bool {
	name := skipBack(x.s, x.from, &word)
	for _, test := range []string{"Test", "Benchmark", "Fuzz"} { // TestToken: what it wanted
		if rest, ok := strings.CutPrefix(x.s[name:x.end], test); ok && x.operatorText() == ":" && rest != "" && 'A' <= rest[0] && rest[0] <= 'Z' {
			return true
		}
	}
	before := strings.TrimRight(x.s[lineStart(x.s, x.from):name], " *")
	for _, tag := range []string{":param", ":type", ":keyword", ":ivar", ":attr", "@param", "@property", ":param str", "}"} {
		if strings.HasSuffix(before, tag) && x.operatorText()[0] == ':' {
			return tag != "}" || strings.Contains(before, "@param {")
		}
	}
	return false
}

// opensBlock reports whether the line below a name begins a block: if password: and
// its body.
func (x assignment) opensBlock(s string, v valueExtent) bool {
	before := strings.TrimLeft(x.s[lineStart(x.s, x.from):x.from], " \t})")
	first, _, _ := strings.Cut(before, " ")
	switch first {
	case "if", "elif", "while", "for", "with", "else", "unless", "case", "not":
		return true
	}
	behind := skipBlanks(s, v.to)
	return !v.quoted && (strings.HasSuffix(s[v.from:v.to], ":") || behind > v.to && skipOperator(s, behind) > behind)
}

// readValue returns the value, which extends to the next space after a password.
func (x assignment) readValue(s string, g grade) valueExtent {
	if g == must && !inElement(s, x.i) { // otherwise it ends with its element
		return valueAt(s, x.i)
	}
	return valueFor(s, x.from, x.i)
}

func (x assignment) isSecret(s string, v valueExtent, g grade) bool {
	text := unescapeHTML(withoutBreaks(s[v.from:v.to]))
	switch {
	case text == Mark:
		return true // which stays unchanged
	case isVariable(text), x.directory(text), x.label(text), isRequirement(text), isCutToken(text):
		return false
	case g < must && (strings.HasPrefix(text, "0x") && len(text) <= 10 || len(x.s[x.from:x.to]) < 4 && expressionKind(text) > 0):
		return false
	case g < must && (x.isCounted(text, v.quoted) || !v.quoted && x.operatorText() == ":" && (proseWords[strings.ToLower(text)] || strings.Contains(text, ":`"))):
		return false
	case v.quoted:
		return g == must || writtenOut(text)
	case x.operatorText() == "=" && strings.HasPrefix(x.s[skipBack(x.s, x.from, &dashed):], "--") && skipBytes(text, 0, &nameBytes) == len(text) && namedAsSecret(text):
		return false // --password=PASS, of a help text
	case len(text) < 6 && skipBytes(text, 0, &digit) == len(text) && strings.HasSuffix(strings.ToLower(x.s[x.from:x.end]), "key"):
		return false // a number of a key, not a key
	case skipBytes(text, 0, &hollowBytes) == len(text), escapedBreak(text) == 0, blankToFill(s, v.from, text):
		return false
	}
	return (g == must || !isStandIn(text)) && !x.isExpression(s, v)
}

// isRequirement reports whether text is a range of versions, as of a package whose
// name mentions passwords, or the rules of a validation: ^1.0.0, required|min:8.
func isRequirement(text string) bool {
	if first, _, ok := strings.Cut(text, "|"); ok && (first == "required" || first == "nullable" || first == "sometimes" || first == "string") {
		return true
	}
	rest := strings.TrimLeft(text, "^~<>=")
	return len(rest) < len(text) && release(rest)
}

// isCutToken reports whether text is the beginning of a token with a sign that it
// is cut: sk-...
func isCutToken(text string) bool {
	rest, cut := strings.CutSuffix(text, "...")
	return cut && rest != "" && len(rest) < 12 && strings.IndexByte("-_", rest[len(rest)-1]) >= 0
}

// blankToFill reports whether an angle bracket opens at i and closes after text, as
// in <your key>.
func blankToFill(s string, i int, text string) bool {
	if text[0] != '<' || strings.HasPrefix(text, Mark) || !alnum[byteAt(text, 1)] {
		return false
	}
	line, _, _ := strings.Cut(s[i:min(len(s), i+64)], "\n")
	return strings.Contains(line, ">") || strings.Contains(line, `\u003e`)
}

// unescapeHTML returns text with the signs that JSON encoders escape for HTML.
func unescapeHTML(text string) string {
	if !strings.Contains(text, `\u00`) {
		return text
	}
	return htmlSigns.Replace(text)
}

var htmlSigns = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// writtenOut reports whether a text in quotes may be a secret: neither a sentence
// nor a template.
func writtenOut(text string) bool {
	return len(text) >= 2 && !strings.ContainsAny(text, " \t") && !isTemplate(text) && !isStandIn(text) || looksRandom(text)
}

// isStandIn reports whether text represents a value that is elsewhere, or is not a
// value.
func isStandIn(text string) bool {
	if isVariable(text) || emptyValues[text] || strings.IndexFunc(text, func(r rune) bool { return r < 0x80 && alnum[r] || r >= 0x80 && r != '…' }) < 0 {
		return true
	}
	if text[0] == '/' && strings.Count(text, "/") > 1 && skipBytes(text, 0, &pathNames) == len(text) {
		return true
	}
	for _, p := range []string{"https://", "http://", "vault:", "env:", "env.", "your", "YOUR", "..."} {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return strings.HasSuffix(text, "_here") || strings.HasSuffix(text, "-here") || strings.HasSuffix(text, "_HERE")
}

// emptyValues are texts that mean no value, and types that are not classes.
var emptyValues = newWordSet("null nil none None NULL true false True False undefined string String str bool boolean int integer number float any object bytes byte char unknown void never NaN default auto ID UUID JSON Int Float Boolean DateTime files compat")

func newWordSet(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// isCounted reports whether a token or a pass is counted or parsed, and not a
// secret: token: 12, PASS: TestParse, unexpected token: end.
func (x assignment) isCounted(text string, quoted bool) bool {
	word := x.s[x.from:x.to]
	if !strings.EqualFold(word, "token") && !strings.EqualFold(word, "pass") && len(word) > 3 {
		return false
	}
	if n := skipBytes(text, 0, &amountBytes); n == len(text) && len(text) < 6 {
		return true
	}
	if x.operatorText()[0] != ':' {
		return false
	}
	if word == "PASS" && !dashed[byteAt(x.s, x.from-1)] {
		return true
	}
	before := strings.TrimRight(x.s[lineStart(x.s, x.from):x.from], " \t\"'`*")
	adjective := before[skipBack(before, len(before), &letterBytes):]
	verb := len(adjective) > 3 && strings.HasSuffix(adjective, "s") && strings.EqualFold(word, "pass") // all checks pass: build, test
	for w := range strings.FieldsSeq(strings.Trim(before, "/#*- ")) {                                  // first warm-up pass: load
		verb = verb || strings.EqualFold(word, "pass") && parserWords[strings.ToLower(w)]
	}
	return (verb || parserWords[strings.ToLower(adjective)]) && !looksRandom(text) && (quoted || skipBytes(text, 0, &wordlikeBytes) == len(text))
}

var (
	amountBytes   = newByteSet(digits + ".,_%kKmM/")
	letterBytes   = newByteSet(letters)
	wordlikeBytes = newByteSet(letters + "_-.()[]{}<>+*/=")
	parserWords   = newWordSet("unexpected invalid unknown illegal bad missing expected next current each every per last first second third final single one")
)

// operatorText returns the text between the name and the value.
func (x assignment) operatorText() string {
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

// isExpression reports whether an unquoted value is an expression.
func (x assignment) isExpression(s string, v valueExtent) bool {
	whole := unescapeHTML(s[v.from:v.to])
	if end := strings.Index(whole, `\n`); end > 0 { // in a string of JSON
		whole = whole[:end]
	}
	text := strings.TrimRight(whole, "):;,?|]}")
	if text == "" || strings.ContainsAny(text, "([{") {
		text = whole
	}
	op := x.operatorText()
	switch {
	case op == "==", op == "===", op == "!=", op == "!==", op == "::":
		return true
	case isEnvName(s, x.from, x.end):
		return (callBracket(text, 0) > 0 || strings.Contains(text, ".")) && hasPrefix(text, "process.env", "os.environ", "os.getenv", "getenv", "System.getenv", "env(")
	case openingQuote(x.s, x.end) > x.end && skipBytes(text, 0, &identifierBytes) == len(text) && !strings.ContainsAny(text, digits), len(text) < 6 && skipBytes(text, 0, &digit) == len(text) && openingQuote(x.s, x.end) > x.end:
		return true // a name in quotes, and a value without: not JSON
	case op == "=" && blank[byteAt(x.s, x.i-1)] && byteAt(x.s, skipBack(x.s, x.from, &word)-1) == '$': // $name = value, if a value has quotes
		return true
	case emptyValues[text], reservedWords[text] && blank[byteAt(s, v.to)]:
		return true
	case hasPrefix(text, "&", "*", "!") && len(text) > 1 && !digit[text[1]]:
		rest := strings.TrimLeft(text, "&*!'")
		return rest != "" && (expressionKind(rest) > 0 || skipBytes(rest, 0, &identifierBytes) == len(rest) && !strings.ContainsAny(rest, digits))
	case strings.HasSuffix(text, "*"), strings.HasSuffix(text, "[]"), strings.HasSuffix(text, "!"): // a type of C, Java or GraphQL
		if rest := strings.Trim(text, "*[]!"); emptyValues[rest] || rest != "" && isTypeName(rest) {
			return true
		}
	}
	if inner := strings.TrimLeft(text, "([{"); len(inner) < len(text) && inner != "" { // a list, an object, parameters
		name := skipBytes(inner, 0, &identifierBytes)
		if text[0] == '{' && openingQuote(inner, 0) > 0 { // of JSON: its own names describe its content
			return true
		}
		return expressionKind(inner) > 0 || name > 0 && !digit[inner[0]] && (name < len(inner) && strings.IndexByte(",: )=", inner[name]) >= 0 || !strings.ContainsAny(inner, digits))
	}
	strength := -1 // signs of code, compiled when first needed
	line := func() int {
		if strength < 0 {
			strength = x.lineOfCode(s, v, op)
		}
		return strength
	}
	if end := expressionKind(text); end > 0 {
		return end > 1 || isReceiver(text) || isResourcePath(text) || line() > 0
	}
	name := skipBytes(text, 0, &identifierBytes)
	if name < len(text) || digit[text[0]] || len(text) > 40 {
		return false
	}
	if x.hasSameName(text) {
		return true
	}
	if strings.ContainsAny(text, digits) {
		return !looksRandom(text) && line() > 1
	}
	return isTypeName(text) || hasNameParts(text) && namedAsSecret(text) || line() > 0
}

// proseWords are words at the beginning of sentences, not of secrets.
var proseWords = newWordSet("a an the it is are was this that these those if when for of to in on at by and or not no any all one each we you they there here what which how see only yes off read write")

var (
	identifierBytes = newByteSet(letters + digits + "_$")
	reservedWords   = newWordSet("new await async function func lambda not typeof yield return if match fn def sizeof delete")
)

func hasPrefix(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// expressionKind returns 1 if text is a path of names, as user.password; 2 if it
// has a call, an index, or a sign that only code has; else 0.
func expressionKind(text string) int {
	kind, i := 0, 0
	for {
		end := skipBytes(text, i, &identifierBytes)
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
		case rest == "!": // which says that it is not null
			return kind
		case callBracket(text, i) > 0:
			return 2
		default:
			return 0
		}
	}
}

// callBracket returns the place of the bracket at or after i that belongs to a
// call, an index or a type with parts; 0 if there is none.
func callBracket(text string, i int) int {
	if i = skipBytes(text, i, &identifierBytes); i == 0 {
		return 0
	}
	switch c := byteAt(text, i); {
	case c == '(' || c == '[':
		next := byteAt(text, i+1)
		if next == 0 || next == ')' || next == ']' || identifierBytes[next] || quotes[next] || strings.IndexByte("&*{[(-+:$@.\\", next) >= 0 {
			return i
		}
	case c == '<' && strings.HasSuffix(text, ">") && !strings.HasSuffix(text, Mark):
		return i
	case c == '{' && (strings.HasSuffix(text, "}") || i+1 == len(text) || byteAt(text, skipBytes(text, i+1, &identifierBytes)) == ':'):
		return i
	}
	return 0
}

// receiverNames are names whose fields are read.
var receiverNames = newWordSet("self this cls process os sys env config cfg conf settings options opts args argv flags req request res response ctx context user account body form params props state store data event input client session app auth creds credentials secrets vault var local module cookies headers query window document import e t s c r p m x it obj item row")

// isReceiver reports whether the first of a path of names is one whose fields are
// read, or the last has the name of a secret.
func isReceiver(text string) bool {
	first, _, _ := strings.Cut(text, ".")
	return receiverNames[strings.ToLower(first)] || isTypeName(first) || namedAsSecret(text[strings.LastIndexByte(text, '.')+1:])
}

// isResourcePath reports whether text is a path of at least three names of which
// one is the name of a secret, or the first has parts: random_password.db.result.
func isResourcePath(text string) bool {
	first, rest, _ := strings.Cut(text, ".")
	if strings.IndexByte(rest, '.') < 0 {
		return false
	}
	return strings.IndexByte(first, '_') > 0 || namedAsSecret(text)
}

// namedAsSecret reports whether a variable has a name like those of secrets and
// texts.
func namedAsSecret(text string) bool {
	lower := strings.ToLower(text)
	for _, w := range []string{"pass", "pwd", "token", "secret", "key", "cred", "auth", "value", "input", "config", "param", "hash", "str", "env", "arg", "field"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// hasNameParts reports whether a name has parts, as newPassword and new_password.
func hasNameParts(text string) bool {
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

// isTypeName reports whether text is the name of a type: Token, SecretString.
func isTypeName(text string) bool {
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

// label reports whether the value is the name in another language than English: the
// label of a form.
func (x assignment) label(text string) bool {
	name := x.s[x.from:x.to]
	return strings.EqualFold(name, text) && strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 }) >= 0
}

// directory reports whether the value is that of the shell's PWD.
func (x assignment) directory(text string) bool {
	return x.s[x.from:x.end] == "PWD" && (hasPrefix(text, "/", "~", ".") || len(text) > 2 && text[1] == ':')
}

// hasSameName reports whether a variable has the name of its target, as in
// f(password=password).
func (x assignment) hasSameName(text string) bool {
	start := skipBack(x.s, x.from, &word)
	name := x.s[start:x.end]
	return strings.EqualFold(name, text) || strings.EqualFold(x.s[x.from:x.end], text)
}

// lineOfCode returns how much the line around the value looks like source code: 2
// if it can be nothing else, 1 if it may also be a setting, and 0 for prose and
// settings.
func (x assignment) lineOfCode(s string, v valueExtent, op string) int {
	start := lineStart(s, x.from)
	name := skipBack(s, x.from, &identifierBytes)
	before := escapedLine(s[start:max(start, name)])
	text := strings.TrimLeft(before[skipMargin(before, 0):], "{(")
	first := text[:skipBytes(text, 0, &identifierBytes)]
	behind := s[v.to:min(len(s), v.to+128)]
	if n := strings.IndexAny(behind, "\n\\\""); n >= 0 {
		behind = behind[:n]
	}
	behind = strings.TrimRight(behind, " \t\r")
	after := strings.TrimLeft(behind, " \t")
	spaced := op == "=" && blank[byteAt(s, x.i-1)]
	switch {
	case op == ":=", statementWords[first] && len(text) > len(first), strings.HasSuffix(before, "self."), strings.HasSuffix(before, "this."):
		return 2
	case spaced && (strings.HasSuffix(before, ", ") || isMemberName(text)), spaced && after == ";", hasOpenCall(before), hasPrefix(after, ") {", "){", ") =>", ") ->", "):", ");", "=>", "&&", "||", "??", "? "):
		return 1
	case spaced && (hasPrefix(after, "+ ", "or ", "and ", "if ", "{", ".") || len(before) > 1 && strings.Trim(before, " \t") == ""):
		return 1
	case after == ",":
		return 1
	}
	return 0
}

// escapedLine returns the part of before on the same line, if the text is a string
// of JSON.
func escapedLine(before string) string {
	if i := strings.LastIndex(before, `\n`); i >= 0 {
		before = before[i+len(`\n`):]
	}
	if i := strings.LastIndex(before, `":"`); i >= 0 {
		before = before[i+len(`":"`):]
	}
	return before
}

// isMemberName reports whether before is one name and a dot, as in w.token = t.
func isMemberName(before string) bool {
	name := skipBytes(before, 0, &identifierBytes)
	return name > 0 && before[name:] == "."
}

// statementWords are words that begin statements.
var statementWords = newWordSet("const let var val final static public private protected readonly def func fn function async await return mut")

// hasOpenCall reports whether a call or a list of parameters is open at the end of
// the part of a line.
func hasOpenCall(before string) bool {
	depth := 0
	for i := len(before) - 1; i > 0; i-- {
		switch before[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth < 0 {
				return identifierBytes[before[i-1]]
			}
		}
	}
	return false
}

// isReference reports whether a tag of YAML refers to the value.
func isReference(tag string) bool {
	return hasPrefix(tag, "!Ref", "!Sub", "!GetAtt", "!ImportValue", "!env", "!ENV", "!secret", "!reference")
}
