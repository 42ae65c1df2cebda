package redact

import "strings"

// A password is also given behind its user, or before the word that names it.

// loginPhrases are followed by a user and a password: log in as bob / password.
var loginPhrases = []string{
	"credentials", "creds", "log in with", "log in as", "login with", "login as", "logged in as", "logging in as", "login", "sign in with", "sign in as", "signed in as",
	"user/pass", "user/password", "username/password", "login/password", "user:password", "username:password", "user / password", "username / password", "user:pass", "username and password",
	"u/p", "user/pw", "user / pw", "zugang", "authentication failed", "authentication failed for",
	"zugangsdaten", "credenciales", "credenciais", "identifiants", "credenziali", "учётные данные", "учетные данные", "логин/пароль", "账号密码", "用户名密码", "账号/密码", "用户名/密码", "wifi", "wi-fi", "wlan",
}

// loginWords are between such a phrase and the user.
var loginWords = []string{" are", " is", " were", " was", " for", " user", " account", " sind", " lauten", " son", " sont"}

// loginPair finds the password in user/password, user / password, and user:password
// after a phrase about logging in.
func loginPair(s string, from, to int) span {
	if !wordBegins(s, from) || letterBytes[byteAt(s, to)] {
		return span{}
	}
	i := skipLoginWords(s, to)
	if i == to {
		return span{}
	}
	if next := openingQuote(s, i); next > i {
		i = next
	}
	user := skipAtMost(s, i, 64, &userBytes)
	if user == i || proseWords[strings.ToLower(s[i:user])] {
		return span{}
	}
	i = skipUserEnd(s, user)
	if i == user {
		return span{}
	}
	return pairedWord(s, i)
}

// userBytes are the bytes of the name of a user.
var userBytes = newByteSet(letters + digits + "._-@\\")

// skipLoginWords skips the words and the operator before the user.
func skipLoginWords(s string, i int) int {
	for _, w := range loginWords {
		if hasPrefix(s[i:], w+" ", w+": ") {
			i += len(w)
			break
		}
	}
	if next := skipOperator(s, skipBlanks(s, i)); next > 0 {
		return skipBlanks(s, next)
	}
	return skipBlanks(s, i)
}

// skipUserEnd skips the quote after a user, and the sign before its password.
func skipUserEnd(s string, i int) int {
	j := openingQuote(s, i)
	for _, sign := range []string{" / ", "/", " : ", ":", " | "} {
		if strings.HasPrefix(s[j:], sign) {
			return j + len(sign)
		}
	}
	return i
}

// pairedWord returns the password after a user at i, if it is unlike words.
func pairedWord(s string, i int) span {
	v := valueAt(s[:min(len(s), i+enoughBytes)], i)
	v.to = max(v.from, v.to)
	if n := escapedBreak(s[v.from:v.to]); n >= 0 && !v.quoted {
		v.to = v.from + n
	}
	if n := strings.LastIndexByte(s[v.from:v.to], '@'); n > 3 && !v.quoted { // user/password@database
		v.to = v.from + n
	}
	if !v.quoted {
		v.to -= len(s[v.from:v.to]) - len(strings.TrimRight(s[v.from:v.to], ".,;:?)"))
	}
	text := s[v.from:v.to]
	switch {
	case text == Mark:
		return span{v.from, v.to}
	case len(text) < 5, isPlaceholder(text), isTemplate(text), technical(text), expressionKind(text) > 0, strings.ContainsAny(text, "/\\"), !unlikeWords(text):
		return span{}
	}
	return span{v.from, v.to}
}

// administrators finds the password in root:password, and in admin / password, if
// they begin a line or a string.
func administrators(s string, from, to int) span {
	if start := skipMargin(s, lineStart(s, from)); from != start && !(from > start && (quotes[s[from-1]] || s[from-1] == '(' || s[from-1] == ' ' && strings.IndexByte(":=-*>", byteAt(s, from-2)) >= 0 || s[from-1] == ':' && digit[byteAt(s, from-2)])) {
		return span{}
	}
	x := pairedWord(s, to)
	if text := s[x.from:x.to]; x.to == 0 || text != Mark && (strings.ContainsAny(text, ":.,") || !lineEnds(s, x.to) && !quotes[byteAt(s, x.to)] && byteAt(s, x.to) != ' ' && byteAt(s, x.to) != ')') {
		return span{}
	}
	return x
}

