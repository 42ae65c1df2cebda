package archive

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
	"github.com/tiercompact/tiercompact/redact"
)

// Redacted returns a store that keeps in store what redact makes of every text:
// messages, names of tools, addresses of images, what messages were read from,
// entries, edits, summaries, notes, events. Ids and pixels stay as they are.
// Texts that are JSON stay JSON; one that redact would break is redacted string
// by string, and where that is not enough, replaced. Step.Redacted says
// which messages came out other than they were.
func Redacted(store Store, redact func(string) string) Store {
	return redacted{store, redact}
}

// Clean returns t as a [Redacted] store keeps it, and whether that changed it.
func Clean(t chat.Transcript, redact func(string) string) (clean chat.Transcript, changes bool) {
	clean = redacted{redact: redact}.messages(t)
	for i, m := range clean {
		changes = changes || changed(m, t[i])
	}
	return clean, changes
}

type redacted struct {
	Store
	redact func(string) string
}

// Unwrap returns the store beneath.
func (r redacted) Unwrap() Store { return r.Store }

// Put implements [Store].
func (r redacted) Put(ctx context.Context, s Step) error {
	if s.Left == "" {
		s.Left = leaves(s)
	}
	before := s.Before
	s.Before, s.Redacted = r.messages(before), nil
	for i, m := range s.Before {
		if changed(m, before[i]) {
			s.Redacted = append(s.Redacted, i)
		}
	}
	s.Removed = slices.Clone(s.Removed)
	for i, e := range s.Removed {
		e.Messages, e.Text = r.messages(e.Messages), r.redact(e.Text)
		s.Removed[i] = e
	}
	s.Edits.Steps = r.rounds(s.Edits.Steps)
	if s.Summary != nil {
		s.Summary = r.json(s.Summary)
	}
	s.Note, s.Reason = r.redact(s.Note), r.redact(s.Reason)
	return r.Store.Put(ctx, s)
}

func changed(m, was chat.Message) bool { return !edit.Same(m, was) || m.Source != was.Source }

// Event implements [Store].
func (r redacted) Event(ctx context.Context, session string, line []byte) error {
	if !json.Valid(line) {
		return r.Store.Event(ctx, session, line) // which refuses it
	}
	return r.Store.Event(ctx, session, r.json(line))
}

func (r redacted) rounds(steps [][]edit.Edit) [][]edit.Edit {
	if steps == nil {
		return nil
	}
	out := make([][]edit.Edit, len(steps))
	for i, edits := range steps {
		out[i] = slices.Clone(edits)
		for j, e := range edits {
			out[i][j].New, out[i][j].Why = r.messages(e.New), r.redact(e.Why)
		}
	}
	return out
}

// messages returns a redacted copy. What comes out as it was is shared, and so
// are sources.
func (r redacted) messages(in []chat.Message) []chat.Message {
	if in == nil {
		return nil
	}
	out := make([]chat.Message, len(in))
	var from, to *chat.Source
	for i, m := range in {
		if m.Source != from || i == 0 {
			from, to = m.Source, r.source(m.Source)
		}
		out[i] = r.message(m)
		out[i].Source = to
	}
	return out
}

// source returns nil where what is left is no JSON.
func (r redacted) source(s *chat.Source) *chat.Source {
	if s == nil {
		return nil
	}
	text, ok := r.text(s.JSON)
	if text == s.JSON {
		return s
	}
	if !ok {
		return nil
	}
	return &chat.Source{Format: s.Format, JSON: text, Count: s.Count}
}

func (r redacted) message(m chat.Message) chat.Message {
	var parts []chat.Part
	for i, p := range m.Parts {
		q := r.part(p)
		if q == p {
			continue
		}
		if parts == nil {
			parts = slices.Clone(m.Parts)
		}
		parts[i] = q
	}
	if parts == nil {
		return m
	}
	return m.With(m.State, parts...)
}

func (r redacted) part(p chat.Part) chat.Part {
	p.Text, p.Name, p.Image = r.redact(p.Text), r.redact(p.Name), r.picture(p.Image)
	var ok bool
	if p.Args, ok = r.text(p.Args); !ok {
		p.Args = replaced
	}
	if p.Raw, ok = r.text(p.Raw); !ok {
		p.Raw = ""
	}
	return p
}

// picture redacts all but the image itself.
func (r redacted) picture(p *chat.Picture) *chat.Picture {
	if p == nil {
		return nil
	}
	out := *p
	out.URL, out.Detail, out.MediaType = r.redact(p.URL), r.redact(p.Detail), r.redact(p.MediaType)
	if out == *p {
		return p
	}
	return &out
}

// replaced stands for JSON that cannot be redacted and stay JSON.
const replaced = `{"redacted":true}`

// text redacts what may be JSON: first each string in it and what stands under a
// secret's name, then the whole, for rules that need a name and its value
// together. It reports whether what was JSON still is.
func (r redacted) text(s string) (string, bool) {
	if s == "" || !json.Valid([]byte(s)) {
		return r.redact(s), true
	}
	s = redact.JSON(func(inner string) string {
		if clean, ok := r.text(inner); ok {
			return clean
		}
		return replaced
	}, s)
	whole := r.redact(s)
	return whole, whole == s || json.Valid([]byte(whole))
}

// json redacts a JSON text.
func (r redacted) json(s []byte) []byte {
	clean, ok := r.text(string(s))
	if !ok {
		return []byte(replaced)
	}
	return []byte(clean)
}
