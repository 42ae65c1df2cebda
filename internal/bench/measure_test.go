package bench_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
)

func call(name, args string) chat.Message {
	return chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: name, Args: args}}}
}

func words(s string) int { return len(strings.Fields(s)) }

// work reads a file, talks for a while, and edits the file.
func work() (before, after chat.Transcript) {
	before = chat.Transcript{
		chat.NewText(chat.User, "fix first_name"),
		call("Read", `{"file_path":"src/user.go"}`),
		chat.NewResult("c", "func loadUser(id int) error {\n\treturn openStore(id)\n}"),
	}
	for range 5 {
		before = append(before, chat.NewText(chat.Assistant, "thinking of near_name"))
	}
	after = chat.Transcript{
		chat.NewText(chat.Assistant, "loadUser in src/user.go calls openStore with near_name and first_name and newName"),
		call("Edit", `{"file_path":"src/user.go","old_string":"\treturn openStore(id)\n","new_string":"x"}`),
		call("Edit", `{"file_path":"src/user.go","old_string":"func loadUser(id int) error {","new_string":"y"}`),
		call("Edit", `{"file_path":"other.go","old_string":"never was there","new_string":"z"}`),
	}
	return before, after
}

func TestNeededAreIdentifiersUsedAgain(t *testing.T) {
	before, after := work()
	need := bench.Needed(before, after)
	for _, id := range []string{"loadUser", "src/user.go", "openStore"} {
		if !need[id] {
			t.Errorf("%s is not needed", id)
		}
	}
	for _, id := range []string{"near_name", "first_name", "newName"} {
		if need[id] {
			t.Errorf("%s is needed", id)
		}
	}
	if got := bench.Present(need, before); got != len(need) {
		t.Errorf("%d of %v are in their source", got, need)
	}
	if got := bench.Present(need, before[3:]); got != 0 {
		t.Errorf("%d of %v are in a text without them", got, need)
	}
}

func TestAnchorsAreTheFirstEditsOfWhatWasRead(t *testing.T) {
	before, after := work()
	anchors := bench.Anchors(before, after)
	if len(anchors) != 1 || anchors[0][0] != "return openStore(id)" {
		t.Fatalf("%q", anchors)
	}
	if bench.Holding(anchors, before) != 1 || bench.Holding(anchors, before[3:]) != 0 {
		t.Error("an anchor is held by its lines, verbatim")
	}
	again := append(chat.Transcript{call("Read", `{"file_path":"src/user.go"}`)}, after...)
	if got := bench.Anchors(before, again); len(got) != 0 {
		t.Errorf("read again: %q", got)
	}
}

func TestOrphansAreCounted(t *testing.T) {
	whole := chat.Transcript{call("ls", "{}"), chat.NewResult("c", "a"), chat.NewText(chat.User, "b")}
	for _, test := range []struct {
		t              chat.Transcript
		calls, results int
	}{{whole, 0, 0}, {whole[1:], 0, 1}, {append(chat.Transcript{whole[0]}, whole[2:]...), 1, 0}, {whole[:1], 1, 0}} {
		if calls, results := bench.Orphans(test.t); calls != test.calls || results != test.results {
			t.Errorf("%d and %d, want %d and %d", calls, results, test.calls, test.results)
		}
	}
}

func TestPrefillCountsTokensAfterTheCommonPrefix(t *testing.T) {
	a, b, c := chat.NewText(chat.User, "one two"), chat.NewText(chat.Assistant, "three"), chat.NewText(chat.User, "four")
	p := bench.NewPrefill(words)
	for _, step := range []struct {
		request chat.Transcript
		want    int
	}{{chat.Transcript{a}, 6}, {chat.Transcript{a, b, c}, 16}, {chat.Transcript{a, c}, 21}} {
		if p.Request(step.request); p.Tokens != step.want {
			t.Errorf("%d tokens after %d requests, want %d", p.Tokens, p.Requests, step.want)
		}
	}
	long := strings.Repeat("word ", 20)
	p = bench.NewPrefill(words)
	p.Request(chat.Transcript{chat.NewText(chat.User, long+"x")})
	p.Request(chat.Transcript{chat.NewText(chat.User, long+"y")})
	if p.Tokens != 25+25-20 {
		t.Errorf("%d tokens: the prefix of the message that differs is cached", p.Tokens)
	}
}

