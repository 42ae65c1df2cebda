package levels_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/memory"
	"github.com/tiercompact/tiercompact/tokens"
)

// sessions returns the OpenAI sessions of the shared corpus.
func sessions(t testing.TB) []chat.Transcript {
	t.Helper()
	names, _ := filepath.Glob("../../shared/transcripts/go-openai/*.json")
	if len(names) == 0 {
		t.Skip("the corpus ../shared/transcripts is not here")
	}
	var out []chat.Transcript
	for _, name := range names {
		out = append(out, readSession(t, name))
	}
	return out
}

func readSession(t testing.TB, name string) chat.Transcript {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var raw []struct {
		Role    chat.Role
		Content *string
		Calls   []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		ID string `json:"tool_call_id"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	var out chat.Transcript
	for i, r := range raw {
		m := chat.Message{ID: filepath.Base(name) + string(rune('a'+i%26)) + strings.Repeat("x", i/26), Role: r.Role}
		if r.Content != nil && *r.Content != "" {
			kind := chat.Text
			if r.Role == chat.Tool {
				kind = chat.Result
			}
			m.Parts = append(m.Parts, chat.Part{Kind: kind, Text: *r.Content, ID: r.ID})
		} else if r.Role == chat.Tool {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Result, ID: r.ID})
		}
		for _, c := range r.Calls {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		out = append(out, m)
	}
	return out
}

var idPattern = regexp.MustCompile(`(?:[\pL\pN_.-]+/)+[\pL\pN_.-]+|[A-Za-z]+_[A-Za-z_0-9]{2,}|[a-z]+[A-Z][\pL\pN_]+|\b[0-9a-f]{7,40}\b|\b[A-Z]{2,}-[\pL\pN_]+\b|\b[\pL\pN_]+\.(?:ts|js|json|md|cjs|go|py|rs|tsx|cs|java|c|h|cpp|yaml|yml|toml)\b`)

func measureText(m chat.Message) string {
	var out []string
	for _, p := range m.Parts {
		out = append(out, p.Text, p.Name, p.Args)
	}
	return strings.Join(out, "\n")
}

func measureIDs(ms []chat.Message) map[string]bool {
	out := make(map[string]bool)
	for _, m := range ms {
		for _, id := range idPattern.FindAllString(measureText(m), -1) {
			if len(id) >= 4 {
				out[id] = true
			}
		}
	}
	return out
}

func needed(pre, fut []chat.Message) []string {
	var said []chat.Message
	for _, m := range fut {
		if m.Role == chat.Assistant {
			said = append(said, m)
		}
	}
	future, before, last, first := measureIDs(said), measureIDs(pre), measureIDs(pre[len(pre)-5:]), measureIDs(pre[:1])
	var out []string
	for id := range future {
		if before[id] && !last[id] && !first[id] {
			out = append(out, id)
		}
	}
	return out
}

func bodyLines(ms []chat.Message) map[string]bool {
	out := make(map[string]bool)
	for _, m := range ms {
		for _, p := range m.Parts {
			texts := []string{p.Text, p.Args}
			var a map[string]any
			if p.Kind == chat.Call && json.Unmarshal([]byte(p.Args), &a) == nil {
				for _, v := range a {
					if s, ok := v.(string); ok {
						texts = append(texts, s)
					}
				}
			}
			for _, s := range texts {
				for l := range strings.SplitSeq(s, "\n") {
					out[strings.TrimSpace(l)] = true
				}
			}
		}
	}
	return out
}

func all(lines []string, in map[string]bool) bool {
	for _, l := range lines {
		if !in[l] {
			return false
		}
	}
	return true
}

func anchors(pre, fut []chat.Message) [][]string {
	before, last, read := bodyLines(pre), bodyLines(pre[len(pre)-5:]), make(map[string]bool)
	var out [][]string
	for _, m := range fut {
		for _, p := range m.Parts {
			if p.Kind != chat.Call {
				continue
			}
			var a struct {
				File string  `json:"file_path"`
				Path string  `json:"path"`
				Old  *string `json:"old_string"`
			}
			_ = json.Unmarshal([]byte(p.Args), &a)
			name, path := strings.ToLower(p.Name), a.File+a.Path
			if name == "read" || name == "view" {
				read[path] = true
			}
			if a.Old != nil {
				var lines []string
				for l := range strings.SplitSeq(*a.Old, "\n") {
					if l = strings.TrimSpace(l); len(l) >= 12 {
						lines = append(lines, l)
					}
				}
				if len(lines) > 0 && !read[path] && all(lines, before) && !all(lines, last) {
					out = append(out, lines)
				}
			}
			if a.Old != nil || name == "write" {
				read[path] = true
			}
		}
	}
	return out
}

func safeCut(t chat.Transcript, at int) int {
	for at > 0 && at < len(t) && t[at].Role == chat.Tool {
		at--
	}
	return at
}

func count(s string) int { return tokenCount(s) }

func size(m chat.Message) int {
	n := 4
	for _, p := range m.Parts {
		n += count(p.Text) + count(p.Name) + count(p.Args)
	}
	return n
}

func viewOf(t chat.Transcript) levels.View {
	v := levels.View{Messages: t, Count: count, Size: size, Window: 200000, Holds: memory.Policy{}.Holds(t)}
	calls := files.Calls(t)
	for i, m := range t {
		v.Sizes = append(v.Sizes, size(m))
		v.Facts = append(v.Facts, files.Scan(m, calls[i]))
	}
	return v
}

func total(t chat.Transcript) (n int) {
	for _, m := range t {
		n += size(m)
	}
	return n
}

// TestSoftKeepsWhatIsNeeded gives the two measures of what is kept, on the
// sessions of the shared corpus.
func TestSoftKeepsWhatIsNeeded(t *testing.T) {
	for _, test := range []struct {
		name string
		soft levels.Soft
	}{{"soft", levels.Soft{}}, {"all", levels.Soft{All: true}}} {
		var ids, idsKept, edits, editsKept, before, after, eBefore, eAfter int
		for _, s := range sessions(t) {
			for pct := 30; pct < 100; pct += 10 {
				cut := safeCut(s, len(s)*pct/100)
				if len(s) < 40 || cut < 6 {
					continue
				}
				pre, fut := s[:cut], s[cut:]
				want := anchors(pre, fut)
				if len(want) == 0 && pct != 60 {
					continue
				}
				v := viewOf(pre)
				plan, err := test.soft.Plan(context.Background(), v)
				if err != nil {
					t.Fatal(err)
				}
				out, err := edit.Apply(pre, plan, edit.Rules{Locked: v.Locked, Size: size})
				if err != nil {
					t.Fatal(err)
				}
				was, is := total(pre), total(out)
				if pct == 60 {
					before, after = before+was, after+is
					var b strings.Builder
					for _, m := range out {
						b.WriteString(measureText(m) + "\n")
					}
					for _, id := range needed(pre, fut) {
						ids++
						if strings.Contains(b.String(), id) {
							idsKept++
						} else if testing.Verbose() && os.Getenv("LOST") != "" {
							t.Log("lost", id)
						}
					}
				}
				if len(want) > 0 {
					eBefore, eAfter = eBefore+was, eAfter+is
					have := bodyLines(out)
					for _, a := range want {
						edits++
						if all(a, have) {
							editsKept++
						}
					}
				}
			}
		}
		t.Logf("%s: identifiers %.3f of %d at %.3f; edits %.3f of %d at %.3f", test.name, float64(idsKept)/float64(ids), ids, float64(after)/float64(before),
			float64(editsKept)/float64(edits), edits, float64(eAfter)/float64(eBefore))
	}
}

var counter = func() *tokens.Encoding {
	e, err := tokens.Load("cl100k_base")
	if err != nil {
		panic(err)
	}
	return e
}()

func tokenCount(s string) int { return counter.Count(s) }
