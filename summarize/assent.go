package summarize

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
)

// maxAssentWords is the maximum number of words of an answer that only agrees.
const maxAssentWords = 8

// isAssent reports whether a person's words only agree or thank. They ask for
// nothing: what they agree to does.
func isAssent(own string) bool {
	words := strings.Fields(paddedLower(clip.Bytes(own, remarkLen)))
	if len(words) == 0 || len(words) > maxAssentWords || strings.Contains(own, "?") {
		return false
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(assents, w) })
}

// isGreeting reports whether a person's words only greet.
func isGreeting(own string) bool {
	words := strings.Fields(paddedLower(clip.Bytes(own, 40)))
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool {
		return !slices.Contains([]string{"hi", "hello", "hey", "there", "good", "morning", "evening", "hallo", "moin", "bonjour", "hola", "ciao"}, w)
	}) && words[0] != "good" && words[0] != "there"
}

// assents are the words of answers that only agree, with the words between them.
var assents = strings.Fields(`yes yeah yep yup y ok okay k sure please do it that this so go ahead on for now then let's lets good great
	perfect fine nice cool awesome excellent thanks thank you sounds looks lgtm continue proceed correct right exactly agreed agree
	makes sense all of course absolutely definitely both them the i
	ja bitte mach das genau gut weiter danke oui vas y merci d'accord sí si vale claro gracias sim はい 好 好的`)

// scanAssent records what a person agreed to: what the assistant proposed last. An
// answer to no proposal is no request.
func (w *messageScanner) scanAssent(said string) {
	proposed := proposal(said)
	if proposed == "" {
		return
	}
	w.asked = w.addItem(request, clipLine("agreed to: "+proposed, shortLen))
	w.asked.end, w.asked.weight, w.asked.corrects = "", 1, false
	w.fresh = true
}

// answersHead begins the result of Claude Code's tool that asks a person, whose answers
// follow as "question"="answer".
const answersHead = "User has answered your questions: "

var givenAnswer = regexp.MustCompile(`"([^"]+)"="([^"]+)"`)

// recordAnswers records a person's answers to the assistant's questions as decisions, and
// reports whether a result has any.
func (w *messageScanner) recordAnswers(result string) bool {
	text, ok := strings.CutPrefix(result, answersHead)
	if !ok {
		return false
	}
	for _, m := range givenAnswer.FindAllStringSubmatch(clip.Bytes(text, maxScan), maxRules) {
		n := w.addItem(decision, clipLine(m[1], sentenceLen)+" "+clipLine(m[2], sentenceLen))
		n.weight, n.passing = userWeight, false
		w.followDecision(n)
	}
	return true
}

// proposal returns the last sentence of a text that proposes to do something; if it
// only refers to what was said, with the sentence before.
func proposal(said string) string {
	before, found := "", ""
	for s := range sentences(said) {
		low := paddedLower(clip.Bytes(s, 4*sentenceLen))
		if strings.HasSuffix(s, "?") && containsAny(low, " i ", " me ", " we ", " proceed ", " continue ") ||
			containsAny(low, " i'll ", " i will ", " i would ", " i can ", " i could ", " i suggest ", " i recommend ", " i propose ", " next step ", " soll ich ") {
			found = s
			if before != "" && len(strings.Fields(low)) <= maxReferringWords && containsAny(low, " that ", " this ", " it ", " these ", " them ", " proceed ", " go ahead ", " continue ") {
				found = before + " " + s
			}
		}
		before = s
	}
	return found
}

// maxReferringWords is the maximum number of words of a question that only refers to
// what was said before: *Shall I do that?*
const maxReferringWords = 9
