package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Console returns a sink that writes each event to w as one line for people: the
// time of its end in UTC, the session, the event without "compact.", its
// description, and its duration if that is at least a millisecond. Control
// characters are shown as spaces. It is safe for concurrent use. It drops events
// that cannot be written.
func Console(w io.Writer) Sink {
	return lineSink(w, func(e Event) []byte {
		return append([]byte(Plain(consoleLine(e))), '\n')
	})
}

func consoleLine(e Event) string {
	start, end := e.Span()
	name := strings.TrimPrefix(e.Name, "compact.")
	s := fmt.Sprintf("%s %s  %-16s  %s", end.Format("15:04:05.000"), e.Session, name, Describe(e.Data))
	if took := end.Sub(start).Round(time.Millisecond); took > 0 {
		s += fmt.Sprintf(" (%v)", took)
	}
	return s
}

// Describe returns a description of p in one line for people.
func Describe(p Payload) string {
	switch p := p.(type) {
	case TokenEstimate:
		return fmt.Sprintf("%s of %s tokens, %.1f %%", groupedDigits(p.TEst), groupedDigits(p.MaxTokens), 100*p.UsagePct)
	case TriggerDecision:
		return sayDecision(p)
	case LevelApplied:
		return sayLevel(p)
	case PrunedMessages:
		l := p.Layers
		return fmt.Sprintf("pinned %s; summary %s; recent %s", sayLayer(l.Pinned), sayLayer(l.Summary), sayLayer(l.Recent))
	case SummaryCreated:
		s := fmt.Sprintf("%s, %s in %s, ratio %.2f", p.Strategy, countedNoun(p.InputMessages, "message"), countedNoun(p.SummaryTokens, "token"), p.CompressionRatio)
		if p.Removed > 0 {
			s += fmt.Sprintf(", %s taken out", countedNoun(p.Removed, "line"))
		}
		return appendDetail(s, "fallback", p.Fallback)
	case Archival:
		return appendDetail(fmt.Sprintf("step %d, %s", p.Step, p.StorageAdapter), "at", p.FilePath+p.S3Key)
	case Error:
		return appendDetail(fmt.Sprintf("%s: %s", p.ErrorType, p.Message), "fallback", p.Fallback)
	case Warning:
		return appendDetail(fmt.Sprintf("%s: %s", p.Severity, p.Message), "remedy", p.Remedy)
	}
	return fmt.Sprint(p)
}

func sayDecision(p TriggerDecision) string {
	if !p.Triggered {
		return "no, " + p.Reason
	}
	s := fmt.Sprintf("%s, %s", p.Level, p.Reason)
	if p.PrunedCount != nil && *p.PrunedCount > 0 {
		s += fmt.Sprintf(", %s fewer", countedNoun(*p.PrunedCount, "message"))
	}
	return appendDetail(s, "note", p.Note)
}

func sayLevel(p LevelApplied) string {
	s := fmt.Sprintf("%s, %s to %s, %s freed", p.Level, groupedDigits(p.Before), countedNoun(p.After, "token"), groupedDigits(p.Freed))
	if p.FirstChanged >= 0 {
		s += fmt.Sprintf(", %s to prefill from message %d on", groupedDigits(p.PrefillTokens), p.FirstChanged+1) // for people, the first is 1
	}
	return appendDetail(appendDetail(s, "by", p.Engine), "because", p.Why)
}

func sayLayer(l Layer) string {
	return countedNoun(l.Messages, "message") + ", " + countedNoun(l.Tokens, "token")
}

func appendDetail(s, label, more string) string {
	if more == "" {
		return s
	}
	return s + "; " + label + ": " + more
}

// countedNoun returns n of something, with the plural if needed.
func countedNoun(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return groupedDigits(n) + " " + of
}

// groupedDigits returns n with a comma between thousands.
func groupedDigits(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plain returns s on one line, with spaces in place of characters that control a
// terminal.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
