package recall_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/recall"
)

// A writer writes messages of a coding session, of some hundred bytes in the mean: prose
// with words by Zipf's law, and code with names.
type writer struct {
	r     *rand.Rand
	words *rand.Zipf
	n     int
}

func newWriter() *writer {
	r := rand.New(rand.NewPCG(1, 2))
	return &writer{r: r, words: rand.NewZipf(r, 1.1, 4, 30000)}
}

func (w *writer) word() string {
	n := w.words.Uint64()
	syllables := []string{"ka", "lo", "mi", "ner", "tu", "pa", "ris", "ven", "do", "sel", "qua", "tor"}
	var b strings.Builder
	for n += 12; n > 0; n /= 12 {
		b.WriteString(syllables[n%12])
	}
	return b.String()
}

func (w *writer) prose(words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = w.word()
	}
	return strings.Join(out, " ") + "."
}

func (w *writer) code(lines int) string {
	var b strings.Builder
	for range lines {
		a, c := w.word(), w.word()
		fmt.Fprintf(&b, "\t%s, err := %s%s(ctx, %s.%s)\n\tif err != nil {\n\t\treturn fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", a, c, strings.ToUpper(a[:1])+a[1:], w.word(), a, c, a)
	}
	return b.String()
}

func (w *writer) message() chat.Message {
	w.n++
	id := fmt.Sprintf("m%d", w.n)
	var m chat.Message
	switch w.n % 4 {
	case 1:
		m = chat.NewText(chat.User, w.prose(30))
	case 2:
		m = chat.NewText(chat.Assistant, w.prose(60))
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: "read_file", Args: fmt.Sprintf(`{"path":"internal/%s/%s.go"}`, w.word(), w.word())})
	case 3:
		m = chat.NewResult(fmt.Sprintf("m%d", w.n-1), "package "+w.word()+"\n\nfunc "+w.word()+"() error {\n"+w.code(5)+"}\n")
	default:
		m = chat.NewText(chat.Assistant, w.prose(45))
	}
	m.ID = id
	return m
}

const perRound = 25 // messages that a round removes; as many stay

// A timedStore adds up the CPU time of its Put, in which an index has no part.
type timedStore struct {
	archive.Store
	spent time.Duration
}

func (s *timedStore) Unwrap() archive.Store { return s.Store }

func (s *timedStore) Put(ctx context.Context, step archive.Step) error {
	began := cpuTime()
	defer func() { s.spent += cpuTime() - began }()
	return s.Store.Put(ctx, step)
}

// fill puts rounds that remove n messages in all into a store, and returns the CPU time.
func fill(tb testing.TB, store archive.Store, n int) time.Duration {
	tb.Helper()
	w := newWriter()
	var t chat.Transcript
	var spent time.Duration
	for step := 1; (step-1)*perRound < n; step++ {
		for len(t) < 2*perRound {
			t = append(t, w.message())
		}
		s := archive.Step{Session: "s", Number: step, Before: t, Time: time.Unix(int64(step), 0), Level: "emergency",
			Removed: []archive.Entry{{ID: fmt.Sprintf("%08x", step), Messages: t[:perRound:perRound]}}}
		began := cpuTime()
		if err := store.Put(context.Background(), s); err != nil {
			tb.Fatal(err)
		}
		spent += cpuTime() - began
		t = t[perRound:]
	}
	return spent
}

