package corpus_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
)

// body is the text of a message, with the arguments of calls.
func body(m chat.Message) string {
	texts := []string{m.Text()}
	for _, p := range m.Parts {
		texts = append(texts, p.Args)
	}
	return strings.Join(texts, "\n")
}

func TestSessionsAreWhole(t *testing.T) {
	for _, s := range corpus.Default(7) {
		if problems := chat.Check(s.Messages); len(problems) > 0 {
			t.Errorf("%s: %v", s.Name, problems[0])
		}
		ids := make(map[string]bool)
		for _, f := range s.Facts {
			if !strings.Contains(body(s.Messages[f.Message]), f.Text) {
				t.Errorf("%s: %s %q is not in message %d: %.200s", s.Name, f.ID, f.Text, f.Message, body(s.Messages[f.Message]))
			}
			if f.Query == "" || ids[f.ID] || !slices.Contains(corpus.Kinds(), f.Kind) {
				t.Errorf("%s: %+v", s.Name, f)
			}
			ids[f.ID] = true
		}
	}
}

func TestSizesAreAsRequested(t *testing.T) {
	for _, want := range []int{20, 100, 1000} {
		if got := len(corpus.Of(1, want).Messages); got < want-8 || got > want+want/5+8 {
			t.Errorf("%d messages, want about %d", got, want)
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	const golden = "06f1291ade7c550dd9d4658bf3129abfe32f0e8e6904ffc6f3b140062f7b3bef"
	data, err := json.Marshal(corpus.Small(42))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != golden {
		t.Errorf("the corpus has changed: %s", got)
	}
	if other, _ := json.Marshal(corpus.Small(43)); string(other) == string(data) {
		t.Error("another seed gives the same sessions")
	}
}

// An edit removes text that is in the file: the text that was read, changed by the
// edits since.
func TestEditsRemoveReadText(t *testing.T) {
	for _, s := range corpus.Small(3) {
		seen := ""
		for i, m := range s.Messages {
			for _, p := range m.Parts {
				var args struct {
					Old     string `json:"old_string"`
					New     string `json:"new_string"`
					Content string `json:"content"`
				}
				if p.Kind != chat.Call || json.Unmarshal([]byte(p.Args), &args) != nil {
					continue
				}
				for line := range strings.SplitSeq(args.Old, "\n") {
					if !strings.Contains(seen, line) && line != "" {
						t.Errorf("%s: message %d edits %q, which was not shown", s.Name, i, line)
					}
				}
				seen += args.New + args.Content
			}
			seen += m.Text()
		}
	}
}

func TestAllKindsArePlanted(t *testing.T) {
	n := make(map[corpus.Kind]int)
	for _, s := range corpus.Small(42) {
		for _, f := range s.Facts {
			n[f.Kind]++
		}
	}
	for _, k := range corpus.Kinds() {
		if n[k] == 0 {
			t.Errorf("no fact of the kind %q", k)
		}
	}
	t.Log(n)
}
