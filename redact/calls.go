package redact

import "strings"

// Functions take a password as an argument without a name.

// A passwordCall describes functions whose argument is a password.
type passwordCall struct {
	names    []string // with the opening bracket, in lower case
	argument int      // index of the password, from 1 on
	certain  bool     // any literal is a password, not only one unlike words
}

var passwordCalls = []passwordCall{
	{names: []string{"basicauth(", "setbasicauth(", "basicauthentication(", "networkcredential(", "usernamepasswordcredentials(", "usernamepasswordcredential(", "plainauthenticator(", "passwordauthenticator("}, argument: 2, certain: true},
	{names: []string{"httpbasicauth(", "httpdigestauth(", "auth=(", "auth: (", "authenticate(", "db.auth(", "credentials(", "login(", "signin(", "sign_in(", "userpassword(", "userpass(", "basic_auth(", "wifi.begin(", "pscredential]::new("}, argument: 2},
	{names: []string{"plainauth(", "pdo(", "mysqli(", "mysqli_connect(", "mysql_connect(", "getconnection("}, argument: 3, certain: true},
	{names: []string{"connect("}, argument: 3},
}

// callBytes limits how much of the arguments of a call is read.
const callBytes = 320

// findArgument finds the password among the arguments that begin at to.
func (p passwordCall) findArgument(s string, from, to int) span {
	if alnum[byteAt(s, from-1)] && !wordBegins(s, from) && !('A' <= s[from] && s[from] <= 'Z') {
		return span{}
	}
	s = s[:min(len(s), to+callBytes)]
	i := to
	for range p.argument - 1 {
		if i = nextInCall(s, i); i < 0 {
			return span{}
		}
	}
	v, ok := quotedAt(s, skipToValue(s, i))
	if !ok || v.to <= v.from {
		return span{}
	}
	text := s[v.from:v.to]
	switch c := byteAt(s, skipBytes(s, v.after, &space)); {
	case text == Mark:
		return span{v.from, v.to}
	case c != ',' && c != ')' && c != '.', !isLiteral(text), strings.Contains(text, "://"), strings.IndexByte(text, '/') >= 0 && !looksRandom(text):
		return span{}
	case p.certain, unlikeWords(text) && !technical(text):
		return span{v.from, v.to}
	}
	return span{}
}

// nextInCall returns the index after the comma that ends the argument at i, -1 if
// it is the last.
func nextInCall(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case quotes[c]:
			if end := closingQuote(s, i+1, c, 0, false); end > 0 {
				i = end
			}
		case c == '(', c == '[', c == '{':
			depth++
		case c == ')', c == ']', c == '}':
			if depth--; depth < 0 {
				return -1
			}
		case c == ',' && depth == 0:
			return i + 1
		case c == ';', c == '\n' && depth == 0 && strings.IndexByte("(,", byteAt(s, skipBack(s, i, &space)-1)) < 0:
			return -1
		}
	}
	return -1
}

// typingCalls type a text into a field of a form or an answer to a prompt.
var typingCalls = []string{".fill(", ".type(", ".typetext(", ".send_keys(", ".sendkeys(", ".setvalue(", ".presssequentially(", ".press_sequentially(", ".sendline(", ".send("}

// typedPassword finds the text that is typed into a field whose name is in the same
// statement: cy.get('#password').type('X'), or after the prompt of a password.
func typedPassword(s string, from, to int) span {
	return answeredPassword(s, s[lineStart(s, from):from], to)
}

// sentPassword is typedPassword for expect.
func sentPassword(s string, from, to int) span {
	if !wordBegins(s, from) {
		return span{}
	}
	if strings.HasPrefix(s[to:], "-- ") {
		to += len("-- ")
	}
	return answeredPassword(s, s[max(0, from-120):from], to)
}

// answeredPassword returns the literal at i if the text before it asks for a
// password.
func answeredPassword(s, before string, i int) span {
	lower := strings.ToLower(before)
	if !strings.Contains(lower, "assword") && !strings.Contains(lower, "passphrase") && !strings.Contains(lower, "passwd") {
		return span{}
	}
	v, ok := quotedAt(s[:min(len(s), i+enoughBytes)], i)
	if !ok {
		return span{}
	}
	for _, end := range []string{`\r`, `\n`, `\\r`, `\\n`} {
		if n := strings.Index(s[v.from:max(v.from, v.to)], end); n > 0 {
			v.to = v.from + n
		}
	}
	if text := s[v.from:max(v.from, v.to)]; text != Mark && (!isLiteral(text) || text[0] == '$') {
		return span{}
	}
	return span{v.from, v.to}
}
