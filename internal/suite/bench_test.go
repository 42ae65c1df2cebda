package suite

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/files"
	made "github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/wire"
)

// longSession is a coding session of n messages of about 200 bytes on average:
// every fourth turn reads a file of 40 lines, others run tests, edit and talk.
func longSession(n int) chat.Transcript {
	var t chat.Transcript
	for k := 0; len(t) < n; k++ {
		path := fmt.Sprintf("internal/pkg%d/file%d.go", k%40, k%200)
		switch k % 4 {
		case 0:
			t = append(t, call(k, "read", fmt.Sprintf(`{"path":%q}`, path)), chat.NewResult(fmt.Sprint("c", k), goSource(k, 1100)))
		case 1:
			t = append(t, call(k, "bash", `{"command":"go test ./..."}`), chat.NewResult(fmt.Sprint("c", k), "ok  \tgithub.com/acme/shop/internal\t0.01s\n"))
		case 2:
			t = append(t, call(k, "edit", fmt.Sprintf(`{"path":%q,"old_string":"limit := %d","new_string":"limit := %d"}`, path, k, k+1)), chat.NewResult(fmt.Sprint("c", k), "edited"))
		case 3:
			t = append(t, chat.NewText(chat.Assistant, fmt.Sprintf("The handler in %s now checks limit%d before it writes.", path, k)),
				chat.NewText(chat.User, fmt.Sprintf("Good. Now make loadConfig%d read the timeout from the environment.", k)))
		}
	}
	return t[:n]
}

func call(k int, tool, args string) chat.Message {
	return chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: fmt.Sprint("c", k), Name: tool, Args: args}}}
}

func goSource(k, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package pkg%d\n", k%40)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "\n// handle%d_%d answers one request.\nfunc handle%d_%d(w http.ResponseWriter, r *http.Request) {\n\tlimit := %d\n\twrite(w, r, limit)\n}\n", k, i, k, i, k)
	}
	return b.String()
}

// The lengths for which growth is shown. Benchmarks over a length are named
// BenchmarkX/messages=N: make bench-compare searches for that.
var lengths = []int{100, 1000, 10000}

func messages(n int) string { return fmt.Sprint("messages=", n) }

// BenchmarkCount counts the tokens of a session of a length, without a cache.
func BenchmarkCount(b *testing.B) {
	for _, n := range lengths {
		b.Run(messages(n), func(b *testing.B) {
			c, err := tokens.ForModel("")
			if err != nil {
				b.Fatal(err)
			}
			history := longSession(n)
			b.ReportAllocs()
			for b.Loop() {
				for _, m := range history {
					c.Message(m)
				}
			}
		})
	}
}

// BenchmarkLoad loads a session of a length, and counts it.
func BenchmarkLoad(b *testing.B) {
	for _, n := range lengths {
		b.Run(messages(n), func(b *testing.B) {
			c, err := tiercompact.New(tiercompact.Config{Window: 1 << 40})
			if err != nil {
				b.Fatal(err)
			}
			history := longSession(n)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Session("x").Load(history); err != nil {
					b.Fatal(err)
				}
				c.Forget("x")
			}
		})
	}
}

