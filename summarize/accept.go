package summarize

import (
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
)

// The reasons for which a model's text cannot be used.
const (
	Empty        = "empty"
	CutOff       = "cut off"
	TooLong      = "too long"
	NotShorter   = "not shorter than what it replaces"
	ToolCall     = "tool call"
	Thinks       = "thinking"
	Refusal      = "refusal"
	NoSummary    = "goes on with the task"
	WrongTongue  = "another language than the user's"
	Unfounded    = "nothing in it occurs in the conversation"
	Ungrounded   = "most of it does not occur in the conversation"
	Echo         = "it repeats the request for it"
	Unrelated    = "it names nothing of the conversation"
	PromptCut    = "the server cut the prompt silently" // followed by how much
	overMaxShare = 10                                   // a text may be a tenth over the limit
)

// Accept returns why text, written by a model for r, cannot be used as a summary of
// messages of the given number of tokens: one of the reasons above, or "" if it
// can.
func Accept(text string, r Request, replaced int) (reason string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Empty
	}
	size := r.countTokens(text)
	switch {
	case isToolCall(text):
		return ToolCall
	case isThinking(text):
		return Thinks
	case startsLike(text, refusals()):
		return Refusal
	case r.MaxTokens > 0 && size > r.MaxTokens+r.MaxTokens/overMaxShare:
		return TooLong
	case isCutOff(text):
		return CutOff
	case size >= replaced:
		return NotShorter
	case startsLike(text, []string{"let me ", "i'll ", "i will ", "sure,", "sure!", "certainly", "now i ", "now let"}), onlyAsks(text):
		return NoSummary
	case echoesRequest(text, r):
		return Echo
	case reasons(text):
		return Thinks
	case otherLanguage(text, r):
		return WrongTongue
	}
	return ""
}

// Cut returns the beginning of an answer that is longer than the given number of
// tokens can be: it is refused as too long, but not read to its end. 0 means no
// limit.
func Cut(answer string, tokens int) string {
	if most := maxBytesFor(min(tokens, 1<<32)); tokens > 0 && len(answer) > most {
		return answer[:most]
	}
	return answer
}

// isToolCall reports whether text, or a line of it, calls a tool.
func isToolCall(text string) bool {
	for line := range strings.Lines(text) {
		if startsLike(strings.TrimSpace(line), []string{"<tool_call", "<function=", "<function_call", "<invoke", "<|tool_call", "<|python_tag|>", "[tool_calls]"}) {
			return true
		}
	}
	body := strings.TrimSpace(strings.Trim(strings.TrimPrefix(text, "```json"), "`\n "))
	if !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[{") {
		return false
	}
	return strings.Contains(body, `"name"`) && (strings.Contains(body, `"arguments"`) || strings.Contains(body, `"parameters"`) || strings.Contains(body, `"input"`)) ||
		strings.Contains(body, `"tool_calls"`)
}

// isThinking reports whether text contains a model's thinking.
func isThinking(text string) bool {
	for line := range strings.Lines(text) {
		if startsLike(strings.TrimSpace(line), []string{"<think", "</think", "<|channel|>", "<reasoning>", "[think]", "<|thinking|>"}) {
			return true
		}
	}
	return false
}

// reasons reports whether text begins by thinking about the task of writing a record,
// without a tag around it.
func reasons(text string) bool {
	if startsLike(text, []string{"okay, ", "ok, so", "ok, let", "alright, ", "hmm", "wait, ", "first, i ", "first, let", "so the user", "the user wants me", "the user is asking me", "the user asked me to summar", "the user wants a ", "the task is to ", "my task is ", "we need to ", "we have to ", "we are asked ", "i need to ", "i should ", "i have to ", "i must ", "i am asked ", "i'm asked ", "i've been asked ", "let's ", "to write this ", "to summarize", "to create ", "thinking", "analysis:", "reasoning:", "**thinking", "# thinking"}) {
		return true
	}
	if strings.Contains(text, " :: ") || strings.Contains(text, "## ") || strings.Contains(text, "\n- ") {
		return false
	}
	doubts, all := 0, 0
	for s := range cutSentences(strings.ReplaceAll(text, "\n", " ")) {
		all++
		if containsAny(" "+strings.ToLower(clip.Bytes(s, 200)), " let me ", " i need to ", " i should ", " wait,", " hmm", " i think ", " maybe i ", " we should ", " let's ") {
			doubts++
		}
	}
	return doubts > 2 && 3*doubts >= all
}

// onlyAsks reports whether text asks the user something in place of a summary: it is
// a question or two, or it ends with one and states nothing in lines.
func onlyAsks(text string) bool {
	asked, told := 0, 0
	for s := range sentences(text) {
		if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
			asked++
		} else {
			told++
		}
	}
	if strings.Contains("\n"+text, "\n- ") || strings.Contains(text, "## ") {
		return false // a list may have open questions
	}
	ends := strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
	return asked > 0 && asked >= told || ends && told <= 3
}

func refusals() []string {
	return []string{"i can't ", "i cannot ", "i can not ", "i'm sorry", "i am sorry", "sorry,", "i'm unable", "i am unable", "i'm not able", "i won't ", "as an ai", "i apologize",
		"es tut mir leid", "ich kann nicht", "je suis désolé", "désolé", "lo siento", "no puedo", "抱歉", "对不起", "申し訳"}
}

// startsLike reports whether text begins with one of heads, in lower case.
func startsLike(text string, heads []string) bool {
	begin := strings.ReplaceAll(strings.ToLower(clip.Bytes(text, 60)), "’", "'")
	for _, h := range heads {
		if strings.HasPrefix(begin, h) {
			return true
		}
	}
	return false
}

// isCutOff reports whether text stops in the middle: a fence is open, or the last
// line does not end like a sentence.
func isCutOff(text string) bool {
	fences := 0
	last := ""
	for line := range strings.Lines(text) {
		if last = strings.TrimSpace(line); strings.HasPrefix(last, "```") {
			fences++
		}
	}
	if fences%2 == 1 || strings.Trim(last, "-*+# ") == "" {
		return true
	}
	if strings.HasSuffix(last, ",") || strings.HasSuffix(last, "(") || strings.HasSuffix(last, "::") || strings.HasSuffix(last, "[") {
		return true
	}
	word := strings.ToLower(last[strings.LastIndexByte(last, ' ')+1:])
	switch word {
	case "and", "or", "the", "a", "an", "of", "to", "with", "for", "because", "that", "which", "und", "oder", "der", "die", "das", "et", "ou", "le", "la", "y", "el":
		return len(strings.Fields(last)) > 3
	}
	return false
}
