package redact

import "strings"

// A sqlForm is a clause of SQL with a password in quotes.
type sqlForm struct {
	words string // in lower case
	then  string // before the password; empty if it comes next
}

var sqlForms = []sqlForm{
	{words: "identified by "}, {words: "identified by values "}, {words: "identified with ", then: " by "}, {words: "identified with ", then: " as "}, {words: "using password "},
	{words: "with password "}, {words: "encrypted password "}, {words: "set password for ", then: "= "}, {words: "set password for ", then: "=password("}, {words: "set password for ", then: "= password("},
}

// find finds the password of the clause.
func (f sqlForm) find(s string, _, to int) span {
	i := to
	if f.then != "" {
		line, _, _ := strings.Cut(s[to:min(len(s), to+96)], "\n")
		n := strings.Index(strings.ToLower(line), f.then)
		if n < 0 || strings.IndexByte(line[:n], ';') >= 0 {
			return span{}
		}
		i += n + len(f.then)
	}
	v, ok := quotedAt(s[:min(len(s), i+enoughBytes)], i)
	if !ok {
		if f.words != "identified by " || s[to-3:to] != "BY " {
			return span{}
		}
		return spokenWord(s, i, false) // of Oracle
	}
	text := s[v.from:max(v.from, v.to)]
	double := byteAt(s, v.to) != '\'' // of a name, in most dialects
	if text == Mark || text != "" && !isVariable(text) && !isTemplate(text) && (!double || unlikeWords(text)) {
		return span{v.from, v.to}
	}
	return span{}
}

// rowPassword finds the password in INSERT INTO users (name, password) VALUES
// ('bob', 'X'), by the column of the name s[from:end].
func rowPassword(s string, from, end int) span {
	start := max(0, from-enoughBytes)
	open := start + strings.LastIndexByte(s[start:from], '(')
	if open < start || !strings.Contains(strings.ToLower(s[max(0, open-96):open]), "insert into") {
		return span{}
	}
	column := strings.Count(s[open:from], ",")
	rest := s[end:min(len(s), end+enoughBytes)]
	n := strings.Index(strings.ToLower(rest), "values")
	if n < 0 || strings.IndexByte(rest[:n], ')') < 0 || strings.Contains(rest[:n], ";") {
		return span{}
	}
	i := strings.IndexByte(rest[n:], '(')
	if i < 0 {
		return span{}
	}
	text := s[:min(len(s), end+2*enoughBytes)]
	for i += end + n + 1; column > 0 && i > 0; column-- {
		i = nextInCall(text, i)
	}
	if i < 0 {
		return span{}
	}
	v, ok := quotedAt(text, skipToValue(text, i))
	if value := text[v.from:max(v.from, v.to)]; !ok || value != Mark && !isLiteral(value) {
		return span{}
	}
	return span{v.from, v.to}
}
