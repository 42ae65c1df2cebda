package suite

import (
	"fmt"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	made "github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/tokens"
)

// After each round, the lists of bare names have at most 3 % of the window together, and
// no part of an escape, of a sentence or of a call's parameters is in them.
func TestListsOfNamesAreShortAndClean(t *testing.T) {
	for _, preset := range []tiercompact.Preset{tiercompact.Default, tiercompact.Eager, tiercompact.Steady} {
		for _, window := range []int{8_000, 24_000} {
			t.Run(fmt.Sprint(preset, window), func(t *testing.T) {
				t.Parallel()
				c, err := tiercompact.New(tiercompact.Config{Window: window, Preset: preset})
				if err != nil {
					t.Fatal(err)
				}
				rounds, lists := 0, 0
				s := c.Session("lists")
				for _, m := range made.Of(1, 300).Messages {
					report, err := s.AddMessage(t.Context(), noisy(m))
					if err != nil {
						t.Fatal(err)
					}
					if !report.Compacted() {
						continue
					}
					rounds++
					lists += checkLists(t, s.Messages(), window)
				}
				if rounds < 3 || lists == 0 {
					t.Errorf("%d rounds, %d lists: this tests nothing", rounds, lists)
				}
			})
		}
	}
}

// noisy adds to a tool result what is no name.
func noisy(m chat.Message) chat.Message {
	if m.Role != chat.Tool {
		return m
	}
	parts := append([]chat.Part(nil), m.Parts...)
	for i := range parts {
		if parts[i].Kind == chat.Result {
			parts[i].Raw = ""
			parts[i].Text += "\n\x1b[33mpageCursor\x1b[0m of " + `"a\nTestSum"` + " in frame_store...is committer/author\nsrc/frame/store.go-194-\tx := 1\nfile_path"
		}
	}
	m.Parts = parts
	return m
}

func checkLists(t *testing.T, messages []chat.Message, window int) (lists int) {
	t.Helper()
	counter, err := tokens.ForModel("")
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, m := range messages {
		if m.State == chat.Active {
			continue
		}
		lines := strings.Split(m.TextWithCalls(), "\n")
		for i, line := range lines {
			list, ok := strings.CutPrefix(line, "also: ")
			if !ok {
				list, ok = strings.CutPrefix(line, "names: ")
			}
			if !ok && (i == 0 || lines[i-1] != "## Names on record") {
				continue
			}
			lists++
			used += counter.Text(line)
			for name := range strings.FieldsSeq(strings.ReplaceAll(list, ",", " ")) {
				switch name {
				case "33mpageCursor", "nTestSum", "TestSum", "frame_store...is", "committer/author", "src/frame/store.go-194", "file_path":
					t.Errorf("%q is listed: %s", name, line)
				}
			}
		}
	}
	if limit := window * 3 / 100; used > limit {
		t.Errorf("lists of names have %d tokens, at most %d are due", used, limit)
	}
	return lists
}
