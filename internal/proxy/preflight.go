package proxy

import (
	"context"
	"net/http"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/wire"
)

// preflight compacts a request before its caller sends it. What is due is made at once.
func (e *engine) preflight(ctx context.Context, r *request) (plan, error) {
	p, err := e.compact(ctx, r)
	if err == nil && p.due != "" && p.report.Reason == tiercompact.ByTurn {
		if err = e.dueNow(ctx, r, &p); isBudget(err) && !e.cfg.FailClosed {
			p.warning, err = err.Error(), nil
		}
	}
	return p, err
}

func (e *engine) dueNow(ctx context.Context, r *request, p *plan) error {
	t, err := e.round(ctx, p)
	if err != nil && !isBudget(err) {
		return err
	}
	if wrong := p.encode(r, t); wrong != nil {
		return wrong
	}
	e.noteSample(*p, false)
	return err
}

// A Preflight compacts requests of one conversation without a server, with the rounds
// that it remembers in a [State].
type Preflight struct{ engine *engine }

// NewPreflight returns a preflight. Of cfg, Open and State are required; Upstream is
// not used.
func NewPreflight(cfg Config) *Preflight {
	return &Preflight{newEngine(withDefaults(cfg))}
}

// A PreflightReport describes what a preflight did.
type PreflightReport struct {
	Session string
	Level   levels.Name
	Before  int // tokens
	After   int
	Window  int
	Budget  int
	Rounds  int
	Noticed string
	Warning string
}

// Compact returns the body to send for a request of the conversation with an id. The
// body is in the format of an API, or a list of messages.
func (f *Preflight) Compact(ctx context.Context, id string, c wire.Conversation, body []byte) ([]byte, PreflightReport, error) {
	r := &request{api: &api{name: "openai", format: c.Format, list: "messages"}, body: body, doc: wireDocument{c}}
	if err := r.readHeaders(http.Header{sessionHeader: {id}}); err != nil {
		return nil, PreflightReport{}, err
	}
	p, err := f.engine.preflight(ctx, r)
	report := PreflightReport{
		Session: p.session, Level: strongestOf(p.report), Before: p.report.Before, After: p.report.After,
		Window: p.report.Usage.Window, Budget: p.report.Usage.Budget, Rounds: p.rounds.rounds.Len(), Noticed: p.noticed, Warning: p.warning,
	}
	switch {
	case err != nil:
		return nil, report, err
	case p.body == nil:
		return r.body, report, nil
	}
	return p.body, report, nil
}
