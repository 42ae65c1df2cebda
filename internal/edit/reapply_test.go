package edit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/chattest"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// sent returns a conversation of one message for each word, as a client sends
// it: role and text, u1 a user's, a1 the assistant's, s1 a system message; no ids.
func sent(words string) (t chat.Transcript) {
	for w := range strings.FieldsSeq(words) {
		role := map[byte]chat.Role{'u': chat.User, 'a': chat.Assistant, 's': chat.System}[w[0]]
		t = append(t, chat.NewText(role, w))
	}
	return t
}

// said is the reverse of sent.
func said(t chat.Transcript) string {
	var words []string
	for _, m := range t {
		words = append(words, m.Text())
	}
	return strings.Join(words, " ")
}

// numbered returns t with ids.
func numbered(t chat.Transcript) chat.Transcript {
	t = slices.Clone(t)
	for i := range t {
		t[i].ID = fmt.Sprint("m", i)
	}
	return t
}

// layered is the round of three layers on s0 u1 a1 u2 a2 u3 a3 u4: u1 stays
// pinned, a2 is protected and moves to the front, u3 to u4 are recent.
func layered(t *testing.T) edit.Rewrite {
	t.Helper()
	first := sent("s0 u1 a1 u2 a2 u3 a3 u4")
	before := numbered(first)
	return rewrite(t, first, before, put(2, 5, before[4], named("n", chat.NewText(chat.Assistant, "SUM"))))
}

// rewrite returns the round of one edit, with a dash between messages that become
// adjacent.
func rewrite(t *testing.T, first, before chat.Transcript, e edit.Edit) edit.Rewrite {
	t.Helper()
	steps, err := edit.Separate(before, []edit.Edit{e}, func(role chat.Role, m chat.Message, _ edit.Gap) []edit.Mark {
		dash := named("dash", chat.NewText(role, "-"))
		dash.State = chat.Marked
		return []edit.Mark{{Message: dash, At: -1}}
	})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := edit.NewRewrite(first, before, [][]edit.Edit{steps, {}})
	if !ok {
		t.Fatal("the round does not fit")
	}
	return r
}

func TestReapplyComparesReplacedMessagesAndTheirPlaces(t *testing.T) {
	for _, test := range []struct{ name, sent, want string }{
		{"as it was", "s0 u1 a1 u2 a2 u3 a3 u4", "s0 u1 a2 - SUM u3 a3 u4"},
		{"grown", "s0 u1 a1 u2 a2 u3 a3 u4 a4 u5", "s0 u1 a2 - SUM u3 a3 u4 a4 u5"},
		{"a clock in the system prompt", "s9 u1 a1 u2 a2 u3 a3 u4 a4 u5", "s9 u1 a2 - SUM u3 a3 u4 a4 u5"},
		{"the pinned message says more", "s0 u9 a1 u2 a2 u3 a3 u4", "s0 u9 a2 - SUM u3 a3 u4"},
		{"a reminder in the newest message is gone", "s0 u1 a1 u2 a2 u3 a3 u44 a4 u5", "s0 u1 a2 - SUM u3 a3 u44 a4 u5"},
		{"a system message more at the front", "s0 s1 u1 a1 u2 a2 u3 a3 u4", "s0 s1 u1 a2 - SUM u3 a3 u4"},
		{"no system message", "u1 a1 u2 a2 u3 a3 u4", "u1 a2 - SUM u3 a3 u4"},
		{"a system message before what was replaced", "s0 u1 s7 a1 u2 a2 u3 a3 u4", "s0 u1 s7 a2 - SUM u3 a3 u4"},
		{"a system message behind what was replaced", "s0 u1 a1 u2 s7 a2 u3 a3 u4", "s0 u1 a2 - SUM s7 u3 a3 u4"},
		{"a system message among the recent", "s0 u1 a1 u2 a2 u3 s7 a3 u4 a4 u5", "s0 u1 a2 - SUM u3 s7 a3 u4 a4 u5"},
		{"recent messages are taken out", "s0 u1 a1 u2 a2 u3 a4 u5", "s0 u1 a2 - SUM u3 a4 u5"},
		{"the protected message changed", "s0 u1 a1 u2 a9 u3 a3 u4", "s0 u1 a9 - SUM u3 a3 u4"},
		{"what was replaced occurs twice", "s0 u1 a1 u2 a1 u2 a2 u3 a3 u4", ""},

		{"what was replaced changed", "s0 u1 a9 u2 a2 u3 a3 u4", ""},
		{"the end of what was replaced changed", "s0 u1 a1 u9 a2 u3 a3 u4", ""},
		{"what was replaced is gone", "s0 u1 a1 a2 u3 a3 u4", ""},
		{"a message within what was replaced", "s0 u1 a1 s7 u2 a2 u3 a3 u4", ""},
		{"another order", "s0 u1 u2 a1 a2 u3 a3 u4", ""},
		{"taken back to what was replaced", "s0 u1 a1 u2", ""},
		{"taken back further", "s0 u1 a1", ""},
		{"an assistant's message would meet the summary", "s0 u1 a1 u2 a2 a7 u3 a3 u4", ""},
		{"another conversation", "s0 u8 a8", ""},
		{"nothing", "", ""},
	} {
		in := sent(test.sent)
		out, fit := edit.Reapply(in, []edit.Rewrite{layered(t)})
		want, made := test.want, 1
		if want == "" {
			want, made = test.sent, 0
		}
		if said(out) != want || len(fit) != made {
			t.Errorf("%s: %q by %d rounds, want %q by %d", test.name, said(out), len(fit), want, made)
		}
		if said(in) != test.sent {
			t.Errorf("%s: what was sent is changed", test.name)
		}
	}
}

