package trace

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// Console returns a sink that writes each event to w as one line for people:
// the time of its end in UTC, the session, the event without "compact.", and
// what it says. Control characters are shown as spaces. It may be used
// concurrently. What w refuses is dropped.
func Console(w io.Writer) Sink {
	return lines(w, func(e Event) []byte {
		return append([]byte(plain(line(e))), '\n')
	})
}

func line(e Event) string {
	name := strings.TrimPrefix(e.Name, "compact.")
	s := fmt.Sprintf("%s %s %s: %s", e.End.UTC().Format("15:04:05.000"), e.Session, name, say(e.Data))
	if took := e.End.Sub(e.Start).Round(time.Millisecond); took > 0 {
		s += fmt.Sprintf(" (%v)", took)
	}
	return s
}

func say(p Payload) string {
	switch p := p.(type) {
	case TokenEstimate:
		return fmt.Sprintf("%d of %d tokens, %.1f %%", p.TEst, p.MaxTokens, 100*p.UsagePct)
	case TriggerDecision:
		return sayDecision(p)
	case LevelApplied:
		return sayMore(fmt.Sprintf("%s, %d to %d tokens, %d freed, %d to prefill from message %d",
			p.Level, p.Before, p.After, p.Freed, p.PrefillTokens, p.FirstChanged), "by", p.Engine)
	case PrunedMessages:
		l := p.Layers
		return fmt.Sprintf("messages pinned %d (%d tokens), in the summary %d (%d), recent %d (%d)",
			l.Pinned.Messages, l.Pinned.Tokens, l.Summary.Messages, l.Summary.Tokens, l.Recent.Messages, l.Recent.Tokens)
	case SummaryCreated:
		return fmt.Sprintf("%s, %d messages in %d tokens, ratio %.2f", p.Strategy, p.InputMessages, p.SummaryTokens, p.CompressionRatio)
	case Archival:
		return sayMore(fmt.Sprintf("step %d of %s, %s", p.Step, p.SessionID, p.StorageAdapter), "at", p.FilePath+p.S3Key)
	case Error:
		return sayMore(fmt.Sprintf("%s: %s", p.ErrorType, p.Message), "instead", p.Fallback)
	case Warning:
		return sayMore(fmt.Sprintf("%s: %s", p.Severity, p.Message), "remedy", p.Remedy)
	}
	return fmt.Sprint(p)
}

func sayDecision(p TriggerDecision) string {
	if !p.Triggered {
		return "no: " + p.Reason
	}
	s := fmt.Sprintf("%s: %s", p.Level, p.Reason)
	if p.PrunedCount != nil {
		s += fmt.Sprintf(", %d messages pruned", *p.PrunedCount)
	}
	return sayMore(s, "note", p.Note)
}

func sayMore(s, label, more string) string {
	if more == "" {
		return s
	}
	return s + "; " + label + ": " + more
}

// plain keeps what an event quotes from steering a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
