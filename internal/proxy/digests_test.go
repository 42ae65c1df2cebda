package proxy

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
)

// A chain is the same whether its messages were seen before or not, and also after the
// cache has forgotten them: it is stored, and compared by other processes.
func TestAChainDoesNotDependOnWhatIsCached(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "b", "ab", "ba"})
	message := rapid.Custom(func(t *rapid.T) chat.Message {
		p := chat.Part{Kind: rapid.SampledFrom([]chat.Kind{chat.Text, chat.Call, chat.Result, chat.Thinking, chat.Image}).Draw(t, "kind"), Text: word.Draw(t, "text"), ID: word.Draw(t, "id"), Name: word.Draw(t, "name"), Args: word.Draw(t, "args")}
		if p.Kind == chat.Image {
			p.Image = &chat.Picture{MediaType: word.Draw(t, "type"), Data: word.Draw(t, "data"), URL: word.Draw(t, "url")}
		}
		return chat.Message{Role: rapid.SampledFrom([]chat.Role{chat.System, chat.User, chat.Assistant, chat.Tool}).Draw(t, "role"), Parts: []chat.Part{p, {Kind: chat.Text, Text: word.Draw(t, "more")}}}
	})
	cached := newDigestCache()
	rapid.Check(t, func(t *rapid.T) {
		history := chat.Transcript(rapid.SliceOf(message).Draw(t, "history"))
		want, _ := chainOf(history, nil)
		if rapid.Bool().Draw(t, "forget") {
			cached.now, cached.before = cached.before, cached.now
			if cached.now == nil {
				cached.now = newDigestCache().now
			}
		}
		for range 2 {
			if got, _ := chainOf(history, cached); !slices.Equal(got, want) {
				t.Fatalf("%x with a cache, %x without", got, want)
			}
		}
	})
}

func TestTheDigestCacheHasALimit(t *testing.T) {
	c := newDigestCache()
	for i := range 3 * maxDigests {
		c.add(digestKey{uint64(i), 1}, [16]byte{1})
		if len(c.now) > maxDigests || len(c.before) > maxDigests {
			t.Fatalf("%d and %d digests", len(c.now), len(c.before))
		}
	}
}