func openDir(tb testing.TB, root string, o archive.DirOptions) *archive.Dir {
	tb.Helper()
	d, err := archive.OpenDir(root, o)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// sizes returns the bytes of an archive and of its index.
func sizes(tb testing.TB, root string) (kept, index int64) {
	tb.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if filepath.Base(path) == "recall.index" {
			index += info.Size()
		} else {
			kept += info.Size()
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return kept, index
}

// BenchmarkArchive measures a search in a new process (without its start), one in a
// session, and what the index adds to size and rounds: to the archive's part of a round,
// without the compaction. Times are CPU time of the process, in ms, the smallest of all
// runs: other processes of the machine add to them, and nothing takes from them.
// RECALL_KEEP names a folder for the archives, to search them with the program too.
func BenchmarkArchive(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root := b.TempDir()
			if keep := os.Getenv("RECALL_KEEP"); keep != "" {
				root = filepath.Join(keep, fmt.Sprint(n))
			}
			d := openDir(b, root, archive.DirOptions{})
			plain := &timedStore{Store: d}
			with := fill(b, recall.Indexed(plain, ""), n)
			kept, index := sizes(b, root)
			b.Run("rounds", func(b *testing.B) {
				for b.Loop() {
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(100*float64(index)/float64(kept), "%size")
				b.ReportMetric(100*(float64(with)/float64(plain.spent)-1), "%time")
				b.ReportMetric(float64(with.Microseconds())/1000/float64(n/perRound), "ms/round")
			})
			for _, q := range []struct{ name, text string }{
				{"question", "how does readFile return the error of kalomi and nertu"},
				{"work", "Now update readFile to return the error of kalomi and nertu"},
			} {
				search := func(s *recall.IndexedStore) {
					if r, err := s.Search(b.Context(), []string{"s"}, recall.Query{Text: q.text}); err != nil || len(r.Hits) == 0 {
						b.Fatal(len(r.Hits), err)
					}
				}
				b.Run("new/"+q.name, func(b *testing.B) {
					measure(b, func() {
						ro := openDir(b, root, archive.DirOptions{ReadOnly: true})
						search(recall.Indexed(ro, ""))
						_ = ro.Close()
					})
				})
				b.Run("session/"+q.name, func(b *testing.B) {
					s := recall.Indexed(d, "")
					search(s)
					measure(b, func() { search(s) })
				})
			}
			_ = d.Close()
		})
	}
}

// BenchmarkRound measures what the index adds to rounds of a session: with the steps of
// its archive, which are put into a store with an index.
func BenchmarkRound(b *testing.B) {
	const messages = 4000
	for b.Loop() {
		d := openDir(b, b.TempDir(), archive.DirOptions{})
		c, err := tiercompact.New(tiercompact.Config{Window: 16384, Archive: onlyStore{d}})
		if err != nil {
			b.Fatal(err)
		}
		s, w := c.Session("s"), newWriter()
		began := cpuTime()
		for range messages {
			if _, err := s.AddMessage(b.Context(), w.message()); err != nil {
				b.Fatal(err)
			}
		}
		whole := cpuTime() - began
		numbers, err := archive.Numbers(b.Context(), d, "s")
		if err != nil {
			b.Fatal(err)
		}
		again := openDir(b, b.TempDir(), archive.DirOptions{})
		plain := &timedStore{Store: again}
		with := &timedStore{Store: recall.Indexed(plain, "")}
		for _, n := range numbers {
			step, err := d.Get(b.Context(), "s", n)
			if err != nil {
				b.Fatal(err)
			}
			if err := with.Put(b.Context(), step); err != nil {
				b.Fatal(err)
			}
		}
		rounds, index := float64(len(numbers)), with.spent-plain.spent
		b.ReportMetric(100*float64(index)/float64(whole), "%time")
		b.ReportMetric(float64(index.Microseconds())/1000/rounds, "index-ms/round")
		b.ReportMetric(float64(whole.Microseconds())/1000/rounds, "ms/round")
		_, _ = d.Close(), again.Close()
	}
	b.ReportMetric(0, "ns/op")
}

// onlyStore hides that a store has a folder: no index is kept of it.
type onlyStore struct{ archive.Store }

// measure reports the smallest and the median CPU time of run.
func measure(b *testing.B, run func()) {
	var spent []time.Duration
	for b.Loop() {
		began := cpuTime()
		run()
		spent = append(spent, cpuTime()-began)
	}
	slices.Sort(spent)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(spent[0].Microseconds())/1000, "min-cpu-ms")
	b.ReportMetric(float64(spent[len(spent)/2].Microseconds())/1000, "median-cpu-ms")
}