func TestBaselinesKeepPairsAndShrink(t *testing.T) {
	var session chat.Transcript
	for range 20 {
		before, _ := work()
		session = append(session, before...)
	}
	for _, way := range bench.Baselines() {
		left, err := way.Make(session, words)
		if err != nil {
			t.Fatal(err)
		}
		if calls, results := bench.Orphans(left); calls+results > 0 {
			t.Errorf("%s: %d calls and %d results lost their partner", way.Name, calls, results)
		}
		if bench.Size(left, words) > bench.Size(session, words) || len(left) == 0 {
			t.Errorf("%s: %d messages of %d", way.Name, len(left), len(session))
		}
	}
}

func TestReplayMeasuresASession(t *testing.T) {
	var session chat.Transcript
	for range 12 {
		before, after := work()
		session = append(session, before...)
		session = append(session, after[0], after[1], chat.NewResult("c", "done"))
	}
	o := bench.Options{Presets: []tiercompact.Preset{tiercompact.Steady}, Levels: []string{bench.Auto}, Windows: []float64{0.5}, Bare: true, NoCost: true}
	row := run(t, o, []corpus.Session{{Name: "long", Messages: session}}).Rows[0]
	if row.Identifiers.Of == 0 && row.Edits.Of == 0 || row.Orphans != 0 || row.Prefill == nil || row.Prefill.Ratio < 1 {
		t.Errorf("%+v", row)
	}
	if short := run(t, o, []corpus.Session{{Name: "short", Messages: session[:10]}}).Rows[0]; short.Prefill != nil || short.Identifiers.Of > 0 {
		t.Errorf("a short session says nothing: %+v", short)
	}
}

func TestPlainTakesOffLineNumbersAndThinking(t *testing.T) {
	got := bench.Plain(chat.Transcript{
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}}},
		chat.NewResult("c", "     1→package a\n    12→// →"),
	})
	if len(got) != 1 || got[0].Text() != "package a\n// →" {
		t.Errorf("%+v", got)
	}
}

// scored are the figures of tools/scorers for the Go sessions: identifiers and
// their size, edits and theirs, identifiers in their place.
var scored = map[string][5]float64{
	"newest 0.30": {0.587, 0.264, 0.450, 0.252, 0.519},
	"newest 0.50": {0.795, 0.464, 0.725, 0.454, 0.749},
	"mask but 10": {0.738, 0.293, 0.582, 0.268, 0.676},
}

// goSessions reads real sessions of Go work; the test is skipped if they are
// missing, or if time is short.
func goSessions(t *testing.T) []chat.Transcript {
	t.Helper()
	const root = "../../../shared/transcripts/"
	if _, err := os.Stat(root); err != nil {
		t.Skip("no real sessions: ", err)
	}
	if testing.Short() {
		t.Skip("a minute of sessions")
	}
	return sessions(t, root+"go-openai/* "+root+"claude-code/go-* "+root+"claude-code/45-* "+root+"claude-code/68-* "+root+"claude-code/8c-*")
}

func TestMeasuresAgreeWithTheScorers(t *testing.T) {
	all, count := goSessions(t), counter(t)
	for _, way := range bench.Baselines() {
		w, ok := scored[way.Name]
		if !ok {
			continue
		}
		k := measured(t, all, way, count)
		for i, got := range []float64{k.Identifiers.Of(), k.IdentifierSize.Of(), k.Edits.Of(), k.EditSize.Of(), k.Placed.Of()} {
			if got < w[i]-0.01 || got > w[i]+0.01 {
				t.Errorf("%s: figure %d is %.3f, the scorers say %.3f", way.Name, i, got, w[i])
			}
		}
	}
}