func TestReapplyMakesRoundsOnTopOfEachOther(t *testing.T) {
	one := layered(t)
	second := sent("s0 u1 a1 u2 a2 u3 a3 u4 a4 u5 a5 u6")
	left, _ := edit.Reapply(second, []edit.Rewrite{one}) // s0 u1 a2 - SUM u3 a3 u4 a4 u5 a5 u6
	before := numbered(left)
	two := rewrite(t, left, before, put(4, 9, named("n", chat.NewText(chat.Assistant, "SUM2"))))
	for _, test := range []struct {
		name, sent, want string
		fit              int
	}{
		{"grown", said(second) + " a6 u7", "s0 u1 a2 - SUM2 u5 a5 u6 a6 u7", 2},
		{"a clock", "s5 u1 a1 u2 a2 u3 a3 u4 a4 u5 a5 u6 a6 u7", "s5 u1 a2 - SUM2 u5 a5 u6 a6 u7", 2},
		{"what the second replaced changed", "s0 u1 a1 u2 a2 u3 a9 u4 a4 u5 a5 u6 a6 u7", "s0 u1 a2 - SUM u3 a9 u4 a4 u5 a5 u6 a6 u7", 1},
		{"what the first replaced changed", "s0 u1 a9 u2 a2 u3 a3 u4 a4 u5 a5 u6 a6 u7", "", 0},
		{"a message comes between the two", "s0 u1 a1 u2 s7 a2 u3 a3 u4 a4 u5 a5 u6", "s0 u1 a2 - SUM s7 u3 a3 u4 a4 u5 a5 u6", 1},
	} {
		out, fit := edit.Reapply(sent(test.sent), []edit.Rewrite{one, two})
		if want := test.want; len(fit) != test.fit || want != "" && said(out) != want || want == "" && said(out) != test.sent {
			t.Errorf("%s: %q by %d rounds, want %q by %d", test.name, said(out), len(fit), test.want, test.fit)
		}
	}
}

func TestReapplyPutsNewMessagesAfterTheRoundsLast(t *testing.T) {
	first := sent("s0 u1 a1 u2 a2")
	before := numbered(first)
	r, ok := edit.NewRewrite(first, before, [][]edit.Edit{{put(2, 3, named("n", chat.NewText(chat.Assistant, "SUM"))), put(5, 5, named("d", chat.NewText(chat.System, "END")))}})
	if !ok {
		t.Fatal("the round does not fit")
	}
	for in, want := range map[string]string{"s0 u1 a1 u2 a2 u3 a3": "s0 u1 SUM u2 a2 END u3 a3", "s9 u1 a1 u2 a2 u3 a3": "s9 u1 SUM u2 a2 END u3 a3"} {
		if out, fit := edit.Reapply(sent(in), []edit.Rewrite{r}); said(out) != want || len(fit) != 1 {
			t.Errorf("%q, want %q", said(out), want)
		}
	}
}

