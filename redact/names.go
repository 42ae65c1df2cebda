package redact

import (
	"slices"
	"strings"
)

// A grade is how certainly the name of a value says that it is a secret.
type grade int

const (
	loose  grade = iota + 1 // "cookie": only what looks random is a secret
	firm                    // "credential": a literal that looks like more than a word
	strong                  // "token", "secret": any literal that is not a sentence, a count or a placeholder
	must                    // "password", "api_key": any literal
)

// secretNames are the last words of names of secrets.
var secretNames = map[string]grade{
	"password": must, "apikey": must, "api_key": must, "api-key": must,

	"token": strong, "secret": strong, "pass": strong, "userpass": strong, "dbpass": strong, "rootpass": strong, "adminpass": strong, "passwd": strong, "passphrase": strong, "passcode": strong, "pwd": strong,
	"api key": strong, "access_key": strong, "access-key": strong, "accesskey": strong, "account_key": strong, "accountkey": strong,
	"private_key": strong, "private-key": strong, "privatekey": strong, "private key": strong, "encryption_key": strong, "encryptionkey": strong,
	"signing_key": strong, "signingkey": strong, "master_key": strong, "masterkey": strong, "auth_key": strong, "authkey": strong,

	"pw": strong, "mdp": strong, "psk": strong, "client-key-data": strong, "client_key_data": strong, "access key": strong, "secret key": strong, "storepass": strong, "keypass": strong, "pass phrase": strong, "passw": strong, "rootpw": must, "requirepass": must, "masterauth": must, "bindpw": must,
	"preshared_key": strong, "presharedkey": strong, "shared_key": strong, "sharedkey": strong,

	"passwort": must, "kennwort": must, "geheimnis": loose, "api-schlüssel": strong, "api schlüssel": strong, "zugangsschlüssel": strong,
	"contraseña": must, "contraseÑa": must, "contrasena": must, "clave": strong, "senha": must, "palavra-passe": must, "mot de passe": must, "motdepasse": must, "mot_de_passe": must,
	"wachtwoord": must, "lösenord": must, "passord": must, "adgangskode": must, "salasana": must, "hasło": must, "heslo": must, "parola": strong, "şifre": must, "пароль": must, "Пароль": must,
	"密码": must, "密碼": must, "口令": must, "密钥": strong, "密鑰": strong, "令牌": strong, "パスワード": must, "暗証番号": must, "비밀번호": must, "암호": must, "패스워드": must, "비번": must, "인증키": strong, "비밀키": strong, "비밀 키": strong, "api 키": strong, "액세스 키": strong, "토큰": strong, "시크릿": strong,
	"jelszó": must, "mật khẩu": must, "kata sandi": must, "κωδικός": must, "Κωδικός": must, "كلمة المرور": must, "סיסמה": must, "पासवर्ड": must, "รหัสผ่าน": must,

	"pin code": strong, "secret code": strong, "wifi key": strong, "wi-fi key": strong, "network key": strong, "pre-shared-key": strong, "pre-shared key": strong, "wlan-schlüssel": strong, "netzwerkschlüssel": strong,

	"recovery code": strong, "recovery_code": strong, "backup code": strong, "backup_code": strong, "wep key": strong,

	"credential": firm, "_auth": firm,

	"authorization": loose, "cookie": loose, "jwt": loose, "bearer": loose, "session_key": loose, "ssh_key": loose, "webhook": loose,
	"storage_key": loose, "storage-key": loose, "storagekey": loose, "tls.key": loose, "ca.key": loose, "server.key": loose, "client.key": loose, "client_key": loose, "clientkey": loose,
}

// ordinaryWords are words before "token" that make it a token of a text, a page or
// a program, not a secret.
var ordinaryWords = []string{
	"eos", "bos", "pad", "unk", "sep", "cls", "mask", "special", "stop", "start", "end", "cancellation", "cancel", "next", "page", "continuation", "prev", "previous", "sync", "cursor",
	"first", "last", "max", "min", "num", "per", "sub", "word", "image", "audio", "text", "input", "output", "prompt", "completion", "total", "lex", "syntax",
}

