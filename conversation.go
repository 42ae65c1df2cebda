package tiercompact

import (
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/internal/sizes"
	"github.com/tiercompact/tiercompact/internal/usedids"
)

// A measuredMessage is a message with its computed values.
type measuredMessage struct {
	message chat.Message
	size    int
	terms   embed.Terms
}

// counters count texts, messages and tool schemas during one operation: a message
// that is added, or a round.
type counters struct {
	counting     *guard.Counter // calls Config.Count; nil without it
	countText    func(string) int
	countMessage func(chat.Message) int
	countTools   func([]byte) int
}

// newCounters returns the counters of one operation. It needs no lock.
func (cfg *settings) newCounters() *counters {
	if cfg.Count == nil {
		return &cfg.counters
	}
	return cfg.countersBy(guard.NewCounter(cfg.guards.count, cfg.Count, cfg.builtIn, cfg.faults))
}

func (cfg *settings) countersBy(c *guard.Counter) *counters {
	return &counters{
		counting: c, countText: c.Text, countMessage: cfg.builtIn.With(c.Text).Message,
		countTools: func(raw []byte) int {
			if len(raw) == 0 {
				return 0
			}
			return c.Text(string(raw))
		},
	}
}

// count has f count with the given functions; if a call of Count does not return, f
// is called again with the built-in ones. f must not change anything.
func count[T any](cfg *settings, f func(*counters) T) T {
	own := cfg.newCounters()
	made, err := guard.Watch(own.counting, func() (T, error) { return f(own), nil })
	if err != nil {
		cfg.faults.Add(err)
		return f(cfg.countersBy(guard.BuiltIn(cfg.builtIn)))
	}
	return made
}

// countHistory counts a history that is sent anew; the sizes that known has are not
// counted again.
func (cfg *settings) countHistory(known *sizes.Memo, t chat.Transcript, tools int) Usage {
	cores := runtime.GOMAXPROCS(0) // a model call waits for it
	if cfg.Count != nil {          // the caller's function is guarded in one goroutine
		cores = 1
	}
	made := count(cfg, func(own *counters) sizes.Sizes { return known.Count(cores, t, own.countMessage) })
	known.Keep(made)
	u := Usage{Tools: tools, Window: cfg.Window, Budget: cfg.budget.Limit()}
	for i, m := range t {
		switch m.Role {
		case chat.System:
			u.System += made.Tokens[i]
		case chat.Developer:
			u.Developer += made.Tokens[i]
		default:
			u.Messages += made.Tokens[i]
		}
	}
	u.Tokens = u.System + u.Developer + u.Messages + u.Tools
	u.Share = float64(u.Tokens) / float64(u.Window)
	return u
}

// measured measures messages with a Count that may hang or panic.
func (cfg *settings) measured(messages []chat.Message) []measuredMessage {
	return count(cfg, func(own *counters) []measuredMessage {
		entries := make([]measuredMessage, len(messages))
		for i, m := range messages {
			entries[i] = own.measure(m)
		}
		return entries
	})
}

// toolTokens returns the tokens of tool schemas.
func (cfg *settings) toolTokens(raw []byte) int {
	return count(cfg, func(own *counters) int { return own.countTools(raw) })
}

// measure makes a message valid UTF-8 and computes its values. It is the expensive
// part of adding a message, and needs no lock.
func (c *counters) measure(m chat.Message) measuredMessage {
	m = validMessage(m)
	return measuredMessage{message: m, size: c.countMessage(m), terms: embed.TermsOf(m)}
}

// validMessage returns m with all of its text made valid UTF-8, because servers accept
// no other text. A valid message is returned unchanged.
func validMessage(m chat.Message) chat.Message {
	m.ID = strings.ToValidUTF8(m.ID, "\uFFFD")
	copied := false
	for i, p := range m.Parts {
		if utf8.ValidString(p.Text) && utf8.ValidString(p.Args) && utf8.ValidString(p.Name) && utf8.ValidString(p.ID) {
			continue
		}
		if !copied {
			m.Parts, m.Changed, copied = slices.Clone(m.Parts), true, true
		}
		for _, s := range []*string{&p.Text, &p.Args, &p.Name, &p.ID} {
			*s = strings.ToValidUTF8(*s, "\uFFFD")
		}
		p.Raw = ""
		m.Parts[i] = p
	}
	return m
}