func TestNewRewriteRefusesStepsThatDoNotFit(t *testing.T) {
	in := sent("u1 a1")
	if _, ok := edit.NewRewrite(in, numbered(in), [][]edit.Edit{{drop(1, 7)}}); ok {
		t.Error("a run behind the last message was taken")
	}
}

// FuzzReapply checks that a repeated round drops only what it replaced before,
// whatever the client has changed.
func FuzzReapply(f *testing.F) { f.Fuzz(rapid.MakeFuzz(reapplyRandom)) }

func TestReapplyOfRandomChanges(t *testing.T) { rapid.Check(t, reapplyRandom) }

func reapplyRandom(t *rapid.T) {
	first := chattest.Transcript(t, 20)
	before := numbered(first)
	edits, err := edit.Separate(before, drawEdits(t, before), mark)
	if err != nil {
		return
	}
	after, err := edit.Apply(before, edits, edit.Rules{})
	if err != nil {
		return
	}
	r, ok := edit.NewRewrite(first, before, [][]edit.Edit{edits})
	if !ok {
		t.Fatal("a round that was made does not fit")
	}
	if out, fit := edit.Reapply(first, []edit.Rewrite{r}); len(fit) != 1 || edit.Sum(out) != edit.Sum(after) {
		t.Fatalf("made again it leaves %q, not %q", said(out), said(after))
	}
	again := changed(t, first)
	out, fit := edit.Reapply(again, []edit.Rewrite{r})
	if len(fit) == 0 {
		if edit.Sum(out) != edit.Sum(again) {
			t.Fatal("a round that was not made has left something")
		}
		return
	}
	stays := make(map[string]bool)
	for _, m := range after {
		stays[m.ID] = true
	}
	may := make(map[string]int) // messages that may be removed: those that the round replaced
	for _, m := range before {
		if !stays[m.ID] || !slices.ContainsFunc(after, func(a chat.Message) bool { return edit.Same(a, m) }) {
			may[edit.Sum(chat.Transcript{m})]++
		}
	}
	left := make(map[string]int)
	for _, m := range out {
		left[edit.Sum(chat.Transcript{m})]++
	}
	for i, m := range again {
		sum := edit.Sum(chat.Transcript{m})
		if left[sum] > 0 {
			left[sum]--
		} else if may[sum]--; may[sum] < 0 {
			t.Fatalf("message %d, %s %q, is gone, which the round has not replaced", i, m.Role, m.Text())
		}
	}
	for _, p := range chat.New(chat.Check(again), chat.Check(out)) {
		if p.Kind == chat.Orphan || p.Kind == chat.Unanswered {
			t.Fatalf("message %d: %s", p.Index, p.Text)
		}
	}
}

// changed returns t with some messages changed, inserted or removed, and some
// appended.
func changed(t *rapid.T, in chat.Transcript) chat.Transcript {
	out := slices.Clone(in)
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		i := rapid.IntRange(0, len(out)).Draw(t, "place")
		role := rapid.SampledFrom([]chat.Role{chat.User, chat.Assistant, chat.System}).Draw(t, "role")
		m := chat.NewText(role, rapid.SampledFrom([]string{"other", "and more"}).Draw(t, "text"))
		switch rapid.IntRange(0, 2).Draw(t, "way") {
		case 0:
			out = slices.Insert(out, i, m)
		case 1:
			if i < len(out) {
				out[i] = m
			}
		default:
			if i < len(out) {
				out = slices.Delete(out, i, i+1)
			}
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		out = append(out, chat.NewText(chat.User, "next"), chat.NewText(chat.Assistant, "done"))
	}
	return out
}
