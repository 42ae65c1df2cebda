package redact

import "strings"

// skipOperator returns the index after the colon, the equals sign or the operator
// with one of them at i; -1 if there is none.
func skipOperator(s string, i int) int {
	if c := byteAt(s, i); (c == '!' || c == '?') && byteAt(s, i+1) == '=' {
		i++
	}
	for _, wide := range []string{"：", "＝", "%3D", "%3d", "%3A", "%3a"} { // of Chinese and Japanese; in URLs
		if strings.HasPrefix(s[i:], wide) {
			return i + len(wide)
		}
	}
	j := i
	for j < i+3 && strings.IndexByte(":=", byteAt(s, j)) >= 0 && j < len(s) {
		j++
	}
	if j == i {
		return -1
	}
	if byteAt(s, j) == '>' && s[j-1] == '=' {
		j++
	}
	return j
}

// assignedValue is name = value, and name: value.
func assignedValue(s string, _, end int) int {
	j := skipOperator(s, skipBlanks(s, end))
	if j < 0 {
		return -1
	}
	if strings.HasPrefix(s[j:], "** ") || strings.HasPrefix(s[j:], "__ ") { // **name:** value, in Markdown
		j += 2
	}
	j = skipBlanks(s, j)
	if byteAt(s, j) == '\\' && skipNewline(s, j+1) > j+1 {
		j = skipMargin(s, skipNewline(s, j+1))
	}
	if j < len(s) && space[s[j]] {
		return -1
	}
	return j
}

// assignedBelow is assignedValue for lines that end before the value, or before the
// operator.
func assignedBelow(s string, end int) int {
	j := skipOperator(s, skipBytes(s, end, &space))
	if j < 0 {
		return -1
	}
	k := skipBytes(s, j, &space)
	if strings.IndexByte(s[j:k], '\n') >= 0 {
		if m := skipMargin(s, k); m < len(s) && !space[s[m]] {
			k = m
		}
	}
	if k < len(s) && !space[s[k]] {
		return k
	}
	return -1
}

// indexedValue is "name": value, ["name"] = value and 'name' => value.
func indexedValue(s string, _, end int) int {
	j := openingQuote(s, end)
	if j == end {
		return -1
	}
	if byteAt(s, j) == ']' {
		j++
	}
	if j = skipOperator(s, skipBlanks(s, j)); j < 0 {
		return -1
	}
	return skipToValue(s, j)
}

// typedValue is name type = "value".
func typedValue(s string, _, end int) int {
	j := skipBlanks(s, end)
	if byteAt(s, j) == ':' {
		j = skipBlanks(s, j+1)
	}
	k := skipAtMost(s, j, 48, &dotted)
	if j == end || k == j || k > j+40 {
		return -1
	}
	k = skipBlanks(s, k)
	if byteAt(s, k) != '=' || byteAt(s, k+1) == '=' {
		return -1
	}
	if k = skipBlanks(s, k+1); openingQuote(s, k) == k {
		return -1
	}
	return k
}

var dimensions = newByteSet(digits + "[]")

// types are the bytes of a type before an equals sign.
var types = newByteSet(letters + digits + "_.:&<>[]' ")

// declared is name: &type = "value" and name = Some("value"), as in Rust: the text
// in the quotes, after any type or constructor.
func declared(s string, end int) int {
	j, special := skipBlanks(s, end), false
	if k := skipAtMost(s, j, 8, &dimensions); k > j && byteAt(s, j) == '[' { // char name[32] = "value"
		j, special = skipBlanks(s, k), true
	}
	if byteAt(s, j) == ':' {
		k := skipAtMost(s, j+1, 48, &types)
		special = strings.ContainsAny(s[j:k], "&<")
		if byteAt(s, k) != '=' {
			k = j
		}
		j = k
	}
	if strings.HasPrefix(s[j:], "<- ") { // of R
		j, special = j+1, true
	} else if c := byteAt(s, j); c != '=' && c != ':' || byteAt(s, j+1) == '=' || byteAt(s, j+1) == '>' {
		return -1
	}
	k := skipBlanks(s, j+1)
	for _, constructor := range []string{"String::from(", "Some(", "Ok(", "Arc::from(", "Box::from(", "new String(", "String(", "SecretStr(", "SecretString(", "SecretString::new(", "SecretString::from(", "Secret(", "Secret::new(", "SecureString(", "Password(", "MD5(", "md5(", "SHA1(", "sha1(", "SHA2(", "PASSWORD(", "crypt(", "hash(", "b64encode("} {
		if strings.HasPrefix(s[k:], constructor) {
			k, special = k+len(constructor), true
		}
	}
	if !special || openingQuote(s, k) == k {
		return -1
	}
	return k
}

