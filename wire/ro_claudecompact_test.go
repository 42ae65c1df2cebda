package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A record of Claude Code by its parts: "id parent text". An id that begins with a
// is an assistant's, with b a boundary, with s a summary, with x a system record,
// else a user's. "-" means no parent.
func claudeRecord(of, metadata string) string {
	id, rest, _ := strings.Cut(of, " ")
	parent, text, _ := strings.Cut(rest, " ")
	parent = `"` + parent + `"`
	if parent == `"-"` {
		parent = "null"
	}
	head := fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"sessionId":"s","uuid":"%s",`, parent, id)
	switch id[0] {
	case 'a':
		return head + fmt.Sprintf(`"type":"assistant","message":{"id":"m-%s","role":"assistant","content":[{"type":"text","text":"%s"}]}}`, id, text)
	case 'b':
		return head + fmt.Sprintf(`"type":"system","subtype":"compact_boundary","content":"Conversation compacted","logicalParentUuid":"%s","compactMetadata":{"trigger":"auto"%s}}`, text, metadata)
	case 's':
		return head + fmt.Sprintf(`"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"%s"}}`, text)
	case 'x':
		return head + `"type":"system","subtype":"stop_hook_summary"}`
	}
	return head + fmt.Sprintf(`"type":"user","message":{"role":"user","content":"%s"}}`, text)
}

func claudeLines(records ...string) string {
	var b strings.Builder
	for _, r := range records {
		r, metadata, _ := strings.Cut(r, "|")
		b.WriteString(claudeRecord(r, metadata) + "\n")
	}
	return b.String()
}

func segmentOf(head, anchor, tail string) string {
	return fmt.Sprintf(`,"preservedSegment":{"headUuid":"%s","anchorUuid":"%s","tailUuid":"%s"}`, head, anchor, tail)
}

func messagesOf(anchor string, uuids ...string) string {
	list := `["` + strings.Join(uuids, `","`) + `"]`
	return fmt.Sprintf(`,"preservedMessages":{"anchorUuid":"%s","uuids":%s,"allUuids":%s}`, anchor, list, list)
}