// connectors are between a password and the words that name it: X as the password.
var connectors = newWordSet("as is als ist como es é comme est è как")

// fused are the same in languages without a space before the name.
var fused = []string{"作为", "作為", "是", "を"}

// wordBefore returns the password before the name that begins at from: use X as the
// new password, X is the password.
func wordBefore(s string, from int) span {
	switch c := byteAt(s, from-1); {
	case c >= 0x80:
		return wordBeforeParticle(s, from)
	case !blank[c]:
		return span{}
	}
	i := from
	for range 4 { // words of the name, and the connector
		end := skipBackBlanks(s, i)
		start := skipBack(s, end, &sentenceBytes)
		if end == i || start == end {
			return span{}
		}
		if end-start < 6 && connectors[strings.ToLower(s[start:end])] {
			if before := skipBackBlanks(s, start); before < start {
				return precedingWord(s, before)
			}
			return span{}
		}
		i = start
	}
	return span{}
}

// wordBeforeParticle is wordBefore in languages without a space before the name.
func wordBeforeParticle(s string, from int) span {
	for _, w := range fused {
		if end := from - len(w); end > 0 && s[end:from] == w {
			return precedingWord(s, skipBackBlanks(s, end))
		}
	}
	return span{}
}

// sentenceBytes are the bytes of words of a sentence.
var sentenceBytes = byteSetAbove(newByteSet(letters))

// byteSetAbove returns m with the bytes of letters outside of ASCII.
func byteSetAbove(m byteSet) byteSet {
	for c := 0x80; c < len(m); c++ {
		m[c] = true
	}
	return m
}

// skipBackBlanks returns the index after the text before i.
func skipBackBlanks(s string, i int) int { return skipBack(s, i, &blank) }

// precedingWord returns the word that ends at end, with or without quotes, if it is
// unlike the words of a language.
func precedingWord(s string, end int) span {
	quote := byteAt(s, end-1)
	if quotes[quote] {
		end--
	} else {
		quote = ' '
	}
	low := max(0, end-64)
	start := low + strings.LastIndexAny(s[low:end], " \t\n\r"+string(quote)) + 1
	for i := start; i < end; i++ {
		if s[i] >= 0x80 {
			start = i + 1 // 用X作为密码
		}
	}
	if start == low && low > 0 || end-start < 5 {
		return span{}
	}
	text := s[start:end]
	if strings.ContainsAny(text, "<>()[]{}=") || isPlaceholder(text) || technical(text) || expressionKind(text) > 0 || !unlikeWords(text) {
		return span{}
	}
	return span{start, end}
}

// codeNames are names of short numbers that are secrets.
var codeNames = []string{"pin", "otp", "totp", "pincode", "pin-code", "cvv", "cvc", "verification code", "security code", "-time code", "-time password", "2fa code", "mfa code", "geheimzahl", "bestätigungscode", "código de verificación", "code de vérification", "验证码", "驗證碼", "認証コード", "暗証番号", "код подтверждения", "인증번호"}

// numberCode finds the number after the name of one: PIN: 4821, the code is 482913.
func numberCode(s string, from, to int) span {
	if strings.HasPrefix(s[from:], "-time") {
		from = skipBack(s, from, &letterBytes)
	}
	if !wordBegins(s, from) || word[byteAt(s, from-1)] && byteAt(s, from-1) != '_' {
		return span{}
	}
	if strings.HasPrefix(s[to:], " code") {
		to += len(" code")
	}
	i := said(s, 0, to)
	if i < 0 {
		i = assignedValue(s, from, to)
	}
	if i < 0 {
		i = indexedValue(s, from, to)
	}
	if i < 0 {
		return span{}
	}
	if name := s[from:to]; name != strings.ToUpper(name) && name[1:] != strings.ToLower(name[1:]) {
		return span{} // CVc
	}
	i = openingQuote(s, i)
	end := skipBytes(s, i, &digit)
	for n := 0; n < 2 && byteAt(s, end) == '-' && digit[byteAt(s, end+1)]; n++ { // 144-156-117
		end = skipBytes(s, end+1, &digit)
	}
	if n := end - i - strings.Count(s[i:end], "-"); n < 3 || n < 4 && to-from > 3 || n > 9 || word[byteAt(s, end)] || byteAt(s, end) == '.' && digit[byteAt(s, end+1)] {
		return span{}
	}
	return span{i, end}
}
