package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/memory"
)

func TestReducedLowersTurnsAndPairsInTurn(t *testing.T) {
	for _, test := range []struct {
		turns, pairs int
		want         string
	}{
		{6, 4, "6,4 5,4 5,3 4,3 4,2 3,2 3,1 2,1 1,1"},
		{1, 3, "1,3 1,2 1,1"},
		{4, 1, "4,1 3,1 2,1 1,1"},
		{1, 1, "1,1"},
	} {
		var got []string
		for k := range test.turns + test.pairs - 1 {
			turns, pairs := memory.Reduced(test.turns, test.pairs, k)
			got = append(got, fmt.Sprintf("%d,%d", turns, pairs))
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("got %s, want %s", s, test.want)
		}
	}
}

func TestNumberOfASummary(t *testing.T) {
	for head, want := range map[string]int{
		"<COMPACT-SUMMARY v7>": 7, "[Compressed Message Summary] v3": 3, "[Compressed Message Summary]": 0,
		"<COMPACT-SUMMARY v99999999999999999999>": 0, "<COMPACT-SUMMARY v-2>": 0, "": 0,
	} {
		if n, content := memory.SummaryContent(chat.NewText(chat.Assistant, head+"\nport 8443")); n != want || !strings.Contains(content, "port 8443") {
			t.Errorf("%q: number %d, content %q", head, n, content)
		}
	}
}

func TestIDsOfOursAreReserved(t *testing.T) {
	summary := memory.NewSummary(1, chat.Assistant, "x", "")
	marker := memory.NewMarker(chat.User, 2, "abc", nil)
	if memory.Reserved(summary) || memory.Reserved(marker) {
		t.Error("ours count as taken")
	}
	for _, id := range []string{summary.ID, marker.ID} {
		if !memory.Reserved(chat.Message{ID: id, Role: chat.User}) {
			t.Errorf("%s is not reserved", id)
		}
	}
}
