package trace

import (
	"encoding/json"

	"github.com/tiercompact/tiercompact/redact"
)

// Redacted returns a sink that gives events to sink with f applied to
// every text that quotes something: reasons, notes, messages, remedies, models,
// places, and the strings of a summary's payload. Names of sessions, levels and
// kinds, and numbers, stay as they are. The event that was emitted is not
// changed. A payload of an unknown kind is redacted as JSON.
//
// Redaction takes time: stand it behind a [Queue], not in front of it.
func Redacted(sink Sink, f func(string) string) Sink {
	if f == nil {
		return sink
	}
	return func(e Event) {
		e.Data = redacted(e.Data, f)
		sink.Emit(e)
	}
}

func redacted(p Payload, f func(string) string) Payload {
	each := func(texts ...*string) {
		for _, s := range texts {
			*s = f(*s)
		}
	}
	switch p := p.(type) {
	case TokenEstimate:
		each(&p.Model)
		return p
	case TriggerDecision:
		each(&p.Reason, &p.Note)
		return p
	case LevelApplied:
		each(&p.Engine, &p.Why)
		return p
	case PrunedMessages:
		return p
	case SummaryCreated:
		p.Payload = redactedJSON(p.Payload, f)
		return p
	case Archival:
		each(&p.FilePath, &p.S3Key)
		return p
	case Error:
		each(&p.Message)
		return p
	case Warning:
		each(&p.Message, &p.Remedy)
		return p
	}
	return redactedForeign(p, f)
}

func redactedJSON(raw json.RawMessage, f func(string) string) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	return json.RawMessage(redact.JSON(f, string(raw)))
}

// foreign is a payload of a kind that this package does not know.
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
	return foreign{p.Event(), redactedJSON(raw, f)}
}
