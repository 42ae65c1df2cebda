package summarize

import (
	"path"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
)

// scanDecisions records the user's decisions, and those with a reason.
func (w *messageScanner) scanDecisions(body string) {
	taken := 0
	for s := range sentences(body) {
		low := paddedLower(clip.Bytes(s, 4*sentenceLen))
		w.reverseDecisions(low, true)
		firm := decisionWeight(low) >= firmWeight || directs(low) && givesReason(low)
		if taken == maxRules || !firm || statesRule(low) || citesOthers(low) || strings.HasSuffix(s, "?") {
			continue
		}
		n := w.addItem(decision, clipLine(s, sentenceLen))
		n.weight, n.passing = max(n.weight, decisionWeight(low), userWeight), false
		w.followDecision(n)
		taken++
	}
}

// scanDecision records a sentence that decides something, and returns its weight. A
// question decides nothing.
func (w *messageScanner) scanDecision(s, low string) float64 {
	weight := decisionWeight(low)
	if weight < 1 || strings.HasSuffix(s, "?") || isCode(s) || callLine.MatchString(s) || weight < firmWeight && refersBack(low) {
		return weight
	}
	w.reverseDecisions(low, false)
	n := w.addItem(decision, clipLine(withoutExclamation(s), sentenceLen))
	n.weight, n.passing = max(n.weight, weight), isPassing(low)
	w.followDecision(n)
	return weight
}

// followDecision adds a decision to those that later messages may drop. The oldest of
// very many stay as they are.
func (w *messageScanner) followDecision(n *summaryItem) {
	if !slices.Contains(w.decided, n) {
		w.decided = append(w.decided[max(0, len(w.decided)-maxDecided+1):], n)
	}
}

// maxDecided limits the decisions that are followed.
const maxDecided = 64

// dropDecisions drops the followed decisions that drop reports.
func (w *messageScanner) dropDecisions(drop func(*summaryItem) bool) {
	w.decided = slices.DeleteFunc(w.decided, func(n *summaryItem) bool {
		if n.last == w.index || !drop(n) {
			return n.weight < 0
		}
		n.weight = -1
		return true
	})
}

// isPassing reports whether a padded sentence says how things are at the moment, or what
// is about to be done: after the change that it is about it is not true any more. A
// choice with its reason, or against an alternative, stays.
func isPassing(s string) bool {
	if statesChoice(s) && (givesReason(s) || containsAny(s, " instead of ", " rather than ", " statt ", " decided ", " decision ")) && !containsAny(s, " cause is ", " reason is ", " fix is ") {
		return false
	}
	return strings.HasPrefix(s, " now ") || containsAny(s, " yet ", " currently ", " right now ", " at the moment ", " still ", " is missing ", " are missing ", " doesn't ", " does not ", " don't ", " isn't ", " is not ", " aren't ", " are not ", " hasn't ", " has not ", " haven't ", " can't ", " cannot ", " never ",
		" bug is ", " issue is ", " problem is ", " cause is ", " reason is ", " fix is ", " plan is ", " approach is ", " simplest fix ", " simplest approach ", " found ", " that need ", " there is ", " there are ",
		" needs to ", " need to ", " has to ", " have to ", " must be ", " i'll ", " i will ", " let's ", " we'll ", " we will ", " i'm ", " i am ", " we're ", " should ", " could ", " would ", " already ", " to be fixed ", " the change needed ")
}

// isFinding reports whether a padded decision of an unknown source is the assistant's
// finding, which is true until it is acted on.
func isFinding(s string) bool {
	return containsAny(s, " root cause ", " cause is ", " reason is ", " fix is ", " bug is ", " simplest fix ", " simplest approach ", " plan is ", " approach is ")
}

