package bench

import (
	"encoding/json"

	"github.com/tiercompact/tiercompact/chat"
)

// A Comparison measures the outcome of any compactor on one conversation.
type Comparison struct {
	Name string `json:"name"`
	Figures
	Protected Protected `json:"protected"`
}

// Figures are the sums over conversations.
type Figures struct {
	Before   Extent `json:"before"`
	After    Extent `json:"after"`
	Messages Diff   `json:"messages"`

	Identifiers Share     `json:"identifiers"` // of all identifiers before, those that remain
	Invented    int       `json:"invented"`    // identifiers after that do not occur before
	Needed      Retention `json:"needed"`      // identifiers that were needed later; none if the rest of the session is unknown
	Edits       Retention `json:"edits"`       // later edits that are possible without another read

	Orphans int `json:"orphans"` // calls and results without a partner that had one before
	Prefix  int `json:"prefix"`  // tokens of after that are equal from the start
	Refill  int `json:"refill"`  // tokens of after that a prompt cache must read again: the rest

	Newest Reference `json:"newest"`
}

// A Reference is the result of keeping the newest tokens at about the same size, in
// addition to the first message.
type Reference struct {
	Tokens      int       `json:"tokens"`
	Identifiers Share     `json:"identifiers"`
	Needed      Retention `json:"needed"`
	Edits       Retention `json:"edits"`
}

// An Extent is the length of a conversation.
type Extent struct {
	Tokens   int `json:"tokens"`
	Messages int `json:"messages"`
}

// A Retention is the retained part of the needed texts, and the size in tokens, if
// there were any.
type Retention struct {
	Kept Share `json:"kept"`
	Size Share `json:"size"`
}

func (r *Retention) addRetention(s Retention) {
	r.Kept.addShare(s.Kept.Part, s.Kept.Whole)
	r.Size.addShare(s.Size.Part, s.Size.Whole)
}

// MarshalJSON writes the parts and their share, null if there is no whole.
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

// Compare measures the outcome of before. Next are the messages after it, nil if
// they are unknown. Both sides are measured in the form of [Plain], so that they
// may have different formats; count counts the tokens of a text.
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

// wants are the texts to look for in the outcome of a conversation.
type wants struct {
	all, needed map[string]bool
	anchors     []Anchor
	size        int // tokens before
}

// retainedIn searches t, whose identifiers are said, and whose size in tokens is
// size.
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

// prefixOf returns the number of tokens of after that are equal from the start, as
// counted by [Prefill].
func prefixOf(before, after []traced, count func(string) int) (tokens int) {
	for i := range min(len(before), len(after)) {
		text := TextOf(after[i].Message)
		if before[i].form != after[i].form {
			if shared := commonPrefix(TextOf(before[i].Message), text); len(shared) > minPrefix {
				tokens += count(shared)
			}
			break
		}
		tokens += count(text) + frame
	}
	return tokens
}

// A Total is the sum of several comparisons.
type Total struct {
	Pairs int `json:"pairs"`
	Figures
	Lost int `json:"lost"` // pairs in which a protected message changed
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

// Following returns the messages of session after those of before, and with how
// many of these session begins: with all of them, or nothing follows.
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
