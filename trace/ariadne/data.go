package ariadne

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/trace"
)

// Ariadne's limits. A larger request is rejected by its Content-Length, with
// everything in it.
const (
	maxBody  = 256 << 10
	maxSpan  = maxBody - 16<<10 // beside its trace
	maxName  = 1024             // bytes of names; the server counts characters
	longText = 64 << 10         // bytes of texts in an oversized span
)

// unknown is the kind of spans of events that package trace does not know.
const unknown = "compaction"

// spanKind returns the kind for the icons and the filter of the page: llm is a call
// of a model, tool is work on the conversation.
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

// summaryOf returns the author of a summary, and its text.
func summaryOf(p trace.SummaryCreated) (engine, content string) {
	var summary struct{ Engine, Content string }
	_ = json.Unmarshal(p.Payload, &summary) // a custom one may have another form
	return summary.Engine, summary.Content
}

// responseText returns the text for the tab Response: the summary, or a description
// of the event. For an unknown kind it is the JSON.
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

// spanData returns the data of a span: an object with the fields of p, and its text
// as "output", which the page displays.
func spanData(p trace.Payload) json.RawMessage {
	raw, err := json.Marshal(p)
	if err != nil {
		return encodeEvent(map[string]string{"output": "the data of this event is not JSON: " + err.Error()})
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

// truncateData returns data with every text cut to limit, and a note on the cuts.
// Below 64 bytes only a note is left.
func truncateData(data json.RawMessage, limit int) json.RawMessage {
	if limit < 64 {
		return encodeEvent(map[string]string{"output": fmt.Sprintf("%d bytes of data are left out: Ariadne takes %d bytes at once", len(data), maxBody)})
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var object map[string]any
	if d.Decode(&object) != nil {
		return data // cannot happen: it was encoded here
	}
	left := 0
	out := cutTexts(object, limit, &left).(map[string]any)
	out["cut"] = fmt.Sprintf("%d bytes of long texts are left out: Ariadne takes %d bytes at once", left, maxBody)
	return encodeEvent(out)
}

// cutTexts cuts the texts in value, and adds to left the bytes that it removed.
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
	i := maxName - len("…")
	for !utf8.RuneStart(s[i]) {
		i--
	}
	return s[:i] + "…"
}