// ownGrade returns the grade of the word s[from:to] alone, given the text before it
// in the same name.
func ownGrade(g grade, s string, from, to int) grade {
	switch word := s[from:to]; {
	case strings.EqualFold(word, "pass"):
		if alnum[byteAt(s, from-1)] && !wordBegins(s, from) && !(word[0] == 'P' && 'a' <= s[from-1] && s[from-1] <= 'z') {
			if !isEnvName(s, from, to) || otherPasses[strings.ToLower(s[skipBack(s, from, &letterBytes):to])] {
				return 0 // compass, bypass
			}
		}
	case len(word) < 4: // pw, pwd, mdp
		if looksRandom(s[skipBack(s, from, &base64s):from]) { // the end of base64
			return 0
		}
		if i := from - 1; alnum[byteAt(s, i)] && !wordBegins(s, from) && !('A' <= word[0] && word[0] <= 'Z' && 'a' <= s[i] && s[i] <= 'z') {
			return 0
		}
	case strings.EqualFold(word, "secret"): // of Kubernetes, which has a name
		if before := strings.ToLower(s[max(0, from-8):from]); strings.HasSuffix(before, "existing") || strings.HasSuffix(before, "existing_") || strings.HasSuffix(before, "pull") {
			return loose
		}
	case strings.EqualFold(word, "token"):
		before := strings.ToLower(strings.TrimRight(s[skipBack(s, from, &dashed):from], "_-"))
		for _, w := range ordinaryWords {
			if strings.HasSuffix(before, w) {
				return loose
			}
		}
	}
	return g
}

// otherPasses are words that end with pass, but do not mean a password.
var otherPasses = newWordSet("compass bypass encompass surpass overpass underpass trespass")

// nameSuffixes are the possible ends of the name of a secret after its word.
var nameSuffixes = []string{"_key", "-key", "key", "_access_key", "accesskey", "_value", "value", "_token", "token", "_base", "_key_base", "_confirmation", "confirmation", "_confirm", "confirm", "_again", "again", "_plain", "plain", "_text", "text", "_repeat", "repeat"}

// plainEnds are ends of names that concern a secret and contain none.
var plainEnds = []string{
	"name", "type", "kind", "path", "file", "dir", "url", "uri", "id", "ids", "count", "length", "len", "size", "limit", "hash", "ref", "field",
	"policy", "regex", "pattern", "label", "hint", "prompt", "date", "time", "at", "ttl", "expiry", "expires", "version", "s", "index", "offset", "estimate", "usage", "weight", "bias",
}

// gradeWithRest returns the grade of a name whose word has grade g and ends with
// the byte last; rest follows the word; 0 means none.
func gradeWithRest(g grade, last byte, rest string) grade {
	if rest == "" {
		return g
	}
	goesOn := 'a' <= rest[0] && rest[0] <= 'z' && last >= 'a' || 'A' <= rest[0] && rest[0] <= 'Z' && last <= 'Z'
	rest = strings.ToLower(rest)
	if slices.Contains(nameSuffixes, rest) {
		return g
	}
	if goesOn { // it is another word
		return 0
	}
	if rest = strings.Trim(rest, digits+"_-"); rest == "" && g == must {
		return strong
	}
	for _, s := range plainEnds {
		if strings.HasSuffix(rest, s) {
			return 0
		}
	}
	return loose
}

// A nameFinder finds the values of names with its word.
type nameFinder struct {
	grade    grade
	password bool // the word means a password, as of ofPassword
}

// An assignmentForm is one form of giving a value to a name.
type assignmentForm struct {
	value    func(s string, from, end int) int // the index of the value of the name s[from:end], or -1
	most     grade                             // grades of names that are used in this form
	argument bool                              // the value is one word, with any signs
	beside   bool                              // the same, after a name that can be nothing else than a password's
}