// retypedValue returns the place of the value after v, if v is a type: name: type =
// value. It returns 0 if there is none.
func retypedValue(s string, v valueExtent) int {
	k := skipBlanks(s, v.to)
	if v.quoted || byteAt(s, k) != '=' || byteAt(s, k+1) == '=' || byteAt(s, k+1) == '>' || v.to-v.from > 64 {
		return 0
	}
	if k = skipBlanks(s, k+1); k < len(s) && !space[s[k]] {
		return k
	}
	return 0
}

// flagValue is --name value.
func flagValue(s string, from, end int) int {
	if start := skipBack(s, from, &dashed); byteAt(s, start) != '-' && byteAt(s, start-1) != '-' {
		return -1
	}
	j := skipBlanks(s, end)
	if byteAt(s, j) == '\\' && skipNewline(s, j+1) > j+1 {
		j = skipMargin(s, skipNewline(s, j+1))
	}
	if j == end || j >= len(s) || space[s[j]] || s[j] == '-' {
		return -1
	}
	return j
}

// argumentOf finds the value of --name value if it is a word of letters alone, and
// not followed by the rest of a sentence or a help text.
func argumentOf(s string, from, end int) span {
	if !blank[byteAt(s, end)] || from == 0 || !dashed[s[from-1]] || byteAt(s, skipBlanks(s, end)) == '-' {
		return span{}
	}
	i := flagValue(s, from, end)
	if i < 0 || !letterBytes[s[i]] && !quotes[s[i]] {
		return span{}
	}
	v := valueAt(s[:min(len(s), i+enoughBytes)], i)
	text := s[v.from:max(v.from, v.to)]
	if isNoArgument(text) || skipBytes(text, 0, &letterBytes) < len(text) {
		return span{}
	}
	next := skipBlanks(s, v.after)
	word, _, _ := strings.Cut(s[next:min(len(s), next+32)], " ")
	if word == "" || strings.IndexByte("\r\n-|;&<>\\\"'`", word[0]) >= 0 || strings.Contains(word, "://") {
		return span{v.from, v.to}
	}
	return span{}
}

// listedValue is "name", "value", in a list or a call.
func listedValue(s string, from, end int) int {
	j := openingQuote(s, end)
	if j == end || byteAt(s, j) != ',' {
		return -1
	}
	if j = skipToValue(s, j+1); openingQuote(s, j) == j {
		return -1
	}
	if from == 0 || !alnum[s[from-1]] {
		return j
	}
	if v, ok := quotedAt(s[:min(len(s), j+widest)], j); ok && v.to-v.from > len("token") && strings.EqualFold(s[v.to-len("token"):v.to], s[from:end]) { // a.tiktoken, b.tiktoken
		return -1
	}
	return j
}

// comparedValue is expect(name).toBe("value"), name.equals("value"), and the like.
func comparedValue(s string, _, end int) int {
	j := end
	if c := byteAt(s, j); c != '.' && c != '(' && c != ')' {
		return -1
	}
	for range 2 {
		if byteAt(s, j) == '(' && byteAt(s, j+1) == ')' {
			j += 2
		}
		if byteAt(s, j) == ')' {
			j++
		}
	}
	for _, call := range []string{".toBe(", ".toEqual(", ".toStrictEqual(", ".equals(", ".equalsIgnoreCase(", ".strip() == ", ".trim() === ", ".isEqualTo(", ".to_eq(", ".to eq("} {
		if strings.HasPrefix(s[j:], call) && openingQuote(s, j+len(call)) > j+len(call) {
			return j + len(call)
		}
	}
	return -1
}

// passedValue is call("name", "value"), with nothing else in it.
func passedValue(s string, from, end int) int {
	i := listedValue(s, from, end)
	if i < 0 || byteAt(s, skipBack(s, skipBack(s, from, &selectorBytes), &quotes)-1) != '(' {
		return -1
	}
	if v, ok := quotedAt(s[:min(len(s), i+widest)], i); !ok || byteAt(s, v.after) != ')' {
		return -1
	}
	return i
}

// selectorBytes are the bytes of a name, and of the selector of an element.
var selectorBytes = newByteSet(letters + digits + "_-.#[]=")

// calledValue is name("value").
func calledValue(s string, _, end int) int {
	if byteAt(s, end) == '(' && openingQuote(s, end+1) > end+1 {
		return end + 1
	}
	return -1
}

// pairedValue is name: the-name, value: value, as in Kubernetes and HAR files.
func pairedValue(s string, _, end int) int {
	j := openingQuote(s, end)
	j = skipBlanks(s, j)
	if byteAt(s, j) == ',' {
		j++
	}
	if j = openingQuote(s, skipToValue(s, j)); j == end || !strings.HasPrefix(s[j:], "value") {
		return -1
	}
	j += len("value")
	if j = skipOperator(s, skipBlanks(s, openingQuote(s, j))); j < 0 {
		return -1
	}
	return skipBlanks(s, j)
}

