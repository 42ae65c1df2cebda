package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/redact"
)

// An engine compacts requests. The proxy and a preflight without a server use the
// same one.
type engine struct {
	cfg    Config
	models modelCache
	board  board

	live    liveCache
	digests *digestCache

	mu   sync.Mutex
	cuts map[string]string // by id: the upstream cut the request before
	seen map[string]countedPrompt
}

func newEngine(cfg Config) *engine {
	stored, _ := cfg.State.(sampleStore)
	return &engine{cfg: cfg, board: board{stored: stored}, digests: newDigestCache(), cuts: make(map[string]string), seen: make(map[string]countedPrompt), models: modelCache{open: cfg.Open}}
}

// A plan is what was decided for a request.
type plan struct {
	session string
	noticed string
	body    []byte // in place of the request's; nil: it goes out as it came
	report  tiercompact.Report
	due     levels.Name
	warning string
	place   place

	history tiercompact.History
	rounds  liveRounds
	model   *openedModel
}

// setHeaders describes the plan to the client.
func (p plan) setHeaders(h http.Header) {
	if p.session == "" {
		return
	}
	h.Set(sessionHeader, headerText(p.session))
	level := string(levels.None)
	if n := len(p.report.Applied); n > 0 {
		level = string(p.report.Applied[n-1].Level)
	}
	h.Set(levelHeader, level)
	h.Set(beforeHeader, strconv.Itoa(p.report.Before))
	h.Set(afterHeader, strconv.Itoa(p.report.After))
	if p.due != "" && p.due != levels.None {
		h.Set(plannedHeader, string(p.due))
	}
	if p.noticed != continues {
		h.Set(noticedHeader, p.noticed)
	}
	if p.warning != "" {
		h.Set(warningHeader, headerText(p.warning))
	}
}

// compact decides what goes upstream for a request: the bytes that came, or a body with
// the rounds of its conversation repeated. A round is made here only if the request
// does not fit, the server's cache is cold, or the client asks for a level.
func (e *engine) compact(ctx context.Context, r *request) (p plan, err error) {
	m, err := e.models.get(ctx, r.doc.model())
	window := m.cfg.Window
	if errors.Is(err, ErrNoWindow) && r.window >= minWindow {
		window, err = r.window, nil
	}
	if err != nil {
		return p, fmt.Errorf("open the model %s: %w", r.doc.model(), err)
	}
	if r.exact {
		window = r.window
	}
	if p.place, err = placeOf(ctx, e.cfg.State, e.digests, r); err != nil {
		return p, err
	}
	p.session, p.noticed, p.model = p.place.tip.ID, p.place.noticed, m
	p.history = tiercompact.History{
		ID: p.session, Messages: r.doc.messages(), Tools: r.doc.tools(), Reserve: r.reserve,
		Window: windowOf(window, r.window, p.place.tip.Window),
	}
	if p.rounds, err = e.load(ctx, p.place); err != nil {
		return p, err
	}
	look := p.history
	look.Later = true
	t, rounds, report, err := m.compactor.CompactHistory(ctx, look, p.rounds.rounds)
	if err != nil {
		return p, err
	}
	if rounds.Len() == p.rounds.rounds.Len() {
		p.rounds.rounds = rounds
		e.keepLive(&p) // with its counts
	}
	p.rounds.rounds, p.report = rounds, report
	over := report.Usage.Tokens > report.Usage.Budget
	due := report.Reason == tiercompact.ByTurn
	if r.api.counts {
		return p, p.encode(r, t)
	}
	p.place.tip.Used = e.cfg.Now()
	if err := e.cfg.State.Touch(ctx, p.place.tip); err != nil {
		p.warning = "the conversation is not remembered: " + err.Error()
	}
	switch {
	case r.level != "":
		p.history.Level = r.level
		t, err = e.round(ctx, &p)
	case over, due && e.cold(p):
		t, err = e.round(ctx, &p)
	case due:
		p.due = report.Picked
	}
	if isBudget(err) && !e.cfg.FailClosed {
		p.warning, err = err.Error(), nil // it goes as small as it can be made
	}
	if err != nil {
		return p, err
	}
	if err := p.encode(r, t); err != nil {
		return p, err
	}
	if cut := e.takeTruncated(p.session); cut != "" && p.warning == "" {
		p.warning = cut
	}
	e.noteSample(p, false)
	return p, nil
}

// windowOf returns the window of a request: what the server's error named, or else
// what the request sets, if it is less than the configured one.
func windowOf(configured, requested, learnt int) int {
	window := configured
	for _, n := range []int{requested, learnt} {
		if n >= minWindow && n < window {
			window = n
		}
	}
	return window
}

// minWindow is the smallest window that is believed.
const minWindow = 256

// cold reports whether the server must read the prompt again whatever is sent.
func (e *engine) cold(p plan) bool {
	switch p.noticed {
	case isNew, changed:
		return true
	case branches, sideTask:
		return false
	}
	return e.cfg.Now().Sub(p.place.was.Used) > e.cfg.ColdAfter
}

// encode sets the body of t, nil if it is the one that came.
func (p *plan) encode(r *request, t chat.Transcript) error {
	if p.rounds.rounds.Len() == 0 && !p.report.Compacted() {
		return nil
	}
	body, err := r.doc.encode(t)
	if err != nil {
		return fmt.Errorf("write the compacted request: %w", err)
	}
	p.body = body
	return nil
}

