package levels_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
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

func size(m chat.Message) int {
	n := 4
	for _, p := range m.Parts {
		n += count(p.Text) + count(p.Name) + count(p.Args)
	}
	return n
}

func viewOf(t chat.Transcript) levels.View {
	v := levels.View{Messages: t, Count: count, Size: size, Window: 200000, Protections: protection.Policy{}.Protections(t)}
	calls := files.Calls(t)
	for i, m := range t {
		v.Sizes = append(v.Sizes, size(m))
		v.Facts = append(v.Facts, files.ScanMessage(m, calls[i]))
	}
	return v
}

func total(t chat.Transcript) (n int) {
	for _, m := range t {
		n += size(m)
	}
	return n
}

// A kept counts what one of the two measures asks for, and what is left of it.
type kept struct{ wanted, kept, before, after int }

func (k *kept) share() float64 { return float64(k.kept) / float64(k.wanted) }
func (k *kept) size() float64  { return float64(k.after) / float64(k.before) }

func (k *kept) add(before, after chat.Transcript) {
	k.before, k.after = k.before+total(before), k.after+total(after)
}

func (k *kept) hit(is bool) {
	k.wanted++
	if is {
		k.kept++
	}
}

// TestSoftKeepsWhatIsNeeded holds the two measures of what is kept on the
// sessions of the shared corpus: more than the newest tokens of the same size
// would keep of the identifiers (about 0.80), and about as many of the edits (0.68).
func TestSoftKeepsWhatIsNeeded(t *testing.T) {
	for _, test := range []struct {
		name            string
		soft            levels.Soft
		ids, edits, max float64
	}{
		{"soft", levels.Soft{}, 0.90, 0.66, 0.47},
		{"all", levels.Soft{All: true}, 0.72, 0.27, 0.31},
	} {
		var ids, edits kept
		for _, s := range sessions(t) {
			for pct := 30; pct < 100; pct += 10 {
				measure(t, s, pct, test.soft, &ids, &edits)
			}
		}
		t.Logf("%s: identifiers %.3f of %d at %.3f; edits %.3f of %d at %.3f", test.name, ids.share(), ids.wanted, ids.size(), edits.share(), edits.wanted, edits.size())
		if ids.share() < test.ids || edits.share() < test.edits || ids.size() > test.max {
			t.Errorf("%s: want identifiers %.2f, edits %.2f at most at %.2f", test.name, test.ids, test.edits, test.max)
		}
	}
}

// measure cuts s at pct percent and adds what soft keeps of what is needed.
func measure(t *testing.T, s chat.Transcript, pct int, soft levels.Soft, ids, edits *kept) {
	cut := safeCut(s, len(s)*pct/100)
	if len(s) < 40 || cut < 6 {
		return
	}
	pre, fut := s[:cut], s[cut:]
	want := anchors(pre, fut)
	if len(want) == 0 && pct != 60 {
		return
	}
	out := soften(t, soft, pre)
	if pct == 60 {
		ids.add(pre, out)
		var b strings.Builder
		for _, m := range out {
			b.WriteString(measureText(m) + "\n")
		}
		for _, id := range needed(pre, fut) {
			ids.hit(strings.Contains(b.String(), id))
		}
	}
	if len(want) > 0 {
		edits.add(pre, out)
		have := bodyLines(out)
		for _, a := range want {
			edits.hit(all(a, have))
		}
	}
}

var counter = must(tokens.Load("cl100k_base"))

func count(s string) int { return counter.Count(s) }