// The records are in the format of claude-code 2.1.220 to 2.1.239. Each removed
// record says gone, each kept one says kept.
func TestClaudeCompactionIsApplied(t *testing.T) {
	before := []string{"u0 - gone0", "a0 u0 gone1", "u1 a0 kept0", "a1 u1 kept1"}
	after := []string{"s1 b1 sum", "u2 a1 new0", "a2 u2 new1"}
	join := func(boundary string, rest ...string) string {
		return claudeLines(append(append(append([]string{}, before...), boundary), rest...)...)
	}
	for _, c := range []struct{ name, in, want string }{
		{"segment behind the summary", join("b1 - a1|"+segmentOf("u1", "s1", "a1"), after...), "sum kept0 kept1 new0 new1"},
		{"list behind the summary", join("b1 - a1|"+messagesOf("s1", "u1", "a1"), after...), "sum kept0 kept1 new0 new1"},
		{"list and segment", join("b1 - a1|"+segmentOf("u0", "s1", "a1")+messagesOf("s1", "u1", "a1"), after...), "sum kept0 kept1 new0 new1"},
		{"list with gaps", join("b1 - a1|"+messagesOf("s1", "u0", "a1", "lost", "a1"), after...), "sum gone0 kept1 new0 new1"},
		{"a list of which nothing is there", join("b1 - a1|"+messagesOf("s1", "lost"), after...), "sum new0 new1"},
		{"segment without its head", join("b1 - a1|"+segmentOf("lost", "s1", "a1"), after...), "sum new0 new1"},
		{"segment without its tail", join("b1 - a1|"+segmentOf("u1", "s1", "lost"), after...), "sum kept0 kept1 new0 new1"},
		{"segment without its anchor", join("b1 - a1|"+segmentOf("u1", "lost", "a1"), after...), "sum kept0 kept1 new0 new1"},
		{"anchor at the boundary: the beginning was kept", join("b1 - a1|"+segmentOf("u0", "b1", "a0"), "s1 b1 sum", "u2 s1 new0", "a2 u2 new1"), "gone0 gone1 sum new0 new1"},
		{"anchor at the boundary, list", join("b1 - a1|"+messagesOf("b1", "u0", "a0"), "s1 b1 sum", "u2 s1 new0", "a2 u2 new1"), "gone0 gone1 sum new0 new1"},
		{"neither: nothing was kept", join("b1 - a1", "s1 b1 sum", "u2 s1 new0", "a2 u2 new1"), "sum new0 new1"},
		{"neither, and the parents lead past the boundary", join("b1 - a1", after...), "sum new0 new1"},
		{"neither, and the session was taken back to before it", join("b1 - a1", "s1 b1 sum", "u2 u0 new0"), "gone0 new0"},
		{"nothing after the summary", join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 sum"), "sum kept0 kept1"},
		{"records between the boundary and the summary", join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "x1 b1", "s1 x1 sum", "u2 a1 new0"), "sum kept0 kept1 new0"},
		{"the summary before its boundary", join("s1 a1 sum", "b1 s1 a1|"+messagesOf("s1", "u1", "a1"), "u2 b1 new0"), "sum kept0 kept1 new0"},
		{"the summary before its boundary, and no more", join("s1 a1 sum", "b1 s1 a1|"+messagesOf("s1", "u1", "a1")), "sum kept0 kept1"},
		{"no summary", join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "u2 a1 new0"), "kept0 kept1 new0"},
		{"kept records written again", join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 sum", "u1 s1 kept0", "a1 u1 kept1", "u2 a1 new0"), "sum kept0 kept1 new0"},
		{"kept records written again, and not named", join("b1 - a1", "s1 b1 sum", "u1 s1 kept0", "a1 u1 kept1", "u2 a1 new0"), "sum kept0 kept1 new0"},
		{"everything written again", join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 sum", "u0 - gone0", "a0 u0 gone1", "u1 a0 kept0", "a1 u1 kept1", "u2 a1 new0"), "sum kept0 kept1 new0"},
		{"the file is not in the order of the parents", claudeLines("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 sum", "a1 u1 kept1", "u1 a0 kept0", "u0 - gone0", "a0 u0 gone1", "a2 u2 new1", "u2 a1 new0"), "sum kept0 kept1 new0 new1"},
		{"a branch that was taken back", join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 sum", "u2 a1 gone", "a2 u2 gone", "u3 a1 new0"), "sum kept0 kept1 new0"},
		{"a circle", claudeLines("u0 a0 one", "a0 u0 two"), "two one"},
		{"two compactions, the second keeps what the first kept",
			join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 gone", "u2 a1 kept2", "a2 u2 kept3", "b2 - a2|"+segmentOf("u1", "s2", "a2"), "s2 b2 sum", "u3 a2 new0"),
			"sum kept0 kept1 kept2 kept3 new0"},
		{"two compactions, the second keeps nothing",
			join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 gone", "u2 a1 gone", "b2 - u2", "s2 b2 sum", "u3 s2 new0"),
			"sum new0"},
		{"two compactions, the second keeps the first summary",
			join("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 kept", "u2 a1 kept2", "b2 - u2|"+segmentOf("s1", "s2", "u2"), "s2 b2 sum", "u3 u2 new0"),
			"sum kept kept0 kept1 kept2 new0"},
		{"two compactions, the first boundary written again",
			join("b1 - a1", "s1 b1 gone", "u2 s1 kept2", "b2 - u2|"+messagesOf("s2", "u2", "b1"), "s2 b2 sum", "b1 s2 a1", "u2 b1 kept2", "u3 u2 new0"),
			"sum kept2 new0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := decoded(t, c.in)
			if said(got) != c.want || got.Format != "claudecode" {
				t.Errorf("%s: %s, want %s", got.Format, said(got), c.want)
			}
			if err := sound(got.Messages); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestClaudeBoundaryOfASideChainIsNotTheSessions(t *testing.T) {
	side := strings.ReplaceAll(claudeLines("b1 - a1|"+segmentOf("u1", "s1", "a1"), "s1 b1 of the agent"), `"isSidechain":false`, `"isSidechain":true`)
	if got := said(decoded(t, claudeLines("u1 - one", "a1 u1 two")+side+claudeLines("u2 a1 three"))); got != "one two three" {
		t.Error(got)
	}
}

func TestClaudeMicrocompactionIsNotABoundary(t *testing.T) {
	micro := `{"parentUuid":"a1","isSidechain":false,"type":"system","subtype":"microcompact_boundary","uuid":"mc","sessionId":"s","microcompactMetadata":{"compactedToolIds":[]}}` + "\n"
	in := claudeLines("u0 - gone", "u1 u0 kept", "b1 - u1|"+segmentOf("u1", "s1", "u1"), "s1 b1 sum", "a1 u1 new0") + micro + claudeLines("u2 mc new1")
	if got := said(decoded(t, in)); got != "sum kept new0 new1" {
		t.Error(got)
	}
}

// Whatever the records name, no message occurs twice and the reader ends.
func TestClaudeRecordsInAnyOrderAreSound(t *testing.T) {
	ids := []string{"u0", "a0", "u1", "a1", "b1", "s1", "x1", "u2", "b2", "s2"}
	rapid.Check(t, func(t *rapid.T) {
		var records []string
		for n := range rapid.IntRange(1, 24).Draw(t, "records") {
			id := func(what string) string { return rapid.SampledFrom(append(ids, "-", "lost")).Draw(t, what) }
			r := rapid.SampledFrom(ids).Draw(t, "id") + " " + id("parent") + " " + fmt.Sprintf("t%d", n%5)
			if r[0] == 'b' {
				r += "|" + segmentOf(id("head"), id("anchor"), id("tail"))
				if rapid.Bool().Draw(t, "list") {
					r += messagesOf(id("anchor"), id("kept"), id("kept"))
				}
			}
			records = append(records, r)
		}
		in := claudeLines(records...)
		var all []peek
		for line := range strings.Lines(in) {
			all = append(all, peekValue(line))
		}
		path := newClaudeSession(all).visibleRecords()
		if slices.Sort(path); len(slices.Compact(path)) < len(path) {
			t.Fatalf("%v", path)
		}
		c, err := DecodeBytes([]byte(in), Options{Format: "claudecode"})
		if err != nil {
			return // nothing that was said
		}
		if err := sound(c.Messages); err != nil {
			t.Fatal(err)
		}
	})
}
