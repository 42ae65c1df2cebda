package logline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is a word of trouble, in lower case.
type word struct {
	text string
	kind Kind // Error, or Trouble if it decides nothing unless counted, or followed by a colon
}

// words of trouble, in the languages of tools. An entry may be the beginning of a
// word; words inside a name ("error_handler", "errors.go") do not count.
var words = parseWords(Error, `fatal|fatal error|panic:|panicked|failed|failing|failure|failures|fail|fails|traceback (most recent|rejected|denied|aborted
segmentation fault|core dumped|bus error|illegal instruction|out of memory|outofmemoryerror|oom-kill|oomkilled|oom killed|cannot allocate memory|sigkill|sigsegv|sigabrt|signal: killed|stack overflow
both modified:|both added:|both deleted:|deleted by us:|deleted by them:|added by us:|added by them:|merge conflict|unmerged paths|undefined:|undefined reference|undefined symbol|undefined method|undefined variable|undeclared
command not found|no such file or directory|connection refused|no space left|unresolved import|cannot find symbol|cannot find module|cannot find package|cannot find name|module not found|err!|make: ***
fehlgeschlagen|fehlschlag|gescheitert|verweigert|abgelehnt|zurückgewiesen|konflikt|schwerwiegend|speicherzugriffsfehler|kann nicht gefunden werden
échec|échecs|échoué|échouée|échoués|échouent|refusé|refusée|rejeté|conflit|erreur de segmentation|introuvable
fallo|fallos|falló|fallido|fallida|fallaron|denegado|denegada|rechazado|rechazada|conflicto|violación de segmento
falha|falhas|falhou|falharam|negado|negada|rejeitado|rejeitada|conflito|falha de segmentação
fallito|fallita|falliti|negato|rifiutato|conflitto|mislukt|geweigerd
失败|失敗|拒绝|拒絕|拒否|冲突|衝突|競合|致命|段错误|段錯誤|已杀死|已终止|セグメンテーション違反|強制終了|실패|거부|충돌
не удалось|сбой|отказано|отклонено|конфликт|ошибка сегментирования|провал`,
	Trouble, `error|errors|exception|exceptions|undefined|unresolved|cannot|can't|could not|couldn't|unable to|not found|no such|missing|invalid|unknown|unexpected|expected|assert|assertion|mismatch|warning|warn|refused|forbidden|unauthorized|unreachable|timed out|timeout|deadlock|crashed|conflict|conflicts|deprecated|traceback|not permitted
fehler|ausnahme|warnung|erwartet|nicht gefunden|unbekannt|ungültig|erreur|erreurs|exception|avertissement|attendu|inconnu
errores|advertencia|esperado|esperaba|no encontrado|no se encontró|erro|erros|aviso|não encontrado|errore|errori|fout|waarschuwing
错误|錯誤|异常|異常|警告|找不到|未找到|エラー|例外|見つかりません|期待|오류|예외|경고|ошибка|ошибки|ошибок|предупреждение`)

// parseWords returns words by their first byte, the longest first because it is the
// most specific.
func parseWords(kindsAndLists ...any) (table [256][]word) {
	for i := 0; i < len(kindsAndLists); i += 2 {
		kind, list := kindsAndLists[i].(Kind), kindsAndLists[i+1].(string)
		for line := range strings.SplitSeq(list, "\n") {
			for w := range strings.SplitSeq(line, "|") {
				table[w[0]] = insertByLength(table[w[0]], word{w, kind})
			}
		}
	}
	return table
}

func insertByLength(list []word, w word) []word {
	at := 0
	for at < len(list) && len(list[at].text) >= len(w.text) {
		at++
	}
	list = append(list, word{})
	copy(list[at+1:], list[at:])
	list[at] = w
	return list
}

// heads begin a line that is an error, as they are written.
var heads = []string{"CONFLICT", "FAIL", "E   ", "error", "Error", "ERROR", "[ERROR", "[error", "ERR!", "npm ERR", "npm error", "Traceback", "Exception in", "Caused by:", "Uncaught", "Unhandled",
	"Fehler:", "Erreur", "Erro:", "Errore:", "错误", "錯誤", "エラー", "오류", "Ошибка", "! [", "E: ", "Killed", "Aborted", "Getötet", "Tué", "Matado", "Morto", "Ucciso", "Убито"}

// kindByWords returns the kind of a line by its words.
func kindByWords(line string) Kind {
	low := lowerSameLength(line)
	if kind := kindByExitCode(low); kind != Plain {
		return kind
	}
	found, denied := Plain, false
	for at := 0; at < len(low); {
		w, ok := matchWordAt(low, at)
		if !ok {
			at++
			continue
		}
		end := at + len(w.text)
		switch kind := weighWord(line, low, w, at, end); kind {
		case Success:
			denied = true
		default:
			found = max(found, kind)
		}
		at = end
	}
	if found < Error && !denied && hasErrorHead(line) {
		return Error
	}
	if found == Plain && denied {
		return Success
	}
	return found
}