var assignmentForms = []assignmentForm{
	{value: assignedValue, most: must}, {value: indexedValue, most: must}, {value: taggedValue, most: must}, {value: typedValue, most: firm},
	{value: flagValue, most: firm, argument: true}, {value: encodedValue, most: firm, argument: true}, {value: pairedValue, most: firm}, {value: attributeValue, most: firm}, {value: elementText, most: firm, argument: true},
	{value: passedValue, most: loose, beside: true}, {value: comparedValue, most: loose, beside: true}, {value: listedValue, most: loose}, {value: calledValue, most: loose, beside: true},
	{value: said, most: loose}, {value: netrcValue, most: must, argument: true}, {value: besideName, most: loose, beside: true},
}

// findValue finds the value of the name that ends with the word s[from:to], after
// it or before it.
func (n nameFinder) findValue(s string, from, to int) span {
	end := skipAtMost(s, to, 40, &dashed)
	if end > to+32 {
		return span{}
	}
	g := ownGrade(gradeWithRest(n.grade, s[to-1], s[to:end]), s, from, to)
	found := n.valueBehind(s, from, to, end, g)
	if found.to > 0 || g < strong || !n.password {
		return found
	}
	if c := byteAt(s, openingQuote(s, end)); c == ',' || c == ')' {
		if found = rowPassword(s, from, end); found.to > 0 {
			return found
		}
	}
	return wordBefore(s, from)
}

// valueBehind returns the value after the name that ends at end and has grade g.
func (n nameFinder) valueBehind(s string, from, to, end int, g grade) span {
	if i := openedKeyAt(s, end); i > 0 && g > 0 {
		if found := privateKey(s, i, i+len(pemBegin)); found.to > 0 {
			return found
		}
	}
	if i := declared(s, end); g > 0 && i >= 0 {
		return statedValue(s, from, to, end, i, g)
	}
	if g >= strong {
		if found, ok := standIn(s, from, end); ok {
			return found
		}
		for _, value := range []func(string, int, int) int{assignedValue, indexedValue, taggedValue} {
			if i := value(s, from, end); i >= 0 && !strings.HasPrefix(s[i:], "</") {
				return statedValue(s, from, to, end, i, g)
			}
		}
	}
	if g == must && end == to {
		if i := assignedBelow(s, to); i >= 0 && !strings.HasPrefix(s[i:], "</") {
			return statedValue(s, from, to, end, i, g)
		}
	}
	if g == 0 {
		return span{}
	}
	if strings.EqualFold(s[from:end], "pass") && !dashed[byteAt(s, from-1)] && !strings.HasSuffix(s[:from], "with ") { // probably a verb
		return span{}
	}
	if found := spoken(s, end, g); found.to > 0 {
		return found
	}
	if found := argumentOf(s, from, end); g >= strong && found.to > 0 {
		return found
	}
	for _, u := range assignmentForms {
		i := u.value(s, from, end)
		if i < 0 || strings.HasPrefix(s[i:], "</") {
			continue
		}
		return judgedValue(s, from, i, func(v valueExtent) bool {
			if strings.EqualFold(s[v.from:v.to], s[skipBack(s, from, &word):end]) {
				return false
			}
			if v.looksSecret(s, min(g, u.most), isEnvName(s, from, end)) {
				return true
			}
			word := u.argument || u.beside && n.password || strings.Count(s[end:i], "|") == 1 || v.quoted && s[v.from-1] >= 0x80
			return word && g >= strong && spokenWord(s, v.from, false).to > 0
		})
	}
	return span{}
}

// ofPassword reports whether the word of a name means a password, and not a token or
// a key, which texts have of other kinds, nor the program passwd.
func ofPassword(lower string) bool {
	return lower != "passwd" && !strings.Contains(lower, "token") && !strings.Contains(lower, "secret") && (!strings.Contains(lower, "key") || hasPrefix(lower, "wifi", "wi-fi", "network", "pre-shared"))
}

// enoughBytes limits how much of a value is read to decide that it is a secret.
const enoughBytes = 256

