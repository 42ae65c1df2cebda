package bench

import (
	"encoding/json"

	"github.com/tiercompact/tiercompact/chat"
)

// A Comparison is what a compactor, any, made of one conversation.
type Comparison struct {
	Name string `json:"name"`
	Figures
	Protected Protected `json:"protected"`
}

// Figures are what can be added up over conversations.
type Figures struct {
	Before   Extent `json:"before"`
	After    Extent `json:"after"`
	Messages Diff   `json:"messages"`

	Identifiers Share     `json:"identifiers"` // of all that stand before, those that still stand
	Invented    int       `json:"invented"`    // identifiers after that stand nowhere before
	Needed      Retention `json:"needed"`      // identifiers that came to be needed; none where what came next is not known
	Edits       Retention `json:"edits"`       // edits that came next and can go on without reading again

	Orphans int `json:"orphans"` // calls and results more without partner than before
	Prefix  int `json:"prefix"`  // tokens after that are the same from the start
	Refill  int `json:"refill"`  // tokens after that a prompt cache must read anew: the rest

	Newest Reference `json:"newest"`
}

// A Reference is what keeping the newest tokens gives at about the size of what
// it is compared with; the first message stays on top of that.
type Reference struct {
	Tokens      int       `json:"tokens"`
	Identifiers Share     `json:"identifiers"`
	Needed      Retention `json:"needed"`
	Edits       Retention `json:"edits"`
}

// An Extent is how long a conversation is.
type Extent struct {
	Tokens   int `json:"tokens"`
	Messages int `json:"messages"`
}

// A Retention is the part that stands of what was asked for, and the size that
// it has, in tokens, where something was asked for.
type Retention struct {
	Kept Share `json:"kept"`
	Size Share `json:"size"`
}

func (r *Retention) addRetention(s Retention) {
	r.Kept.addShare(s.Kept.Part, s.Kept.Whole)
	r.Size.addShare(s.Size.Part, s.Size.Whole)
}

// MarshalJSON gives the parts and their share, null where there is no whole.
func (s Share) MarshalJSON() ([]byte, error) {
	out := struct {
		Part  int      `json:"part"`
		Whole int      `json:"whole"`
		Share *float64 `json:"share"`
	}{Part: s.Part, Whole: s.Whole}
	if of := s.Of(); s.Whole > 0 {
		out.Share = &of
	}
	return json.Marshal(out)
}

// Compare measures what became of before. Next is what came after it, nil where
// that is not known. Both sides are measured as [Plain] has them, so that they
// may come from two formats; count counts the tokens of a text.
func Compare(before, after, next chat.Transcript, count func(string) int) Comparison {
	before, after, next = Plain(before), Plain(after), Plain(next)
	w := wants{identifiersOf(before), Needed(before, next), Anchors(before, next), Size(before, count)}
	was, is := tracedIn(before), tracedIn(after)
	c := Comparison{Protected: protectedIn(was, is)}
	c.Before, c.After = Extent{w.size, len(before)}, Extent{Size(after, count), len(after)}
	c.Messages = diffMessages(was, is, count)
	said := identifiersOf(after)
	c.Identifiers, c.Needed, c.Edits = w.retainedIn(after, said, c.After.Tokens)
	c.Invented = len(said) - countPresent(said, w.all, before)
	calls, results := Orphans(before)
	newCalls, newResults := Orphans(after)
	c.Orphans = max(0, newCalls-calls) + max(0, newResults-results)
	c.Prefix = prefixOf(was, is, count)
	c.Refill = c.After.Tokens - c.Prefix

	newest := newestShare(float64(c.After.Tokens)/float64(max(1, w.size)))(before, count, w.size)
	c.Newest.Tokens = Size(newest, count)
	c.Newest.Identifiers, c.Newest.Needed, c.Newest.Edits = w.retainedIn(newest, identifiersOf(newest), c.Newest.Tokens)
	return c
}

// wants is what is asked for in what a conversation became.
type wants struct {
	all, needed map[string]bool
	anchors     []Anchor
	size        int // tokens before
}

// retainedIn looks in t, whose identifiers are said, and whose tokens are size.
func (w wants) retainedIn(t chat.Transcript, said map[string]bool, size int) (identifiers Share, needed, edits Retention) {
	identifiers = Share{countPresent(w.all, said, t), len(w.all)}
	if n := len(w.needed); n > 0 {
		needed = Retention{Share{countPresent(w.needed, said, t), n}, Share{size, w.size}}
	}
	if n := len(w.anchors); n > 0 {
		edits = Retention{Share{Holding(w.anchors, t), n}, Share{size, w.size}}
	}
	return identifiers, needed, edits
}

// prefixOf returns the tokens of after that are the same from the start, as
// [Prefill] counts them.
func prefixOf(before, after []traced, count func(string) int) (tokens int) {
	for i := range min(len(before), len(after)) {
		text := TextOf(after[i].Message)
		if before[i].form != after[i].form {
			if shared := commonPrefix(TextOf(before[i].Message), text); len(shared) > leastPrefix {
				tokens += count(shared)
			}
			break
		}
		tokens += count(text) + frame
	}
	return tokens
}

// A Total is what several comparisons come to.
type Total struct {
	Pairs int `json:"pairs"`
	Figures
	Lost int `json:"lost"` // pairs in which something protected does not stand as it was
}

// Add adds a comparison.
func (t *Total) Add(c Comparison) {
	t.Pairs++
	if !c.Protected.Whole() {
		t.Lost++
	}
	f := &t.Figures
	f.Before.addExtent(c.Before)
	f.After.addExtent(c.After)
	f.Messages.addDiff(c.Messages)
	f.Identifiers.addShare(c.Identifiers.Part, c.Identifiers.Whole)
	f.Invented += c.Invented
	f.Needed.addRetention(c.Needed)
	f.Edits.addRetention(c.Edits)
	f.Orphans += c.Orphans
	f.Prefix += c.Prefix
	f.Refill += c.Refill
	f.Newest.Tokens += c.Newest.Tokens
	f.Newest.Identifiers.addShare(c.Newest.Identifiers.Part, c.Newest.Identifiers.Whole)
	f.Newest.Needed.addRetention(c.Newest.Needed)
	f.Newest.Edits.addRetention(c.Newest.Edits)
}

func (e *Extent) addExtent(f Extent) { e.Tokens += f.Tokens; e.Messages += f.Messages }

// Following returns what comes in session after the messages of before, and
// how many of these session begins with: all of them, or nothing follows.
func Following(session, before chat.Transcript) (next chat.Transcript, same int) {
	session, before = Plain(session), Plain(before)
	for same < min(len(before), len(session)) && canonicalForm(before[same]) == canonicalForm(session[same]) {
		same++
	}
	if same < len(before) {
		return nil, same
	}
	return session[same:], same
}
