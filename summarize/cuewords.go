package summarize

import "strings"

// longRequest is the length from which a user's message is likely pasted: its
// sentences are less likely rules.
const longRequest = 1500

// startsAsRule reports whether a padded sentence begins like a rule.
func startsAsRule(s string) bool {
	for _, head := range []string{" never ", " always ", " don't ", " do not ", " must ", " make sure ", " ensure ", " avoid ", " only ", " you must ", " please don't ", " please do not ", " required "} {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return strings.Contains(s, " must not ") || strings.Contains(s, " you must ")
}

// statesRule reports whether a padded sentence says what must or must not be.
func statesRule(s string) bool {
	s = ofOneself.Replace(s)
	return containsAny(s, " must ", " never ", " always ", " don't ", " do not ", " dont ", " mustn't ", " may not ", " cannot ", " make sure ", " ensure ",
		" should not ", " shouldn't ", " avoid ", " at most ", " at least ", " no more than ", " only use ", " required ", " requirement ", " forbidden ", " not allowed ",
		" muss ", " müssen ", " nie ", " niemals ", " immer ", " darf nicht ", " dürfen nicht ", " jamais ", " toujours ", " doit ", " ne pas ", " nunca ", " siempre ", " debe ",
		" mai ", " sempre ", " non deve ", " non devi ", " não deve ", " никогда ", " всегда ", " нельзя ", " обязательно ", " nooit ", " altijd ", " mag niet ", " nigdy ", " zawsze ", " nie wolno ", " aldrig ", " alltid ", " asla ", " her zaman ", "하지 마", "반드시", "절대", "不得", "务必", "不能",
		"必 须", "必须", "不要", "绝不", "禁止", "ないで", "必ず", "決して")
}

// ofOneself removes what somebody says of oneself, and complaints: they are no rules.
var ofOneself = strings.NewReplacer(" i don't ", " ", " i dont ", " ", " i do not ", " ", " i can't ", " ", " i cannot ", " ", " i never ", " ", " i always ", " ", " we don't have ", " ", " should never happen ", " ", " you don't have to ", " ", "不要です", "", "不要になり", "")

// isAnnouncement reports whether a padded sentence only announces an action.
func isAnnouncement(s string) bool {
	return containsAny(s, " let me ", " let's look ", " now let's ", " i'll check ", " i'll look ", " i'll read ", " i'll start by ", " i'll also check ", " i need to look ", " i need to read ", " i need to check ", " i'll now ", " now i'll ", " now i need ", " now let ", " i see the issue ", " i see the problem ", " i now understand ", " i found the issue ", " i see now ", " looking at ", " to see where ", " to see what ", " to see how ", " to see if ", " to locate ", " here's the ", " here is the ", " here's a summary ") ||
		len(s) < 16
}

// firmWeight is the minimum weight of a sentence that states a choice or a finding:
// the facts section lists it.
const firmWeight = 2

// decisionWeight returns how much a padded sentence decides or finds: 0 nothing, 1
// something, [firmWeight] or more a basis of the work from then on.
func decisionWeight(s string) float64 {
	weight := 0.0
	if statesChoice(s) {
		weight = firmWeight
	} else if containsAny(s, " fails ", " failed ", " failing ", " passes ", " pass ", " passing ", " passed ") {
		return 0 // it was so then: the outcomes of the commands are on record
	}
	if containsAny(s, " instead of ", " rather than ", " statt ") {
		weight++
		if containsAny(s, " i'll ", " i will ", " we ", " we'll ", " let's ", " should ", " now uses ", " the fix ", " approach ", " so that ", " to avoid ") {
			weight++
		}
	}
	if containsAny(s, " the issue ", " the problem ", " turns out ", " because ", " so that ", " therefore ", " confirmed ", " found ", " fixed ", " added ", " removed ", " renamed ", " updated ", " implemented ",
		" committed ", " refactored ", " needs to ", " doesn't ", " does not ", " was caused ", " root cause ", " the cause ", " the reason ", " the fix is ", " the approach ", " design ", " due to ", " i'll add ", " i'll fix ", " i'll change ", " need to add ", " need to update ", " weil ", " parce que ", " porque ") &&
		weight != 1 { // actions and findings are recorded elsewhere too: together with a contrast it is not a choice yet
		weight++
	}
	if isAnnouncement(s) {
		weight -= 1.5
	}
	return max(0, weight)
}

// statesChoice reports whether a padded sentence states a choice or a cause that
// was found.
func statesChoice(s string) bool {
	return strings.HasPrefix(s, " decision ") || strings.HasPrefix(s, " root cause ") ||
		containsAny(s, " decided ", " decide to ", " we decide ", " going with ", " go with ", " chose ", " i've chosen ", " have chosen ", " was chosen ", " settled on ", " stick with ", " sticking with ", " agreed to ", " agreed that ", " agreed on ",
			" i'll switch to ", " i'm switching to ", " let's switch to ", " we switch to ", " switched to ", " decision is ", " decision was ", " the fix is to ", " simplest fix ", " simplest approach ", " the approach is ", " the plan is to ",
			" root cause is that ", " root cause is the ", " root cause was ", " the cause is ", " the cause was ", " the reason is ",
			" we'll use ", " i'll use ", " should use ", " let's use ", " we keep ", " we'll keep ", " i'll keep ", " let's keep ", " we use ", " wir nehmen ", " entschieden ", " décidé ", " decidido ")
}

// userWeight is the weight of a person's decision.
const userWeight = 2 * firmWeight

// directs reports whether a padded sentence says what to use or do.
func directs(s string) bool {
	for _, head := range []string{" use ", " please use ", " we use ", " take ", " keep ", " make ", " put ", " set ", " store ", " leave ", " and use ", " let's ", " go with ", " name ", " call ", " write ", " stay with ", " with ", " nimm ", " wir nehmen ", " utilise ", " usa "} {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return containsAny(s, " use ", " uses ", " should ", " we want ", " we need ", " must be ", " has to be ", " stays ", " keep ")
}

// givesReason reports whether a padded sentence gives a reason.
func givesReason(s string) bool {
	return containsAny(s, " because ", " since ", " so that ", " due to ", " in order to ", " to avoid ", " otherwise ", " as required by ", " for compliance ", " weil ", " wegen ", " parce que ", " porque ")
}

// saysNothing reports whether a sentence is an exclamation or a form that reports
// nothing of the work.
func saysNothing(s string) bool {
	s = strings.TrimSpace(s)
	low := strings.ToLower(s)
	if startsLike(low, []string{"no response requested", "excellent", "perfect", "great", "you're absolutely right", "you're right", "you are right", "good catch", "nice catch", "understood", "got it", "sure", "of course", "absolutely", "okay", "ok.", "ok!", "thanks", "thank you", "awesome", "wonderful", "good question", "good point", "now i have ", "now i understand", "i have a good", "i have all", "now let", "step "}) && len(s) < 60 {
		return true
	}
	if strings.HasSuffix(s, "!") && len(s) < 60 {
		for w := range wordTokens(s) {
			if checkable(w) {
				return false
			}
		}
		return true
	}
	return strings.HasSuffix(s, ":")
}
