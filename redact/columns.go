package redact

import "strings"

// In a table, the head of a column names its values, rows away: in Markdown, CSV,
// and the output of databases.

// columnNames are parts of the names of passwords that hardly another word has.
var columnNames = [...]string{"assw", "ASSW"}

// markColumns puts marks in place of the passwords in the columns of tables.
func markColumns(s string, seen func(string)) string {
	e := markEditor{text: s, seen: seen}
	var at [len(columnNames)]int // the next place of each, len(s) if there is none
	for k := range at {
		at[k] = indexFrom(s, columnNames[k], 0)
	}
	for i := 0; ; {
		for k := range at {
			if at[k] < i {
				at[k] = indexFrom(s, columnNames[k], i)
			}
		}
		next := min(at[0], at[1])
		if next == len(s) {
			return e.resultText()
		}
		i = e.markRows(i + strings.LastIndexByte(s[i:next], '\n') + 1)
	}
}

// indexFrom returns the index of part in s from i on, len(s) if there is none.
func indexFrom(s, part string, i int) int {
	if n := strings.Index(s[i:], part); n >= 0 {
		return i + n
	}
	return len(s)
}

// markRows marks the passwords below the line at start if it is the head of a
// table, and returns where the text after it begins.
func (e *markEditor) markRows(start int) int {
	head, after := lineAt(e.text, start)
	added := 0 // bytes before the lines of a diff
	if head != "" && (head[0] == '+' || head[0] == '-') {
		added = 1
	}
	sign, column := passwordColumn(head[added:])
	if column < 0 {
		return after
	}
	number := strings.Count(head, sign)
	for first := true; after < len(e.text); first = false {
		line, next := lineAt(e.text, min(after+added, len(e.text)))
		ruled := skipBytes(line, 0, &ruleBytes) == len(line) && line != ""
		if sign == "" && first && !ruled || !ruled && (strings.TrimSpace(line) == "" || sign != "" && strings.Count(line, sign) != number) {
			break
		}
		if from, to := cellOf(line, sign, column); !ruled && isColumnValue(line[from:to]) {
			e.markSpan(span{after + added + from, after + added + to})
		}
		after = next
	}
	return after
}

var (
	cellEnds   = newByteSet(" \"'`*")
	columnEnds = newByteSet("|,;\t\r\n") // after the head of a column
)

// ruleBytes are the bytes of a line between the head and the rows.
var ruleBytes = newByteSet("-+|:= \t\r")

// lineAt returns the line at i, at most 1024 bytes of it, and where the next begins.
func lineAt(s string, i int) (line string, next int) {
	n := strings.IndexByte(s[i:], '\n')
	if n < 0 {
		return s[i:min(len(s), i+1024)], len(s)
	}
	return s[i:min(i+n, i+1024)], i + n + 1
}

// passwordColumn returns the sign between the columns of the head of a table, and
// the index of the column of passwords; -1 if the line is not such a head.
func passwordColumn(head string) (sign string, column int) {
	for _, sign := range []string{"|", "\t", ";", ","} {
		if !strings.Contains(head, sign) {
			continue
		}
		column = -1
		for i, rest, more := 0, head, true; more; i++ {
			var cell string
			cell, rest, more = strings.Cut(rest, sign)
			name := strings.Trim(cell, cellSigns)
			if len(name) > 32 || skipBytes(name, 0, &headBytes) < len(name) || sign != "|" && strings.IndexByte(cell, ' ') >= 0 {
				return "", -1
			}
			if isPasswordName(name) {
				column = i
			}
		}
		return sign, column
	}
	if isPasswordName(strings.Trim(head, cellSigns)) {
		return "", 0
	}
	return "", -1
}

// cellSigns are around the text of a cell.
const cellSigns = " \t\r\"'`*"

var headBytes = newByteSet(letters + digits + "_-. ")

// isPasswordName reports whether the head of a column names passwords.
func isPasswordName(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, "password") || strings.HasSuffix(lower, "passwd") || strings.HasSuffix(lower, "passwort")
}

// cellOf returns the text of a cell of a row, without the signs around it.
func cellOf(line, sign string, column int) (from, to int) {
	to = len(line)
	if sign != "" {
		for ; column > 0; column-- {
			from += strings.Index(line[from:], sign) + len(sign)
		}
		if n := strings.Index(line[from:], sign); n >= 0 {
			to = from + n
		}
	}
	from += len(line[from:to]) - len(strings.TrimLeft(line[from:to], cellSigns))
	return from, from + len(strings.TrimRight(line[from:to], cellSigns))
}

// isColumnValue reports whether a cell is a password, not a description of one.
func isColumnValue(text string) bool {
	return len(text) >= 5 && !strings.ContainsAny(text, " \t") && !isPlaceholder(text) && !isTemplate(text) && !technical(text) && expressionKind(text) == 0 && unlikeWords(text)
}
