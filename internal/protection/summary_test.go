package protection_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
)

func TestSummaryGivesBackItsNumberAndContent(t *testing.T) {
	for _, role := range []chat.Role{chat.Assistant, chat.System} {
		for _, content := range []string{"", "one line", "two\nlines, > and v7", "\n\nbegins empty", "日本語"} {
			m := protection.NewSummary(12, role, content, "0123abcd")
			if m.Role != role || !m.IsSummary() || m.Recall != "0123abcd" || m.ID != "summary-12" || m.Parts[0].Kind != chat.Summary {
				t.Errorf("%s: %+v", role, m)
			}
			if n, got := protection.SummaryContent(m); n != 12 || got != content {
				t.Errorf("%s: number %d, content %q, want 12, %q", role, n, got, content)
			}
		}
	}
}

func TestSummaryBeginsAsWritten(t *testing.T) {
	for role, head := range map[chat.Role]string{
		chat.Assistant: "<COMPACT-SUMMARY v3>\nso far", chat.System: "[Compressed Message Summary] v3\nso far",
		chat.User: "<COMPACT-SUMMARY v3>\nso far", // no other role can have one
	} {
		m := protection.NewSummary(3, role, "so far", "")
		if m.Text() != head || role == chat.User && m.Role != chat.Assistant {
			t.Errorf("%s: a %s message %q", role, m.Role, m.Text())
		}
	}
}

func TestSummaryContentOfForeignTexts(t *testing.T) {
	tests := []struct {
		text    string
		n       int
		content string
	}{
		{"<COMPACT-SUMMARY v2> on one line\nand more", 2, "on one line\nand more"},
		{"<COMPACT-SUMMARY v2>", 2, ""},
		{"<COMPACT-SUMMARY vX>\nso far", 0, "so far"},
		{"<COMPACT-SUMMARY v-4>\nso far", 0, "so far"},
		{"<COMPACT-SUMMARY v99999999999999999999>\nso far", 0, "so far"},
		{"[Compressed Message Summary]\nso far", 0, "so far"},
		{"[Compressed Message Summary] v3\nso far", 3, "so far"},
		{"", 0, ""},
	}
	for _, test := range tests {
		m := text(chat.Assistant, test.text)
		if n, content := protection.SummaryContent(m); n != test.n || content != test.content {
			t.Errorf("%q: %d, %q, want %d, %q", test.text, n, content, test.n, test.content)
		}
	}
}

func TestMarkerHasCountAndNames(t *testing.T) {
	m := protection.NewMarker(chat.User, 1, "0123abcd", []string{"a.go", "getToken"})
	if m.Text() != "[marker 1 message left out; recall 0123abcd]\nnames: a.go getToken" {
		t.Errorf("text %q", m.Text())
	}
	if m.State != chat.Marked || m.Role != chat.User || m.Recall != "0123abcd" || m.Typed() {
		t.Errorf("%+v is no marker", m)
	}
	if got := protection.MarkerNames(m); !slices.Equal(got, []string{"a.go", "getToken"}) {
		t.Errorf("names %v", got)
	}
	bare := protection.NewMarker(chat.Assistant, 3, "0123abcd", nil)
	if got := protection.MarkerNames(bare); got != nil || !strings.Contains(bare.Text(), "3 messages") {
		t.Errorf("%q: names %v", bare.Text(), got)
	}
}

func TestRecallIDs(t *testing.T) {
	outlined := func(parts ...chat.Part) chat.Message { return chat.Message{State: chat.Outlined, Parts: parts} }
	said := func(s string) chat.Part { return chat.Part{Kind: chat.Text, Text: s} }
	tests := []struct {
		name string
		m    chat.Message
		want []string
	}{
		{"a marker", marker(chat.User), []string{"0123abcd"}},
		{"what was not rewritten", text(chat.User, "recall 0123abcd"), nil},
		{"several, in order", outlined(said("recall 11111111] and recall 22222222"), said("recall 33333333")), []string{"11111111", "22222222", "33333333"}},
		{"in arguments", outlined(chat.Part{Kind: chat.Call, Args: `{"content":"[outline; recall deadbeef]"}`}), []string{"deadbeef"}},
		{"no id behind the word", outlined(said("recall the port; recall 1234; recall XYZ12345; recall ")), nil},
		{"the word twice", outlined(said("recall recall 0123abcd")), []string{"0123abcd"}},
	}
	for _, test := range tests {
		if got := protection.RecallIDs(test.m); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