// judgedValue returns the value at i if secret accepts it, or its beginning.
func judgedValue(s string, from, i int, secret func(valueExtent) bool) span {
	short := s[:min(len(s), i+enoughBytes)]
	v := valueFor(short, from, i)
	if v.to <= v.from || !secret(v) {
		return span{}
	}
	if v.to+tallest > len(short) {
		v = valueFor(s, from, i)
	}
	return span{v.from, max(v.from, v.to)}
}

var hollowBytes = newByteSet("(){}[]\"'`,;\\")

// valueFor is valueAt except for URLs and connection strings, where a value ends
// before the next name.
func valueFor(s string, from, i int) valueExtent {
	if end := yamlBlockEnd(s, from, i); end > i {
		return valueExtent{from: i, to: end, quoted: true}
	}
	v := valueAt(s, i)
	if v.quoted || v.to <= v.from {
		return v
	}
	ends := ";"
	if inElement(s, i) {
		ends = "<"
		if byteAt(s, i-1) == '[' {
			ends = "]"
		}
	} else if c := byteAt(s, skipBack(s, from, &dotted)-1); c == '?' || c == '&' {
		ends = "&#"
	} else if strings.HasPrefix(s[max(0, i-3):], "%3") {
		ends = "%&"
	} else if byteAt(s, skipBack(s, i, &blank)-1) == '|' { // the cell of a table
		ends = "|"
	}
	if cut := strings.IndexAny(s[v.from:v.to], ends); cut >= 0 {
		v.to = v.from + cut
		return v
	}
	if cut := strings.Index(s[v.from:v.to], `,"`); cut >= 0 { // a number in JSON
		v.to = v.from + cut
		return v
	}
	end := continuedEnd(s, from, v.to)
	if cut := strings.IndexAny(s[v.to:end], ends); cut >= 0 {
		end = v.to + cut
	}
	v.to = end
	return v
}

// continuedEnd returns the end of an unquoted value that has come to i, if the
// surrounding string or plain scalar of YAML may continue on the next line.
func continuedEnd(s string, name, i int) int {
	if next := bridgeLines(s, i); next > 0 && next < len(s) && !space[s[next]] {
		return trimmedEnd(s, next, bareValueEnd(s, next))
	}
	return yamlFoldedEnd(s, name, i)
}

// skipBack returns the first index before i from which on s has only bytes of m, at
// most 64 of them.
func skipBack(s string, i int, m *byteSet) int {
	for low := max(0, i-64); i > low && m[s[i-1]]; {
		i--
	}
	return i
}

// openedKeyAt returns the beginning of a private key that is the value of the name
// ending at end; 0 if there is none.
func openedKeyAt(s string, end int) int {
	if !strings.Contains(s[end:min(len(s), end+64)], pemBegin) {
		return 0 // the usual case
	}
	i := indexedValue(s, 0, end)
	if i < 0 {
		i = assignedValue(s, 0, end)
	}
	if i < 0 {
		return 0
	}
	if i = openingQuote(s, i); strings.HasPrefix(s[i:], pemBegin) {
		return i
	}
	return 0
}

// isEnvName reports whether s[from:end] ends a name in capitals at the beginning of
// its line, as in an env file or a shell.
func isEnvName(s string, from, end int) bool {
	start := skipBack(s, from, &word)
	name := s[start:end]
	if byteAt(s, end) != '=' || name != strings.ToUpper(name) {
		return false
	}
	before := s[lineStart(s, start):start]
	before = strings.TrimSuffix(before, "export ")
	before = strings.TrimSuffix(before, "ENV ")
	return before == "" || skipMargin(before, 0) == len(before) || space[before[len(before)-1]] || before[len(before)-1] == '`'
}

// lineStart returns the beginning of the line of i, or a place 128 bytes before.
func lineStart(s string, i int) int {
	low := max(0, i-128)
	return low + strings.LastIndexByte(s[low:i], '\n') + 1
}
