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
	case startsLike(text, []string{"let me ", "i'll ", "i will ", "sure,", "sure!", "certainly", "now i ", "now let"}):
		return NoSummary
	case echoesRequest(text, r):
		return Echo
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
