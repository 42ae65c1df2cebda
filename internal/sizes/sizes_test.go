package sizes

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func history(n int) chat.Transcript {
	t := make(chat.Transcript, n)
	for i := range t {
		t[i] = chat.NewText(chat.User, string(rune('a'+i)))
	}
	return t
}

func TestMemoCountsEachMessageOnceAfterKeep(t *testing.T) {
	for _, test := range []struct {
		name        string
		memo        Memo
		cores, want int
	}{
		{"one core", NewMemo(), 1, 0},
		{"several cores", NewMemo(), 4, 0},
		{"the zero Memo caches nothing", Memo{}, 4, 100},
	} {
		var calls atomic.Int64
		count := func(m chat.Message) int {
			calls.Add(1)
			return int([]rune(m.Text())[0])
		}
		first := test.memo.Count(test.cores, history(100), count)
		if calls.Load() != 100 || first.Tokens[7] != 'h' {
			t.Errorf("%s: %d calls, %d tokens", test.name, calls.Load(), first.Tokens[7])
		}
		test.memo.Keep(first)
		calls.Store(0)
		again := test.memo.Count(test.cores, history(100), count)
		if int(calls.Load()) != test.want || !slices.Equal(first.Tokens, again.Tokens) {
			t.Errorf("%s: the second count has %d calls, want %d", test.name, calls.Load(), test.want)
		}
	}
}

func TestMemoKeepsNothingByItself(t *testing.T) {
	m, calls := NewMemo(), 0
	for range 2 {
		m.Count(1, history(1), func(chat.Message) int { calls++; return 1 })
	}
	if calls != 2 {
		t.Errorf("%d calls; a count that is dropped must not change the memo", calls)
	}
}

func TestKeyDiffersForWhatCounts(t *testing.T) {
	seed := NewMemo().seed
	base := chat.Message{ID: "1", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "ab", Args: "c"}}}
	key := messageKey(seed, base)
	for _, test := range []struct {
		name   string
		change func(*chat.Message)
		same   bool
	}{
		{"id of the message", func(m *chat.Message) { m.ID = "2" }, true},
		{"protection", func(m *chat.Message) { m.Protected = true }, true},
		{"role", func(m *chat.Message) { m.Role = chat.Assistant }, false},
		{"where a field ends", func(m *chat.Message) { m.Parts[0].Text, m.Parts[0].Args = "a", "bc" }, false},
		{"a second part", func(m *chat.Message) { m.Parts = append(m.Parts, chat.Part{Kind: chat.Text}) }, false},
		{"size of an image", func(m *chat.Message) { m.Parts[0].Image = &chat.Picture{Width: 1} }, false},
	} {
		m := base
		m.Parts = slices.Clone(base.Parts)
		if test.change(&m); (messageKey(seed, m) == key) != test.same {
			t.Errorf("%s: same key: %t", test.name, !test.same)
		}
	}
}

func TestMemoForgetsWhatIsNoLongerInTheHistory(t *testing.T) {
	m, most := NewMemo(), 0
	for round := range 1000 {
		t := make(chat.Transcript, 100)
		for i := range t {
			t[i] = chat.NewText(chat.User, string(rune('a'+round*100+i)))
		}
		m.Keep(m.Count(1, t, func(chat.Message) int { return 1 }))
		most = max(most, m.Len())
	}
	if most > 1000 {
		t.Errorf("a memo of 100 messages knew %d", most)
	}
}
