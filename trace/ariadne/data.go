package ariadne

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
	"github.com/tiercompact/tiercompact/trace"
)

// What Ariadne takes. A request that is larger is refused by its
// Content-Length, with all that is in it.
const (
	maxBody  = 256 << 10
	maxSpan  = maxBody - 16<<10 // beside its trace
	maxName  = 1024             // bytes of names; the server counts characters
	longText = 64 << 10         // bytes of texts in a span that is too large
)

// unknown is the kind of spans of events that package trace does not know.
const unknown = "compaction"

// spanKind returns what icons and the filter of the page go by: llm is a call of a
// model, tool is work that is done to the conversation.
func spanKind(p trace.Payload) string {
	switch p := p.(type) {
	case trace.TokenEstimate:
		return "check"
	case trace.TriggerDecision:
		return "decision"
	case trace.LevelApplied:
		return levelKind(p)
	case trace.PrunedMessages:
		return "layers"
	case trace.SummaryCreated:
		if engine, _ := summaryOf(p); strings.Contains(engine, "/") {
			return "llm"
		}
		return "tool.summary"
	case trace.Archival:
		return "tool.archive"
	case trace.Error:
		return "error"
	case trace.Warning:
		return "warning"
	}
	return unknown
}

// levelKind names the work of a level; a hard level ranks.
func levelKind(p trace.LevelApplied) string {
	switch p.Level {
	case "soft":
		return "tool.outline"
	case "hard":
		return "tool.ranking"
	case "emergency", "layers":
		return "tool.summarize"
	case "fit":
		return "tool.cut"
	}
	return "tool.compact"
}

// summaryOf returns what wrote a summary, and its text.
func summaryOf(p trace.SummaryCreated) (engine, content string) {
	var summary struct{ Engine, Content string }
	_ = json.Unmarshal(p.Payload, &summary) // one from elsewhere may be of another form
	return summary.Engine, summary.Content
}

// responseText returns what the tab Response shows: the summary that was written, else
// what the event tells, in words. Of an unknown kind it is the JSON.
func responseText(p trace.Payload, raw []byte) string {
	if s, ok := p.(trace.SummaryCreated); ok {
		if _, content := summaryOf(s); strings.TrimSpace(content) != "" {
			return content
		}
	}
	if spanKind(p) == unknown {
		return string(raw)
	}
	return trace.Describe(p)
}

// spanData returns the data of a span: an object with what p says, and its text as
// "output", which the page looks for.
func spanData(p trace.Payload) json.RawMessage {
	raw, err := json.Marshal(p)
	if err != nil {
		return encodeEvent(map[string]string{"output": "the data of this event is no JSON: " + err.Error()})
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	output := encodeEvent(responseText(p, raw))
	switch {
	case raw[0] != '{':
		return encodeEvent(map[string]json.RawMessage{"value": raw, "output": output})
	case bytes.Contains(raw, []byte(`"output":`)) && hasOutput(raw):
		return raw
	case len(raw) > len("{}"):
		output = append(output, ',')
	}
	return slices.Concat([]byte(`{"output":`), output, raw[1:])
}

func hasOutput(object json.RawMessage) bool {
	var has struct{ Output json.RawMessage }
	return json.Unmarshal(object, &has) == nil && has.Output != nil
}

// truncateData returns data with no text in it longer than limit, and a note on what
// was cut. Below 64 bytes there is nothing left but a note.
func truncateData(data json.RawMessage, limit int) json.RawMessage {
	if limit < 64 {
		return encodeEvent(map[string]string{"output": fmt.Sprintf("%d bytes of data are left out: Ariadne takes %d bytes at once", len(data), maxBody)})
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var object map[string]any
	if d.Decode(&object) != nil {
		return data // cannot be: it was encoded here
	}
	left := 0
	out := cutTexts(object, limit, &left).(map[string]any)
	out["cut"] = fmt.Sprintf("%d bytes of long texts are left out: Ariadne takes %d bytes at once", left, maxBody)
	return encodeEvent(out)
}

// cutTexts cuts the texts in value, and adds to left what it took.
func cutTexts(value any, limit int, left *int) any {
	switch value := value.(type) {
	case string:
		if len(value) > limit {
			head := strings.ToValidUTF8(value[:limit], "")
			*left += len(value) - len(head)
			return head + " …"
		}
	case []any:
		for i := range value {
			value[i] = cutTexts(value[i], limit, left)
		}
	case map[string]any:
		for k := range value {
			value[k] = cutTexts(value[k], limit, left)
		}
	}
	return value
}

// truncateName cuts a name.
func truncateName(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxName {
		return s
	}
	return clip.Bytes(s, maxName-len("…")) + "…"
}