// lowerSameLength returns line in lower case with the same length in bytes: a
// letter whose lower case has another length stays.
func lowerSameLength(line string) string {
	return strings.Map(func(r rune) rune {
		if l := unicode.ToLower(r); utf8.RuneLen(l) == utf8.RuneLen(r) {
			return l
		}
		return r
	}, line)
}

func matchWordAt(low string, at int) (word, bool) {
	for _, w := range words[low[at]] {
		if strings.HasPrefix(low[at:], w.text) && isWholeWord(low, at, at+len(w.text)) {
			return w, true
		}
	}
	return word{}, false
}

// isWholeWord reports whether low[at:end] is a whole word, not part of a name or
// path. Scripts without spaces have no bounds.
func isWholeWord(low string, at, end int) bool {
	if r, _ := utf8.DecodeRuneInString(low[at:]); r >= 0x2e80 {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(low[:at])
	if at > 0 && (isLetter(before) || strings.ContainsRune("_-./\\$@#", before) && !(before == '-' && at > 1 && low[at-2] == ' ') && !(before == '.' && at > 1 && low[at-2] == '.')) {
		return endsErrorName(low, at, end)
	}
	if end == len(low) || !wordByte(low[end-1]) {
		return true
	}
	after, size := utf8.DecodeRuneInString(low[end:])
	switch {
	case isLetter(after) || after == '_' || after == '-' || after == '/' || after == '\\' || after == '(' && !strings.HasPrefix(low[end:], "(s)"):
		return false
	case after == '.' && end+size < len(low):
		next, _ := utf8.DecodeRuneInString(low[end+size:])
		return !isLetter(next)
	}
	return true
}

func wordByte(c byte) bool { return c >= utf8.RuneSelf || c >= 'a' && c <= 'z' }

func isLetter(r rune) bool { return unicode.IsLetter(r) && r < 0x2e80 || r >= '0' && r <= '9' }

// endsErrorName reports whether low[at:end] ends the name of an error, as in
// "java.io.IOException:" and "TypeError: x".
func endsErrorName(low string, at, end int) bool {
	switch low[at:end] {
	case "error", "exception", "failure", "fault":
		return (end == len(low) || low[end] == ':') && isLetter(rune(low[at-1]))
	}
	return false
}

// weighWord returns the kind that a word of trouble indicates at its place: Success
// if its count is zero.
func weighWord(line, low string, w word, at, end int) Kind {
	before, counted := countBefore(low[:at])
	after, said := countAfter(low[end:])
	switch {
	case counted && before == 0, said && after == 0, isNegated(low[:at]):
		return Success
	case counted && isCountedWord(w.text), said && (low[end] == ':' || low[end] == '=' || isCountedWord(w.text)) && !strings.HasPrefix(w.text, "expected"):
		return max(w.kind, countKind(w.text))
	case w.text == "fail" || w.text == "fails":
		if line[at:end] == "FAIL" {
			return Error
		}
		return Trouble
	case isInCodeString(line[:at]):
		return Trouble
	case w.kind == Error:
		return Error
	case isErrorWord(w.text) && (strings.HasPrefix(low[end:], ":") || isErrorCode(low[end:]) || isLogLevel(line, low, at, end)):
		return Error
	case isErrorWord(w.text) && strings.HasSuffix(low[:at], ": ") && line[at:end] != low[at:end]:
		return Error
	case w.text == "conflict" && line[at:end] == "CONFLICT":
		return Error
	}
	return Trouble
}

func isErrorWord(w string) bool {
	switch w {
	case "error", "exception", "fehler", "erreur", "erro", "errore", "fout", "错误", "錯誤", "エラー", "오류", "ошибка":
		return true
	}
	return false
}

// isCountedWord reports whether tools count a word.
func isCountedWord(w string) bool {
	return isErrorWord(strings.TrimSuffix(w, "s")) || countKind(w) == Error
}

func countKind(w string) Kind {
	for _, stem := range []string{"fail", "error", "erro", "fehl", "erreur", "échec", "échou", "fall", "falh", "reject", "conflict", "失", "错", "錯", "エラ", "실패", "오류", "ошиб"} {
		if strings.HasPrefix(w, stem) {
			return Error
		}
	}
	return Trouble
}

// isErrorCode reports whether an error code follows a word of error: error TS2304:,
// error[E0308]:, error C2065:.
func isErrorCode(rest string) bool {
	rest = strings.TrimLeft(rest, " [")
	at := 0
	for at < len(rest) && at < 10 && (wordByte(rest[at]) || rest[at] >= '0' && rest[at] <= '9') {
		at++
	}
	return at > 1 && at < len(rest) && rest[at-1] >= '0' && rest[at-1] <= '9' && (rest[at] == ':' || rest[at] == ']')
}

// isInCodeString reports whether the word after before is in a string of source
// code, as in a diff or a search.
func isInCodeString(before string) bool {
	return strings.LastIndex(before, `("`) > strings.LastIndex(before, `")`) || strings.HasPrefix(before, "+\t") || strings.HasPrefix(before, "-\t")
}

// isLogLevel reports whether a word is the level of a log line.
func isLogLevel(line, low string, at, end int) bool {
	if strings.HasSuffix(low[:at], "level=") || strings.HasSuffix(strings.ReplaceAll(low[:at], " ", ""), `"level":"`) {
		return true
	}
	upper := line[at:end] == strings.ToUpper(line[at:end]) && line[at] < utf8.RuneSelf
	return upper && (at == 0 || line[at-1] == ' ' || line[at-1] == '[' || line[at-1] == '\t' || line[at-1] == '|')
}

// negations are before a word of trouble that reports none.
var negations = []string{"no", "not", "without", "zero", "never", "any", "kein", "keine", "keinen", "ohne", "nicht", "aucun", "aucune", "sans", "sin", "ningún", "ninguna", "ningun", "sem", "nenhum", "nenhuma", "nessun", "senza", "geen", "нет", "без", "xpass"}

func isNegated(before string) bool {
	before = strings.TrimRight(before, " \t")
	for _, n := range []string{"没有", "沒有", "无", "無", "未", "n't"} {
		if strings.HasSuffix(before, n) {
			return true
		}
	}
	last := before[strings.LastIndexAny(before, " \t(,;:")+1:]
	return slices.Contains(negations, last)
}

// countBefore returns the number before a word, as in "3 failed".
func countBefore(before string) (n int, ok bool) {
	before = strings.TrimRight(before, " \t*")
	before = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(before, "个"), "個"), " ")
	for _, between := range []string{" test", " tests", " unit", " new", " total", " compilation", " compile", " type", " lint"} {
		before = strings.TrimSuffix(before, between)
	}
	at := len(before)
	for at > 0 && before[at-1] >= '0' && before[at-1] <= '9' {
		at--
	}
	if at == len(before) || at > 0 && strings.IndexByte("._-:/#=", before[at-1]) >= 0 {
		return 0, false
	}
	return numberBefore(before[at:]), true
}

