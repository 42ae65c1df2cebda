package trace

import (
	"encoding/json"

	"github.com/tiercompact/tiercompact/redact"
)

// Redacted returns a sink that passes events to sink with f applied to every text
// that may quote something: reasons, notes, messages, remedies, models, places, and
// the strings of a summary's payload. Names of sessions, levels and kinds, and
// numbers, stay as they are. The emitted event is not changed. A payload of an
// unknown kind is redacted as JSON. Redaction takes time: put it after a [Queue],
// not before it.
func Redacted(sink Sink, f func(string) string) Sink {
	if f == nil {
		return sink
	}
	return func(e Event) {
		e.Data = redacted(e.Data, f)
		sink.Emit(e)
	}
}

// redacted returns p itself if there is nothing to redact, the usual case.
func redacted(p Payload, f func(string) string) Payload {
	switch q := p.(type) {
	case TokenEstimate:
		if redactTexts(f, &q.Model) {
			return q
		}
	case TriggerDecision:
		if redactTexts(f, &q.Reason, &q.Note) {
			return q
		}
	case LevelApplied:
		if redactTexts(f, &q.Engine, &q.Why) {
			return q
		}
	case PrunedMessages:
	case SummaryCreated:
		if len(q.Payload) > 0 {
			q.Payload = json.RawMessage(redact.JSON(f, string(q.Payload)))
			return q
		}
	case Archival:
		if redactTexts(f, &q.FilePath, &q.S3Key) {
			return q
		}
	case Error:
		if redactTexts(f, &q.Message) {
			return q
		}
	case Warning:
		if redactTexts(f, &q.Message, &q.Remedy) {
			return q
		}
	default:
		return redactedForeign(p, f)
	}
	return p
}

// redactTexts redacts each text, and reports whether one of them changed.
func redactTexts(f func(string) string, texts ...*string) (changed bool) {
	for _, s := range texts {
		if r := f(*s); r != *s {
			*s, changed = r, true
		}
	}
	return changed
}

// foreign is a payload of an unknown kind.
type foreign struct {
	name string
	json.RawMessage
}

func (f foreign) Event() string { return f.name }

func redactedForeign(p Payload, f func(string) string) Payload {
	raw, err := json.Marshal(p)
	if err != nil {
		raw = []byte("null")
	}
	return foreign{p.Event(), json.RawMessage(redact.JSON(f, string(raw)))}
}