// refersBack reports whether a padded sentence says something only beside the one before.
func refersBack(s string) bool {
	for _, head := range []string{" this ", " that ", " that's ", " these ", " those ", " it ", " it's ", " they ", " he ", " so this ", " so that ", " because "} {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return false
}

// withoutExclamation cuts a word of agreement at the beginning of a sentence.
func withoutExclamation(s string) string {
	for _, word := range []string{"Good", "Great", "Perfect", "OK", "Okay", "Right", "Yes", "Excellent", "So", "Alright"} {
		rest, ok := strings.CutPrefix(s, word)
		if cut := strings.TrimLeft(rest, " -–—,!."); ok && len(cut) < len(rest) && len(cut) > minSentence {
			return cut
		}
	}
	return s
}

// minSentence is the length from which a sentence without its first word is one.
const minSentence = 20

// settlePassing drops the passing sentences that a change to a file makes untrue: those
// that name the file or what is declared in it. A cause that was found is settled when
// the turn ends.
func (w *messageScanner) settlePassing(file string, names []string) {
	w.dropDecisions(func(n *summaryItem) bool {
		return n.passing && n.weight < firmWeight && mentionsChange(n.text, file, names)
	})
}

// mentionsChange reports whether text names a file or one of names.
func mentionsChange(text, file string, names []string) bool {
	if base := path.Base(file); len(base) > 3 && strings.Contains(text, base) {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return len(name) > 3 && !strings.Contains(name, " ") && containsWord(text, name)
	})
}

// containsWord reports whether word is in text, not as a part of another one.
func containsWord(text, word string) bool {
	if !strings.Contains(text, word) {
		return false
	}
	for t := range wordTokens(text) {
		if t.text == word {
			return true
		}
	}
	return false
}

// endPassing drops the passing sentences before the last change of a turn that has ended:
// its own, and those of earlier turns that share a name with its answer. A cause stays as
// long as something fails.
func (w *messageScanner) endPassing(answer string) {
	said := make(map[string]bool)
	for t := range wordTokens(clip.Bytes(answer, maxScan)) {
		if checkable(t) {
			said[t.text] = true
		}
	}
	w.dropDecisions(func(n *summaryItem) bool {
		return n.passing && (n.weight < firmWeight || !w.failsNow()) && n.last < w.turn.changed && (n.last >= w.turn.begin || sharesName(n.text, said))
	})
}

// failsNow reports whether something failed in the present turn and still does.
func (w *messageScanner) failsNow() bool {
	return slices.ContainsFunc(w.failures, func(n *summaryItem) bool { return n.weight >= 0 && n.last >= w.turn.begin })
}

func sharesName(text string, names map[string]bool) bool {
	for t := range wordTokens(text) {
		if names[t.text] {
			return true
		}
	}
	return false
}

// choiceVerbs are the verbs with which people and assistants choose.
var choiceVerbs = []string{" use ", " uses ", " using ", " store ", " keep ", " put ", " call ", " name ", " write ", " go with ", " switch to "}

// reverseDecisions drops the decisions that a padded sentence takes back: it names what
// they chose as what is not wanted, or it is the user's correction of the choice that the
// assistant has just made.
func (w *messageScanner) reverseDecisions(low string, user bool) {
	unwanted := unwantedPart(low)
	correction := user && corrects(low)
	if unwanted == "" && !correction {
		return
	}
	w.dropDecisions(func(n *summaryItem) bool {
		old := paddedLower(n.text)
		if old == low {
			return false
		}
		chosen := chosenPart(old)
		sameVerb := slices.ContainsFunc(choiceVerbs, func(v string) bool { return strings.Contains(low, v) && strings.Contains(chosen, v) })
		takenBack := unwanted != "" && n.weight >= firmWeight && sharedWords(chosen, unwanted) > 0
		if !takenBack && !(correction && n.last >= w.turn.before && n.weight < userWeight && (sameVerb || sharedWords(old, low) >= 2)) {
			return false
		}
		w.markTakenBack(n.text)
		return true
	})
}

// takenBackMark follows the answer to a request that was taken back.
const takenBackMark = " (taken back later)"