// countAfter returns the number after a word, as in "Failures: 3", "failed=0"; a
// word for none is 0.
func countAfter(after string) (n int, ok bool) {
	after = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(after, "(s)"), "s"), `"`)
	rest := strings.TrimLeft(after, " \t:=：")
	if rest == after && rest != "" || after == "" {
		for _, none := range []string{"はありません", "はない", "なし", "0", "無し"} {
			if strings.HasPrefix(after, none) && rest != "" {
				return 0, true
			}
		}
		return 0, false
	}
	for _, none := range []string{"(none)", "none", "null", "nil", "(empty)", "[]", "{}", `""`, "''", "false", "undefined", "keine", "aucun", "ningun", "nenhum", "なし", "无", "無"} {
		if tail, ok := strings.CutPrefix(rest, none); ok && (tail == "" || strings.IndexByte(" ,;.)}]\t", tail[0]) >= 0) {
			return 0, strings.ContainsAny(after[:len(after)-len(rest)], ":=：")
		}
	}
	at := 0
	for at < len(rest) && rest[at] >= '0' && rest[at] <= '9' {
		at++
	}
	if at == 0 || at < len(rest) && (wordByte(rest[at]) || rest[at] == '.' && at+1 < len(rest) && rest[at+1] >= '0' && rest[at+1] <= '9') {
		return 0, false
	}
	return numberBefore(rest[:at]), true
}

func numberBefore(digits string) int {
	n := 0
	for i := 0; i < len(digits) && n < 1<<30; i++ {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

// hasErrorHead reports whether line begins like an error and not like a name.
func hasErrorHead(line string) bool {
	for _, h := range heads {
		if rest, ok := strings.CutPrefix(line, h); ok {
			if rest == "" || !wordByte(h[len(h)-1]|0x20) {
				return true
			}
			r, _ := utf8.DecodeRuneInString(rest)
			return strings.ContainsRune(" :[!\t(]", r) && !strings.HasPrefix(rest, " (none)")
		}
	}
	at := strings.Index(line, " Killed")
	return at >= 0 && at > 0 && (line[at-1] >= '0' && line[at-1] <= '9' || line[at-1] == ':' || line[at-1] == ']')
}