// BenchmarkAddMessage adds a message to a session of a size, without compaction
// and with counting taken out.
func BenchmarkAddMessage(b *testing.B) {
	for _, n := range lengths {
		b.Run(messages(n), func(b *testing.B) {
			c, err := tiercompact.New(tiercompact.Config{Window: 1 << 40, Count: func(text string) int { return len(text) / 4 }})
			if err != nil {
				b.Fatal(err)
			}
			history := longSession(n)
			m := chat.NewText(chat.Assistant, "The handler now checks the limit before it writes.")
			var s *tiercompact.Session
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%max(50, n/10) == 0 { // the length stays near n
					b.StopTimer()
					c.Forget("x")
					s = c.Session("x")
					if err := s.Load(history); err != nil {
						b.Fatal(err)
					}
					if _, err := s.AddMessage(b.Context(), m); err != nil { // makes room for more
						b.Fatal(err)
					}
					runtime.GC() // the garbage of Load is not part of a message
					b.StartTimer()
				}
				if _, err := s.AddMessage(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// warm is a view of a session with all values that AddMessage keeps.
func warm(b *testing.B, t chat.Transcript) levels.View {
	b.Helper()
	c, err := tokens.ForModel("")
	if err != nil {
		b.Fatal(err)
	}
	v := levels.View{Messages: t, Window: 1 << 20, Count: c.Text, Size: c.Message, Protections: protection.Policy{}.Protections(t)}
	calls := files.Calls(t)
	for i, m := range t {
		v.Messages[i].ID = fmt.Sprint("m", i)
		v.Sizes = append(v.Sizes, c.Message(m))
		v.Terms = append(v.Terms, embed.TermsOf(m))
		v.Facts = append(v.Facts, files.ScanMessage(m, calls[i]))
	}
	return v
}

// BenchmarkPlan plans soft and hard (lexical) on sessions of a length, where 10,000
// messages are 2 MB; cold is directly after a Load, without a cache.
func BenchmarkPlan(b *testing.B) {
	soft := func(v levels.View) {
		if edits, err := (levels.Soft{}).Plan(b.Context(), v); err != nil || len(edits) == 0 {
			b.Fatal(len(edits), err)
		}
	}
	hard := func(v levels.View) {
		scores, err := levels.Ranker{Ranking: levels.Fused, Weights: embed.DefaultWeights()}.Score(b.Context(), v)
		if err != nil {
			b.Fatal(err)
		}
		if edits := (levels.Hard{Ledger: 600}).Plan(v, scores.Of); len(edits) == 0 {
			b.Fatal("no edits")
		}
	}
	for _, n := range lengths {
		t := longSession(n)
		v := warm(b, t)
		for _, level := range []struct {
			name string
			plan func(levels.View)
		}{{"soft", soft}, {"hard", hard}} {
			b.Run(messages(n)+"/"+level.name+"/warm", func(b *testing.B) {
				for b.Loop() {
					level.plan(v)
				}
			})
			b.Run(messages(n)+"/"+level.name+"/cold", func(b *testing.B) {
				for b.Loop() {
					level.plan(warm(b, t))
				}
			})
		}
	}
}

// BenchmarkMemory reports the heap of a session of a length, read from OpenAI
// JSON, beside its text and raw JSON together. Rank tables are apart.
func BenchmarkMemory(b *testing.B) {
	for _, n := range lengths {
		b.Run(messages(n), func(b *testing.B) { heapOf(b, n) })
	}
}

func heapOf(b *testing.B, n int) {
	var raw bytes.Buffer
	if err := wire.Encode(&raw, wire.Conversation{Messages: longSession(n)}, "openai"); err != nil {
		b.Fatal(err)
	}
	c, err := tiercompact.New(tiercompact.Config{Window: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		before := heap()
		in, err := wire.DecodeBytes(bytes.Clone(raw.Bytes()), wire.Options{})
		if err != nil {
			b.Fatal(err)
		}
		text := 0
		for _, m := range in.Messages {
			for _, p := range m.Parts {
				text += len(p.Text) + len(p.Args)
			}
		}
		s := c.Session("x")
		if err := s.Load(in.Messages); err != nil {
			b.Fatal(err)
		}
		in = wire.Conversation{}
		held := float64(heap() - before)
		b.ReportMetric(held, "heap-B")
		b.ReportMetric(held/float64(text+raw.Len()), "heap/(text+raw)")
		runtime.KeepAlive(s)
		c.Forget("x")
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkPreflight counts a conversation of a length, first without and then with a cache.
func BenchmarkPreflight(b *testing.B) {
	for _, n := range lengths {
		t := longSession(n)
		c, err := tiercompact.New(tiercompact.Config{Window: 1 << 40})
		if err != nil {
			b.Fatal(err)
		}
		run := func(id string) {
			if _, _, err := c.Preflight(b.Context(), id, t); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(messages(n)+"/first", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				run(fmt.Sprint("id", i))
				c.Forget(fmt.Sprint("id", i))
			}
		})
		b.Run(messages(n)+"/again", func(b *testing.B) {
			for b.Loop() {
				run("same")
			}
		})
	}
}

// BenchmarkRound makes one round of a level on a made-up session of a length and
// of many names, from the plan to the archive, after a Load that is not counted.
func BenchmarkRound(b *testing.B) {
	for _, n := range lengths {
		history := made.Of(42, n).Messages
		for _, level := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency} {
			b.Run(messages(n)+"/"+string(level), func(b *testing.B) { round(b, history, level) })
		}
	}
}

func round(b *testing.B, history chat.Transcript, level levels.Name) {
	c, err := tiercompact.New(tiercompact.Config{Window: 1 << 22})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		s := c.Session("x")
		if err := s.Load(history); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if report, err := s.CompactLevel(b.Context(), level); err != nil || !report.Compacted() {
			b.Fatal(report.Reason, err)
		}
		b.StopTimer()
		c.Forget("x")
		b.StartTimer()
	}
}

// BenchmarkReplay runs a whole session through AddMessage at a window of 16k: the time of a
// message does not depend on the length of the session.
func BenchmarkReplay(b *testing.B) {
	for _, n := range lengths {
		b.Run(messages(n), func(b *testing.B) {
			history := longSession(n)
			rounds := 0
			for b.Loop() {
				c, err := tiercompact.New(tiercompact.Config{Window: 16 << 10})
				if err != nil {
					b.Fatal(err)
				}
				s := c.Session("x")
				rounds = 0
				for _, m := range history {
					report, err := s.AddMessage(b.Context(), m)
					if err != nil {
						b.Fatal(err)
					}
					if report.Compacted() {
						rounds++
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
			b.ReportMetric(float64(rounds), "rounds")
		})
	}
}
