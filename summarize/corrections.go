package summarize

import "strings"

// corrects reports whether a padded text of a person takes back or changes what was
// said before.
func corrects(s string) bool {
	for _, head := range []string{" no ", " nope ", " stop ", " wait ", " sorry ", " actually ", " correction ", " scratch that ", " never mind ", " nevermind ", " forget ", " instead ", " on second thought ", " hold on ", " nein ", " halt ", " non ", " no eso ", " not like ",
		" não ", " espera ", " perdón ", " mejor ", " melhor ", " attends ", " pardon ", " plutôt ", " warte ", " stopp ", " doch nicht ", " lieber ", " anzi ", " aspetta ", " нет ", " стой ", " nee ", " wacht "} {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return containsAny(s, " i was wrong ", " my mistake ", " i meant ", " changed my mind ", " i take back ", " i take that back ", " scratch that ", " not what i ", " that's wrong ", " that is wrong ", " that was wrong ", " instead of that ", " undo that ", " revert that ", " never mind ", " ich meinte ", " das war falsch ", " je voulais dire ", " me equivoqué ", " me enganei ", " mi sono sbagliato ", " я ошибся ", "やっぱり", "間違え", "違います", "不对", "错了", "改成", "아니라", "잘못") || retracts(s)
}

// retracts reports whether a padded sentence says that a rule does not hold any more.
func retracts(s string) bool {
	return strings.Contains(s, " you may ") && !strings.Contains(s, " you may not ") || containsAny(s, " no longer ", " not any more ", " not anymore ", " any more ", " anymore ", " forget the rule ", " forget what i said ", " forget about ", " ignore what i said ", " drop the rule ", " drop that rule ", " rule is off ", " is off the table ", " doesn't apply ", " does not apply ", " you may now ", " you can now ", " it's ok to ", " it is ok to ", " it's fine to ", " it is fine to ", " not needed after all ", " after all ", " scrap the rule ", " scrap that rule ", " ignore the rule ", " ignore that rule ", " skip that rule ", " is fine now ", " is ok now ", " is okay now ", " is allowed now ", " are allowed now ", " are fine now ", " is void ", " is obsolete ", " is lifted ", " lifted the ", " lift the ", " withdrawn ", " can be ignored ",
		" gilt nicht mehr ", " nicht mehr ", " aufgehoben ", " ne s'applique plus ", " n'est plus ", " ya no ", " não vale mais ", " já não ", " esqueça ", " olvida ", " non vale più ", " non serve più ", " больше не ", " отменяется ", " отменено ", " już nie ", " niet meer ", " artık ", "不要です", "不要になり", "撤回", "なくなりました", "不再", "取消", "作废", "더 이상", "취소")
}

// sharedWords returns how many words two padded texts share, common ones left out.
func sharedWords(a, b string) (n int) {
	words := make(map[string]bool)
	for w := range wordTokens(a) {
		if isTopic(w.text) {
			words[stem(w.text)] = true
		}
	}
	for w := range wordTokens(b) {
		if s := stem(w.text); isTopic(w.text) && words[s] {
			words[s] = false
			n++
		}
	}
	return n
}

// isTopic reports whether a word says what a sentence is about.
func isTopic(w string) bool {
	switch w {
	case "must", "never", "always", "should", "cannot", "don't", "this", "that", "these", "those", "with", "from", "into", "have", "been", "were", "will", "when", "then", "than", "them", "they", "what", "which", "your", "before", "after", "only", "also", "make", "sure", "please", "every", "there", "longer":
		return false
	}
	return len(w) >= 4
}

// stem returns the beginning of a word: files and filed are about a file.
func stem(w string) string { return w[:min(len(w), 5)] }

// correctedLater marks rules that a person's words take back or change: what corrects
// is shown beside what it corrects.
func (w *messageScanner) correctedLater(body string) {
	if whole := paddedLower(body); len(body) < remarkLen && corrects(whole) {
		w.markChanged(whole, body)
	}
	for s := range sentences(body) {
		w.markChanged(paddedLower(s), s)
	}
}

// markChanged marks the rules that a text in lower case takes back or changes.
func (w *messageScanner) markChanged(low, text string) {
	taken, fixes := retracts(low), corrects(low)
	if !taken && !fixes {
		return
	}
	for _, n := range w.itemsOfKind(rule) {
		shared := sharedWords(paddedLower(n.text), low)
		if n.last < w.index && (shared >= 2 || taken && shared >= 1) {
			n.end = clipLine(text, sentenceLen)
			n.last, n.id = w.index, w.id
		}
	}
}
