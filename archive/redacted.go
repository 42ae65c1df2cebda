package archive

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/redact"
)

// Redacted returns a store that redacts every text for store: messages, names of
// tools, addresses of images, sources of messages, entries, edits, summaries,
// notes, events. Ids and pixels stay as they are. Texts that are JSON stay JSON;
// one that redact would break is redacted string by string and, if that is not
// enough, replaced. Step.Redacted names the changed messages.
func Redacted(store Store, redact func(string) string) Store {
	return redacted{store, redact}
}

// Clean returns t in the form of a [Redacted] store, and whether that changed it.
func Clean(t chat.Transcript, redact func(string) string) (clean chat.Transcript, changes bool) {
	clean = redacted{redact: redact}.redactMessages(t)
	for i, m := range clean {
		changes = changes || messageChanged(m, t[i])
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
		s.Left = outcomeSum(s)
	}
	before := s.Before
	s.Before, s.Redacted = r.redactMessages(before), nil
	for i, m := range s.Before {
		if messageChanged(m, before[i]) {
			s.Redacted = append(s.Redacted, i)
		}
	}
	s.Removed = slices.Clone(s.Removed)
	for i, e := range s.Removed {
		e.Messages, e.Text = r.redactMessages(e.Messages), r.redact(e.Text)
		s.Removed[i] = e
	}
	s.Edits.Steps = r.redactRounds(s.Edits.Steps)
	if s.Summary != nil {
		s.Summary = r.redactJSON(s.Summary)
	}
	s.Note, s.Reason = r.redact(s.Note), r.redact(s.Reason)
	return r.Store.Put(ctx, s)
}

func messageChanged(m, was chat.Message) bool { return !edit.Same(m, was) || m.Source != was.Source }

// Event implements [Store].
func (r redacted) Event(ctx context.Context, session string, line []byte) error {
	if !json.Valid(line) {
		return r.Store.Event(ctx, session, line) // the store rejects it
	}
	return r.Store.Event(ctx, session, r.redactJSON(line))
}

func (r redacted) redactRounds(steps [][]edit.Edit) [][]edit.Edit {
	if steps == nil {
		return nil
	}
	out := make([][]edit.Edit, len(steps))
	for i, edits := range steps {
		out[i] = slices.Clone(edits)
		for j, e := range edits {
			out[i][j].New, out[i][j].Why = r.redactMessages(e.New), r.redact(e.Why)
		}
	}
	return out
}

// redactMessages returns a redacted copy. Unchanged messages are shared, and so are
// sources.
func (r redacted) redactMessages(in []chat.Message) []chat.Message {
	if in == nil {
		return nil
	}
	out := make([]chat.Message, len(in))
	var from, to *chat.Source
	for i, m := range in {
		if m.Source != from || i == 0 {
			from, to = m.Source, r.redactSource(m.Source)
		}
		out[i] = r.redactMessage(m)
		out[i].Source = to
	}
	return out
}

// redactSource returns nil if the rest is not JSON.
func (r redacted) redactSource(s *chat.Source) *chat.Source {
	if s == nil {
		return nil
	}
	text, ok := r.redactString(s.JSON)
	if text == s.JSON {
		return s
	}
	if !ok {
		return nil
	}
	return &chat.Source{Format: s.Format, JSON: text, Count: s.Count}
}

func (r redacted) redactMessage(m chat.Message) chat.Message {
	var parts []chat.Part
	for i, p := range m.Parts {
		q := r.redactPart(p)
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

func (r redacted) redactPart(p chat.Part) chat.Part {
	p.Text, p.Name, p.Image = r.redact(p.Text), r.redact(p.Name), r.redactPicture(p.Image)
	var ok bool
	if p.Args, ok = r.redactString(p.Args); !ok {
		p.Args = redactedValue
	}
	if p.Raw, ok = r.redactString(p.Raw); !ok {
		p.Raw = ""
	}
	return p
}

// redactPicture redacts everything except the image itself.
func (r redacted) redactPicture(p *chat.Picture) *chat.Picture {
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

// redactedValue replaces JSON that cannot be redacted and stay JSON.
const redactedValue = `{"redacted":true}`

// redactString redacts possible JSON: first each string in it and the values under
// names of secrets, then the whole, for rules that need a name and its value
// together. It reports whether JSON stayed JSON.
func (r redacted) redactString(s string) (string, bool) {
	if s == "" || !json.Valid([]byte(s)) {
		return r.redact(s), true
	}
	s = redact.JSON(func(inner string) string {
		if clean, ok := r.redactString(inner); ok {
			return clean
		}
		return redactedValue
	}, s)
	whole := r.redact(s)
	return whole, whole == s || json.Valid([]byte(whole))
}

// redactJSON redacts a JSON text.
func (r redacted) redactJSON(s []byte) []byte {
	clean, ok := r.redactString(string(s))
	if !ok {
		return []byte(redactedValue)
	}
	return []byte(clean)
}
