package wire

import (
	"slices"
	"testing"
)

// The results of one message stay together if an undo puts messages from one file
// before newer messages from another.
func TestResultsOfTwoFilesMeetInOneObject(t *testing.T) {
	const file = `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"},{"type":"text","text":"go on"}]},{"role":"assistant","content":"done"}]` + "\n"
	same, flat := decoded(t, file), decoded(t, encoded(t, decoded(t, file), "openai"))
	for name, meet := range map[string][2]Conversation{"of one format": {same, decoded(t, file)}, "first of another": {flat, same}, "last of another": {same, flat}} {
		for at := 2; at <= 5; at++ {
			c := meet[1]
			c.Format, c.layout = "anthropic", same.layout
			c.Messages = slices.Concat(meet[0].Messages[:at], meet[1].Messages[at:])
			if got := decoded(t, encoded(t, c, "anthropic")); len(got.layout.list.objects) != 4 && !(name == "last of another" && at == 4) || canonical(got) != canonical(same) {
				t.Errorf("%s, at %d: %s", name, at, encoded(t, c, "anthropic"))
			}
		}
	}
}