// round makes a round now, and stores it before anything is sent. If another request
// of the conversation makes one, it waits for that, and uses it.
func (e *engine) round(ctx context.Context, p *plan) (chat.Transcript, error) {
	release, err := e.cfg.State.Lease(ctx, p.session)
	if err != nil {
		return nil, fmt.Errorf("wait for the conversation's other requests: %w", err)
	}
	defer release()
	before := p.report.Before
	for tries := 0; ; tries++ {
		if err := e.reload(ctx, p); err != nil {
			return nil, err
		}
		t, rounds, report, err := p.model.compactor.CompactHistory(ctx, p.history, p.rounds.rounds)
		p.report, p.rounds.rounds, p.due = report, rounds, ""
		p.report.Before = max(before, report.Before)
		if !report.Compacted() || err != nil && !isBudget(err) {
			return t, err
		}
		stored := e.store(ctx, p)
		if stored == nil {
			e.reportRound(*p, false)
		}
		if stored == nil || !errors.Is(stored, ErrConflict) || tries == maxConflicts {
			return t, cmp.Or(stored, err)
		}
	}
}

// maxConflicts is how often a round is planned again because another process stored one.
const maxConflicts = 3

func isBudget(err error) bool { return errors.Is(err, tiercompact.ErrInsufficientBudget) }

// later plans a round while the answer streams, for the next request.
func (e *engine) later(ctx context.Context, p plan) error {
	release, err := e.cfg.State.Lease(ctx, p.session)
	if err != nil {
		return err
	}
	defer release()
	if err := e.reload(ctx, &p); err != nil {
		return err
	}
	_, rounds, report, err := p.model.compactor.CompactHistory(ctx, p.history, p.rounds.rounds)
	p.rounds.rounds, p.report = rounds, report
	if !report.Compacted() {
		e.keepLive(&p)
		return err
	}
	stored := e.store(ctx, &p)
	if stored == nil {
		e.noteSample(p, true)
		e.reportRound(p, true)
	}
	return errors.Join(err, stored)
}

// reportRound reports a round of a plan, or that a request needed none.
func (e *engine) reportRound(p plan, planned bool) {
	u := p.report.Usage
	e.report(RequestReport{Session: p.session, Level: strongestOf(p.report), Before: p.report.Before, After: p.report.After, Budget: u.Budget, Planned: planned})
}

func (e *engine) report(r RequestReport) {
	if e.cfg.Report != nil {
		e.cfg.Report(r)
	}
}

// load returns the rounds that a request repeats: those of its conversation, or of the
// one that it branches from.
func (e *engine) load(ctx context.Context, at place) (liveRounds, error) {
	data, version, err := e.cfg.State.Rounds(ctx, at.tip.ID)
	if err != nil {
		return liveRounds{}, fmt.Errorf("read the conversation's rounds: %w", err)
	}
	from, stored := at.tip.ID, version
	if version == 0 && at.from != "" && at.from != at.tip.ID { // the first request of a branch
		from = at.from
		if data, stored, err = e.cfg.State.Rounds(ctx, from); err != nil {
			return liveRounds{}, fmt.Errorf("read the conversation's rounds: %w", err)
		}
	}
	if l, ok := e.live.lookup(from); ok && l.version == stored {
		l.version = version
		return l, nil
	}
	l := liveRounds{version: version, bytes: len(data)}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &l.rounds); err != nil {
			l.rounds = tiercompact.Rounds{} // damaged: they are made anew
		}
	}
	return l, nil
}

// reload replaces p's rounds if others were stored meanwhile.
func (e *engine) reload(ctx context.Context, p *plan) error {
	now, err := e.load(ctx, p.place)
	if err == nil && now.version != p.rounds.version {
		p.rounds = now
	}
	return err
}

// store stores p's rounds.
func (e *engine) store(ctx context.Context, p *plan) error {
	data, err := json.Marshal(p.rounds.rounds)
	if err == nil {
		err = e.cfg.State.SetRounds(ctx, p.session, data, p.rounds.version)
	}
	if err != nil {
		return fmt.Errorf("store the conversation's round: %w", err)
	}
	p.rounds.version++
	p.rounds.bytes = len(data)
	e.keepLive(p)
	return nil
}

// keepLive keeps a plan's rounds in memory.
func (e *engine) keepLive(p *plan) {
	p.rounds.model = p.model
	e.live.keep(p.session, p.rounds)
}

// maxNoted is of how many conversations counts and warnings of the upstream are noted.
const maxNoted = 256

// noteTruncated keeps a warning for the next request of a conversation.
func (e *engine) noteTruncated(id, warning string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.cuts) >= maxNoted {
		clear(e.cuts)
	}
	e.cuts[id] = warning
}

// A countedPrompt is a request whose tokens the upstream has counted.
type countedPrompt struct{ estimate, count int }

// noteCount keeps a count of the upstream, and reports whether it proves that the
// prompt was cut: a shorter request of the conversation had more tokens.
func (e *engine) noteCount(id string, now countedPrompt) (shorter int, proven bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.seen[id]
	if was.count > now.count && was.estimate < now.estimate {
		return was.count, true
	}
	if len(e.seen) >= maxNoted {
		clear(e.seen)
	}
	e.seen[id] = now
	return 0, false
}

func (e *engine) takeTruncated(id string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	warning := e.cuts[id]
	delete(e.cuts, id)
	return warning
}

// redacted returns an error's text for headers and events: it may quote the request.
func (e *engine) redacted(err error) string { return redact.Default().String(err.Error()) }