// encodedValue is name 7 value, with the number of an encoding, as in the settings
// of routers.
func encodedValue(s string, _, end int) int {
	if byteAt(s, end) == ' ' && strings.IndexByte("045789", byteAt(s, end+1)) >= 0 && byteAt(s, end+2) == ' ' {
		return end + 3
	}
	return -1
}

// netrcValue is login a password value.
func netrcValue(s string, from, end int) int {
	before := s[max(0, from-128):from]
	if byteAt(s, end) != ' ' || !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "\n") || !strings.Contains(before, "login ") {
		return -1
	}
	return skipBlanks(s, end)
}

// besideName is the text next to a name with only marks between, as in tables,
// prose and the commands of shells.
func besideName(s string, _, end int) int {
	j := skipAtMost(s, end, 24, &markBytes)
	for _, sign := range []string{"→", "—", "–", "➜", "⇒", ">"} {
		if strings.HasPrefix(s[j:], sign) && (sign != ">" || j > end && (s[j-1] == '-' || s[j-1] == '=')) {
			j = skipBlanks(s, j+len(sign))
		}
	}
	for _, scheme := range []string{"ApiKey ", "Token ", "token "} {
		if strings.HasPrefix(s[j:], scheme) {
			j += len(scheme)
		}
	}
	if j > end && quotes[s[j-1]] {
		j--
	}
	if j == end && byteAt(s, j) >= 0x80 {
		if v, ok := typographicAt(s, j); ok && v.from > j { // パスワード「X」
			return j
		}
	}
	if j == end || j >= len(s) || space[s[j]] || strings.Trim(s[end:j], "\"'`") == "" || strings.Contains(s[end:j], "||") {
		return -1
	}
	if s[j] == '`' && strings.HasPrefix(s[skipBytes(s, j+1, &word):], `:"`) { // the tag of a field
		return -1
	}
	if n := skipBytes(s, j, &dashed); n > j && byteAt(s, n) == '=' && openingQuote(s, end) > end { // the next attribute of an element
		return -1
	}
	return j
}

var markBytes = newByteSet(" \t*|-:=_\"'`")

// skipYAMLLabel returns the beginning of the value after the tag or anchor of YAML
// at i; i if there is none.
func skipYAMLLabel(s string, i int) int {
	if c := byteAt(s, i); c != '!' && c != '&' {
		return i
	}
	tag := i + 1
	if byteAt(s, i) == '!' && byteAt(s, tag) == '!' {
		tag++
	}
	j := skipAtMost(s, tag, 48, &dashed)
	if next := skipBlanks(s, j); j > i+1 && next > j && next < len(s) && !space[s[next]] {
		return next
	}
	return i
}

// yamlBlockEnd returns the end of the block of lines that a YAML scalar at i, | or
// >, announces; i if there is none.
func yamlBlockEnd(s string, name, i int) int {
	if c := byteAt(s, i); c != '|' && c != '>' {
		return i
	}
	j := i + 1
	for j < len(s) && j < i+3 && strings.IndexByte("+-123456789", s[j]) >= 0 {
		j++
	}
	line := skipNewline(s, skipBlanks(s, j))
	if line <= j {
		return i
	}
	column := indentColumn(s, lineStart(s, name))
	end := i
	for line < len(s) {
		stop := len(s)
		if n := strings.IndexByte(s[line:], '\n'); n >= 0 {
			stop = line + n
		}
		if text := strings.TrimSpace(s[line:stop]); text != "" && indentColumn(s, line) <= column {
			break
		} else if text != "" {
			end = stop
		}
		line = stop + 1
	}
	if end > i && s[end-1] == '\r' {
		end--
	}
	return end
}

// indentColumn returns the column of the first text on the line at i.
func indentColumn(s string, i int) int { return skipMargin(s, i) - i }

// yamlFoldedEnd returns the end of a value that ends its line at i and continues on
// the next, like a plain scalar of YAML: indented more than its name or, within a
// scalar, by the same amount, and one word that looks random. Otherwise it returns
// i.
func yamlFoldedEnd(s string, name, i int) int {
	k := skipNewline(s, i)
	if k == i {
		return i
	}
	j := skipMargin(s, k)
	start := lineStart(s, name)
	first := skipMargin(s, start) >= skipBack(s, name, &dashed)
	if deeper := j - k - indentColumn(s, start); deeper < 0 || deeper == 0 && (first || j == k) {
		return i
	}
	end := skipBytes(s, j, &base64s)
	if end < len(s) && skipNewline(s, end) == end && s[end] != ';' || end < j+8 || !looksRandom(s[j:end]) {
		return i
	}
	return end
}