// A conversation is a transcript with the values of each message, and the sums for a
// check. Copies share memory: a conversation only grows at its end, or is replaced as
// a whole.
type conversation struct {
	policy   protection.Policy
	messages chat.Transcript
	sizes    []int
	terms    []embed.Terms
	facts    []files.Scan
	ids      *usedids.Set           // of all messages ever added, to keep ids unique
	recalls  *usedids.Recalls       // recall ids of earlier rounds
	calls    map[string][]chat.Part // by id, calls without a result so far
	added    int                    // messages ever added

	system, developer, rest, tools int  // tokens
	fixed                          int  // tokens of protected messages and of the summary
	pinned                         bool // the first typed user message was added
	unsummarised                   int  // messages that are in no summary
}

func newConversation(cfg settings) conversation {
	return conversation{policy: cfg.policy, ids: new(usedids.Set), recalls: new(usedids.Recalls), calls: make(map[string][]chat.Part)}
}

func (c *conversation) totalTokens() int { return c.messageTokens() + c.tools }

// messageTokens returns the tokens of the messages, without the tool schemas.
func (c *conversation) messageTokens() int { return c.system + c.developer + c.rest }

// fixedTokens returns the tokens of messages that must stay.
func (c *conversation) fixedTokens() int { return c.fixed + c.tools }

// freeTokens returns the tokens of messages that need not stay.
func (c *conversation) freeTokens() int { return max(0, c.totalTokens()-c.fixedTokens()) }

// addMessage appends a message, gives it a unique id, and returns that.
func (c *conversation) addMessage(e measuredMessage) string {
	c.added++
	if e.message.ID == "" || c.ids.Contains(e.message.ID) || protection.Reserved(e.message) {
		e.message.ID = c.ids.Unused(c.added)
	}
	c.ids.Add(e.message.ID)
	c.recalls.AddShown(e.message)
	c.appendEntry(e, files.ScanMessage(e.message, c.matchResult(e.message)))
	return e.message.ID
}

// reserveIDs prevents a second use of the ids of t.
func (c *conversation) reserveIDs(t chat.Transcript) {
	for _, m := range t {
		c.ids.Add(m.ID)
	}
}

// growCapacity makes room for n more messages and some after them: the next addition
// must not move them all.
func (c *conversation) growCapacity(n int) {
	n += n / 16
	c.messages, c.sizes = slices.Grow(c.messages, n), slices.Grow(c.sizes, n)
	c.terms, c.facts = slices.Grow(c.terms, n), slices.Grow(c.facts, n)
}

// matchResult tracks open calls, and returns the one that m answers.
func (c *conversation) matchResult(m chat.Message) *chat.Part {
	var answered *chat.Part
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Call:
			c.calls[p.ID] = append(c.calls[p.ID], p)
		case chat.Result:
			if open := c.calls[p.ID]; len(open) > 0 {
				call := open[len(open)-1] // a copy: the slot is reused
				answered = &call
				if c.calls[p.ID] = open[:len(open)-1]; len(open) == 1 {
					delete(c.calls, p.ID)
				}
			}
		}
	}
	return answered
}

// appendEntry appends a message with its values, and adds to the sums.
func (c *conversation) appendEntry(e measuredMessage, f files.Scan) {
	m := e.message
	c.messages, c.sizes = append(c.messages, m), append(c.sizes, e.size)
	c.terms, c.facts = append(c.terms, e.terms), append(c.facts, f)
	switch {
	case m.Role == chat.System && !m.IsSummary():
		c.system += e.size
	case m.Role == chat.Developer:
		c.developer += e.size
	default:
		c.rest += e.size
	}
	if m.IsSummary() || c.policy.Protects(m) || !c.pinned && !c.policy.NoPinFirst && m.Typed() {
		c.fixed += e.size
	}
	c.pinned = c.pinned || m.Typed()
	if m.IsSummary() {
		c.unsummarised = 0
	} else if m.State != chat.Marked {
		c.unsummarised++
	}
}

func (c *conversation) protectMessage(id string) bool {
	for i := range c.messages {
		if c.messages[i].ID == id {
			messages := slices.Clone(c.messages) // snapshots share the old ones
			if !c.policy.Protects(messages[i]) {
				c.fixed += c.sizes[i]
			}
			messages[i].Protected = true
			c.messages = messages
			return true
		}
	}
	return false
}

// summaryNumber returns the number of the newest session summary, 0 for none.
func (c *conversation) summaryNumber() int {
	highest := 0
	for _, m := range c.messages {
		highest = max(highest, summaryNumberOf(m))
	}
	return highest
}

// summaryNumberOf returns the number of a session summary, 0 for other messages.
func summaryNumberOf(m chat.Message) int {
	if !m.IsSummary() {
		return 0
	}
	n, _ := protection.SummaryContent(m)
	return n
}
