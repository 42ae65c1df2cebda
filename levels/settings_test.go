package levels

import (
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// viewOf returns a view with messages of the given sizes; negative ones are tool results.
func viewOf(window int, sizes ...int) View {
	v := View{Window: window, Protections: make([]protection.Protection, len(sizes))}
	for _, n := range sizes {
		role := chat.Assistant
		if n < 0 {
			role, n = chat.Tool, -n
		}
		v.Messages, v.Sizes = append(v.Messages, chat.Message{Role: role}), append(v.Sizes, n)
	}
	v.Settings.Share = func(of float64) int { return int(of * float64(window)) }
	v.Settings.KeepLast, v.Settings.KeepShare, v.Settings.Refill = 2, 0.05, true
	return v
}

func TestMoreOfTheNewestStayInSmallWindows(t *testing.T) {
	t.Parallel()
	short := []int{10, 10, 10, 10, 10, 10, 10, 10, 10, 10}
	for name, c := range map[string]struct {
		window    int
		sizes     []int
		keepShare float64
		want      int
	}{
		"large window: by share":         {10_000, []int{300, 300, 100, 100, 300}, 0.05, 3},
		"large window: two at least":     {10_000, []int{300, 900, 900}, 0.05, 2},
		"small window: eight":            {smallWindow, append([]int{500}, short[:9]...), 0.01, 8},
		"small window: more by share":    {smallWindow, short, 0.05, 10},
		"small window: text has a limit": {1000, []int{150, 150, 150, 150}, 0.05, 2},
		"small window: results have not": {1000, []int{-700, 150, -700, 150, -700}, 0.05, 5},
		"above a small window":           {smallWindow + 1, []int{-700, 150, -700, 150, -700}, 0.05, 2},
		"no share: the number alone":     {1000, short, 0, 2},
	} {
		v := viewOf(c.window, c.sizes...)
		v.Settings.KeepShare = c.keepShare
		if got := v.Settings.keptLast(v); got != c.want {
			t.Errorf("%s: %d messages, want %d", name, got, c.want)
		}
	}
}

func TestNamesHaveTheRoomTheyAreWorth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window, first int
		refill        bool
		want          int
	}{
		"lists alone":          {10_000, 3000, false, 300},
		"with lines":           {10_000, 2500, true, 1200},
		"a long first message": {10_000, 2501, true, 1600},
		"a small window":       {2000, 100, true, 60},
		"small, long message":  {2000, 1000, true, 60},
	} {
		v := viewOf(c.window, c.first, 5000)
		v.Protections[0], v.Settings.Refill = protection.First, c.refill
		if got := v.Settings.namesLimit(v); got != c.want {
			t.Errorf("%s: %d tokens, want %d", name, got, c.want)
		}
	}
}
