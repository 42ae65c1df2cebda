package wire

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
)

// compacted returns a possible outcome of a round on t: groups dropped, texts
// shortened, arguments replaced, images removed, messages inserted.
func compacted(t *rapid.T, from chat.Transcript) chat.Transcript {
	_, of := chat.Groups(from)
	drop := map[int]bool{}
	var out chat.Transcript
	for i, m := range from {
		if _, known := drop[of[i]]; !known {
			drop[of[i]] = m.Role != chat.System && rapid.IntRange(0, 3).Draw(t, "drop") == 0
		}
		if drop[of[i]] {
			continue
		}
		if m.Role == chat.User && rapid.IntRange(0, 5).Draw(t, "insert") == 0 {
			out = append(out, chat.NewText(chat.Assistant, "<COMPACT-SUMMARY v1>\nall \"well\""))
		}
		if rapid.IntRange(0, 2).Draw(t, "change") == 0 {
			m = shortened(t, m)
		}
		out = append(out, m)
	}
	return out
}

func shortened(t *rapid.T, m chat.Message) chat.Message {
	parts := slices.Clone(m.Parts)
	images := rapid.Bool().Draw(t, "images")
	text := rapid.StringMatching(`[a-z"\\\n<é😀]{1,12}`).Draw(t, "text")
	for i, p := range parts {
		switch {
		case p.Kind == chat.Call:
			parts[i].Args, parts[i].Raw = `{"input":"cut"}`, ""
		case p.Text != "" && (p.Kind == chat.Text || p.Kind == chat.Result):
			parts[i].Text, parts[i].Raw = text, ""
		}
	}
	if !images && m.Text() != "" {
		parts = slices.DeleteFunc(parts, func(p chat.Part) bool { return p.Kind == chat.Image })
	}
	return m.With(chat.Outlined, parts...)
}

// checkCompacted fails if the messages of c differ after they are written in its
// format and read again.
func checkCompacted(t testing.TB, fatal func(...any), c Conversation) {
	if len(c.Messages) == 0 {
		return // an empty file is not read
	}
	out := encoded(t, c, "")
	again, err := DecodeBytes([]byte(out), Options{Format: c.Format})
	if err != nil {
		fatal(fmt.Errorf("%w in %s", err, out))
		return
	}
	if len(again.Messages) != len(c.Messages) {
		fatal(fmt.Sprintf("%d messages became %d in %s", len(c.Messages), len(again.Messages), out))
		return
	}
	for i := range c.Messages {
		if a, b := gist(c.Messages[i]), gist(again.Messages[i]); a != b {
			fatal(fmt.Sprintf("message %d: %q became %q in %s", i, a, b, out))
		}
	}
	was, is := chat.PairUp(c.Messages), chat.PairUp(again.Messages)
	if !slices.Equal(was.CallOf, is.CallOf) {
		fatal(fmt.Sprintf("pairs %v became %v in %s", was.CallOf, is.CallOf, out))
	}
}

func TestAnyCompactionComesBackAsItWasMade(t *testing.T) {
	var fit []int // shapes without messages that an API's rules omit or join
	for i, s := range shapes {
		switch s.name {
		case "empty contents", "text before the result", "empty list", "empty body", "reasoning":
		default:
			fit = append(fit, i)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := shapes[rapid.SampledFrom(fit).Draw(rt, "shape")]
		c := decoded(t, s.in)
		c.Messages = compacted(rt, c.Messages)
		checkCompacted(t, func(a ...any) { rt.Fatal(a...) }, c)
	})
}

func TestHalfOfARealSessionComesBackAsItWasMade(t *testing.T) {
	for _, file := range ownFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := DecodeBytes(data, Options{Name: file, Chat: 1})
		if err != nil {
			t.Fatal(err)
		}
		groups, _ := chat.Groups(c.Messages)
		var half chat.Transcript
		for i, g := range groups {
			if i%2 == 0 || c.Messages[g[0]].Role == chat.System {
				for _, at := range g {
					half = append(half, c.Messages[at])
				}
			}
		}
		untouched := 0
		for _, m := range half {
			untouched += strings.Count(string(data), m.Source.JSON)
		}
		if untouched < len(half) {
			t.Errorf("%s: %d of %d objects are in the file", file, untouched, len(half))
		}
		c.Messages = half
		checkCompacted(t, func(a ...any) { t.Error(append([]any{file}, a...)...) }, c)
	}
}
