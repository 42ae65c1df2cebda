package summarize

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
)

// maxRules limits the rules of one message.
const maxRules = 12

// scanRules records the sentences of a person that say what must or must not be.
func (w *messageScanner) scanRules(body string) {
	taken := 0
	for s := range sentences(body) {
		if taken == maxRules {
			return
		}
		low := paddedLower(clip.Bytes(s, 4*sentenceLen))
		if !statesRule(low) || citesOthers(low) || strings.HasSuffix(s, "?") {
			continue
		}
		n := w.addItem(rule, clipLine(s, sentenceLen))
		n.weight, n.end, n.passing = 1, "", isForNow(low)
		w.mergeRule(n)
		taken++
	}
}

// asksOnly reports whether a padded rule says that the user wants an answer and nothing
// else: it ends with the turn.
func asksOnly(s string) bool {
	return !containsAny(s, " from now on ", " always ", " never ") &&
		containsAny(s, " just let me know ", " only let me know ", " just tell me ", " only tell me ", " just answer ", " only answer ", " just explain ", " just want to know ", " just checking ", " sag mir nur ", " nur eine frage ", " juste une question ", " solo dime ")
}

// isForNow reports whether a padded rule holds until the user wants more than an answer.
func isForNow(s string) bool {
	if asksOnly(s) {
		return true
	}
	for _, not := range []string{" don't ", " do not ", " dont "} {
		if _, rest, ok := strings.Cut(s, not); ok {
			for _, doing := range []string{"change", "edit", "modify", "touch", "write", "implement", "do", "fix", "start", "code", "run", "apply"} {
				if strings.HasPrefix(rest, doing+" anything ") || strings.HasPrefix(rest, doing+" any code ") || strings.HasPrefix(rest, doing+" any files ") || strings.HasPrefix(rest, doing+" the code ") {
					return true
				}
			}
		}
	}
	return false
}

// endTurnRules drops the rules that ended with a turn: those that asked for an answer, and
// those that forbade all changes until one was wanted.
func (w *messageScanner) endTurnRules() {
	w.rules = slices.DeleteFunc(w.rules, func(n *summaryItem) bool {
		if n.passing && (asksOnly(paddedLower(n.text)) || n.last < w.turn.begin && n.last < w.turn.changed) {
			n.weight = -1
		}
		return n.weight < 0
	})
}

// maxFollowed limits the rules that later ones may replace.
const maxFollowed = 64

// mergeRule adds a rule to those that later ones may replace, and drops each that says
// the same in fewer or other words. If an earlier one says more, it stays instead.
func (w *messageScanner) mergeRule(n *summaryItem) {
	low := paddedLower(n.text)
	for _, old := range w.rules {
		if old == n || old.weight < 0 || old.end != "" && old.end != n.text || !saysSameRule(paddedLower(old.text), low) {
			continue
		}
		if len(old.text) > len(n.text) && old.end == "" && old.passing == n.passing {
			n.weight = -1
			old.last, old.id, old.times = n.last, n.id, old.times+1
			return
		}
		old.weight = -1
	}
	w.rules = slices.DeleteFunc(w.rules, func(x *summaryItem) bool { return x == n || x.weight < 0 })
	w.rules = append(w.rules[max(0, len(w.rules)-maxFollowed+1):], n)
}

// saysSameRule reports whether all that one padded rule is about is in the other one, and
// both forbid or both demand.
func saysSameRule(a, b string) bool {
	if forbids(a) != forbids(b) {
		return false
	}
	of := topicWords(a)
	in := topicWords(b)
	if len(of) > len(in) {
		of, in = in, of
	}
	return len(of) >= 2 && !slices.ContainsFunc(of, func(w string) bool { return !slices.Contains(in, w) }) && len(in) <= 2*len(of)
}

// forbids reports whether a padded rule says what must not be.
func forbids(s string) bool {
	return containsAny(s, " never ", " don't ", " do not ", " dont ", " not ", " no ", " mustn't ", " cannot ", " can't ", " shouldn't ", " avoid ", " forbidden ", " without ", " nie ", " niemals ", " nicht ", " kein ", " keine ", " jamais ", " ne ", " nunca ")
}

// topicWords returns the words of a padded text that say what it is about, with numbers
// and short names.
func topicWords(s string) (words []string) {
	for w := range strings.FieldsSeq(s) {
		if isTopic(w) || strings.ContainsAny(w, "0123456789") || strings.Contains(w, "_") {
			words = appendNew(words, w)
		}
	}
	return words
}
