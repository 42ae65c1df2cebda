package summarize

import "strings"

// longRequest is from where on a user's message is likely pasted: what it
// says in passing is less likely a rule.
const longRequest = 1500

// commands reports whether a padded sentence begins as a rule does.
func commands(s string) bool {
	for _, head := range []string{" never ", " always ", " don't ", " do not ", " must ", " make sure ", " ensure ", " avoid ", " only ", " you must ", " please don't ", " please do not ", " required "} {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return strings.Contains(s, " must not ") || strings.Contains(s, " you must ")
}

// isRule reports whether a padded sentence says what must or must not be.
func isRule(s string) bool {
	return has(s, " must ", " never ", " always ", " don't ", " do not ", " dont ", " mustn't ", " may not ", " cannot ", " make sure ", " ensure ",
		" should not ", " shouldn't ", " avoid ", " at most ", " at least ", " no more than ", " only use ", " required ", " requirement ", " forbidden ", " not allowed ",
		" muss ", " müssen ", " nie ", " niemals ", " immer ", " darf nicht ", " dürfen nicht ", " jamais ", " toujours ", " doit ", " ne pas ", " nunca ", " siempre ", " debe ",
		"必 须", "必须", "不要", "绝不", "禁止", "ないで", "必ず", "決して")
}

// isNoise reports whether a padded sentence only announces a look.
func isNoise(s string) bool {
	return has(s, " let me ", " let's look ", " now let's ", " i'll check ", " i'll look ", " i'll read ", " i'll start by ", " i'll also check ", " i need to look ", " i need to read ", " i need to check ", " i'll now ", " now i'll ", " now i need ", " now let ", " i see the issue ", " i see the problem ", " i now understand ", " i found the issue ", " i see now ", " looking at ", " here's the ", " here is the ", " here's a summary ") ||
		len(s) < 16
}

// decisionWeight returns how much a padded sentence of the assistant decides
// or finds: 0 nothing, 1 and more something.
func decisionWeight(s string) float64 {
	weight := 0.0
	if has(s, " decided ", " decide to ", " going with ", " chose ", " chosen ", " instead of ", " rather than ", " switch to ", " switched to ", " the fix is ", " root cause ", " the cause ", " the reason ",
		" we'll use ", " i'll use ", " should use ", " let's use ", " decision ", " agreed ", " the approach ", " design ", " wir nehmen ", " entschieden ", " décidé ", " decidido ", " statt ") {
		weight += 2
	}
	if has(s, " the issue ", " the problem ", " turns out ", " because ", " so that ", " therefore ", " confirmed ", " found ", " fails ", " failed ", " failing ", " pass ", " passes ", " fixed ", " added ", " removed ", " renamed ", " updated ", " implemented ",
		" committed ", " refactored ", " needs to ", " doesn't ", " does not ", " was caused ", " due to ", " i'll add ", " i'll fix ", " i'll change ", " need to add ", " need to update ", " weil ", " parce que ", " porque ") {
		weight++
	}
	if isNoise(s) {
		weight -= 1.5
	}
	return max(0, weight)
}

// isTodo reports whether a padded sentence says what is still to be done.
func isTodo(s string) bool {
	return has(s, " todo ", " todos ", " fixme ", " next step ", " next steps ", " still need ", " still needs ", " still to do ", " remaining ", " remains to ", " left to do ", " not yet ", " follow up ", " blocked ", " blocker ", " outstanding ")
}