// markTakenBack marks the newest request that was answered with a decision.
func (w *messageScanner) markTakenBack(text string) {
	text = clip.Bytes(strings.TrimSuffix(text, "…"), answerLen/2)
	for i := len(w.list) - 1; i >= max(0, len(w.list)-4*maxDecided); i-- {
		if x := w.list[i]; x.kind == request && strings.Contains(x.end, text) {
			x.end = strings.TrimSuffix(x.end, takenBackMark) + takenBackMark
			return
		}
	}
}

// chosenPart returns what a padded decision chooses, without the alternative and the
// reason.
func chosenPart(s string) string {
	for _, word := range []string{" instead of ", " rather than ", " statt ", " because ", " since ", " so that ", " and not ", " in order to ", " to avoid "} {
		if i := strings.Index(s, word); i > 0 {
			s = s[:i+1]
		}
	}
	return s
}

// unwantedPart returns what a padded sentence says is not to be used any more. One of its
// own, or a separate one, is what never was.
func unwantedPart(s string) string {
	for _, word := range []string{" instead of ", " rather than ", " switch from ", " switching from ", " switched from ", " move away from ", " no longer use ", " no longer uses ", " not use ", " don't use ", " revert ", " reverted ", " drop ", " dropped ", " replace ", " replaced ", " replacing ", " abandon ", " abandoned ", " gave up ", " give up "} {
		_, rest, ok := strings.Cut(s, word)
		if !ok {
			continue
		}
		for _, end := range []string{" to ", " with ", " by ", " because ", " since ", " so that ", " and "} {
			if before, _, ok := strings.Cut(rest, end); ok && before != "" {
				rest = before + " "
			}
		}
		if containsAny(rest, " own ", " separate ") {
			return ""
		}
		return " " + rest
	}
	return ""
}

// dropGoneDecisions drops the decisions about a file that was removed, except for that to
// remove it.
func (w *messageScanner) dropGoneDecisions(file string) {
	base := path.Base(file)
	if len(base) <= 3 || strings.ContainsAny(base, "*?$") {
		return
	}
	w.dropDecisions(func(n *summaryItem) bool {
		return strings.Contains(n.text, base) && n.weight < userWeight && !containsAny(paddedLower(n.text), " remove ", " removed ", " delete ", " deleted ", " drop ", " dropped ", " merge ", " merged ", " move ", " moved ")
	})
}

// saysWhy reports whether a sentence is a choice, or gives a reason or names something:
// a finding that a reader can use.
func (x *summaryItem) saysWhy() bool {
	low := paddedLower(x.text)
	if x.weight < firmWeight && (strings.HasPrefix(low, " now ") || strings.HasPrefix(low, " before ")) || x.weight < firmWeight && containsAny(low, " likely ", " probably ", " maybe ", " might ", " perhaps ", " seems ", " seem ") {
		return false // a guess
	}
	if x.weight >= firmWeight || givesReason(low) {
		return true
	}
	for w := range wordTokens(x.text) {
		if checkable(w) {
			return true
		}
	}
	return false
}

// isUseful reports whether a decision is a choice or has a reason, or is a finding of the
// present turn.
func (e extraction) isUseful(x *summaryItem) bool {
	return x.weight >= firmWeight || givesReason(paddedLower(x.text)) || x.passing && x.last >= e.begin
}

// reportsDone reports whether a sentence says what was done, which is no decision.
func (x *summaryItem) reportsDone() bool {
	low := paddedLower(x.text)
	if x.weight >= firmWeight {
		return false
	}
	for _, lead := range []string{" added ", " updated ", " removed ", " renamed ", " fixed ", " implemented ", " created ", " replaced ", " refactored ", " moved ", " changed ", " changes made ", " files changed ", " committed ", " i made ", " i added ", " i updated ", " i fixed ", " i've ", " i have ", " the changes were "} {
		if strings.HasPrefix(low, lead) || strings.Contains(x.text, ": "+strings.ToUpper(lead[1:2])+lead[2:]) {
			return true
		}
	}
	return containsAny(low, " now uses ", " was fixed ", " was added ", " were added ", " has been ", " have been ", " is implemented ", " are implemented ")
}
