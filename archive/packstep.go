package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// The content of the frame body: a bodyLine, and an entryRefs for each recall
// entry, one a line.
type (
	bodyLine struct {
		head
		Session string          `json:"session"`
		Number  int             `json:"step"`
		Before  *refs           `json:"before"`
		Seen    int             `json:"seen"`
		Sum     string          `json:"sum"`
		Steps   [][]editRefs    `json:"steps"`
		Summary json.RawMessage `json:"summary,omitempty"`
	}

	editRefs struct {
		Start int    `json:"start"`
		End   int    `json:"end"`
		New   *refs  `json:"new,omitempty"`
		Why   string `json:"why,omitempty"`
	}

	entryRefs struct {
		ID       string   `json:"id"`
		Messages *refs    `json:"messages"`
		Below    []string `json:"below,omitempty"`
		Text     string   `json:"text,omitempty"`
	}
)

// A packStep is a step in its written form: its messages are items.
type packStep struct {
	header headerLine
	body   []byte
	items  *itemWriter
}

// packed returns s in its written form, with the numbers that w gives its messages.
// known are the numbers of the earlier steps of the archive.
func packed(s Step, w *itemWriter, known runs) (packStep, error) {
	p := packStep{items: w}
	body := bodyLine{head: head{packVersion}, Session: s.Session, Number: s.Number, Seen: s.Edits.Seen, Sum: s.Edits.Sum, Summary: s.Summary}
	var err error
	if body.Before, err = w.refer(s.Before); err != nil {
		return p, err
	}
	for _, edits := range s.Edits.Steps {
		lines := make([]editRefs, len(edits))
		for i, e := range edits {
			lines[i] = editRefs{Start: e.Start, End: e.End, Why: e.Why}
			if lines[i].New, err = w.refer(e.New); err != nil {
				return p, err
			}
		}
		body.Steps = append(body.Steps, lines)
	}
	var b bytes.Buffer
	if err := lineEncoder(&b).Encode(body); err != nil {
		return p, err
	}
	for _, e := range s.Removed {
		line := entryRefs{ID: e.ID, Below: e.Below, Text: e.Text}
		if line.Messages, err = w.refer(e.Messages); err != nil {
			return p, err
		}
		if err := lineEncoder(&b).Encode(line); err != nil {
			return p, err
		}
	}
	p.body = b.Bytes()
	w.repeat()
	p.header = headerLine{head: head{packVersion}, StepInfo: s.stepInfo(), Redacted: s.Redacted, Left: s.Left, Written: s.Written, Known: known}
	return p, nil
}

// write writes the file of the step alone.
func (s packStep) write(to io.Writer) error {
	n := s.header.Number
	p := newPackWriter(to)
	err := p.begin(s.header.Session, n, n, runs{{n, n}})
	if err != nil {
		return err
	}
	line, err := lineOf(s.header)
	if err != nil {
		return err
	}
	if err := p.add(frameHead, n, n, line); err != nil {
		return err
	}
	if err := p.add(frameBody, n, n, s.body); err != nil {
		return err
	}
	if err := s.items.write(p); err != nil {
		return err
	}
	return p.end()
}

// begin writes the first frame.
func (p *packWriter) begin(session string, first, last int, steps runs) error {
	line, err := lineOf(packHead{head{packVersion}, packFormat, session, first, last, steps})
	if err != nil {
		return err
	}
	return p.add(frameSteps, first, last, line)
}

// A packedBody is the content of the frame body.
type packedBody struct {
	bodyLine
	entries []entryRefs
}

// body returns the body of the step with the header h.
func (v *packs) body(h headerLine) (b packedBody, err error) {
	text, err := v.frameOf(frameBody, h.Number)
	if err != nil {
		return b, err
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	err = decodePacked(first, &b.bodyLine)
	if err == nil && (b.Session != h.Session || b.Number != h.Number) {
		err = fmt.Errorf("%w: it holds step %d of session %q", ErrDamaged, b.Number, b.Session)
	}
	for len(rest) > 0 && err == nil {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		var e entryRefs
		if err = json.Unmarshal(line, &e); err != nil {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		b.entries = append(b.entries, e)
	}
	if err == nil && len(b.entries) != len(h.Entries) {
		err = fmt.Errorf("%w: it has %d entries, not %d", ErrDamaged, len(b.entries), len(h.Entries))
	}
	if err != nil {
		err = &Damage{Session: v.session, Step: h.Number, File: v.filePath(v.folder, v.fileOf(h.Number)), Err: err}
	}
	return b, err
}

// entry returns an entry of a step.
func (v *packs) entry(n int, x entryRefs) (Entry, error) {
	messages, err := v.resolve(x.Messages)
	if err != nil {
		return Entry{}, v.damageOf(n, x.ID, err)
	}
	return Entry{x.ID, messages, x.Below, x.Text}, nil
}

// damageOf returns a damage of step n, in the file that err names.
func (v *packs) damageOf(n int, entry string, err error) *Damage {
	file := v.filePath(v.folder, v.fileOf(n))
	if d, ok := errors.AsType[*Damage](err); ok {
		file, err = d.File, d.Err
	}
	return &Damage{Session: v.session, Step: n, Entry: entry, File: file, Err: err}
}

// round returns the effect of a step.
func (v *packs) round(b packedBody) (edit.Round, error) {
	out := edit.Round{Seen: b.Seen, Sum: b.Sum}
	for _, lines := range b.Steps {
		edits := make([]edit.Edit, len(lines))
		for i, e := range lines {
			added, err := v.resolve(e.New)
			if err != nil {
				return out, err
			}
			edits[i] = edit.Edit{Start: e.Start, End: e.End, New: added, Why: e.Why}
		}
		out.Steps = append(out.Steps, edits)
	}
	return out, nil
}

// step returns step n, and calls bad with each damage.
func (v *packs) step(n int, bad func(*Damage) error) (s Step, h headerLine, err error) {
	if h, err = v.header(n); err != nil {
		return s, h, v.bad(err, n, bad)
	}
	s = Step{
		Session: h.Session, Number: h.Number, Time: h.Time, Level: h.Level, Reason: h.Reason,
		Note: h.Note, Undoes: h.Undoes, Redacted: h.StepInfo.Redacted, Left: h.Left, Written: h.Written,
	}
	b, err := v.body(h)
	if err != nil {
		return s, h, v.bad(err, n, bad)
	}
	s.Summary = b.Summary
	var before []chat.Message
	if before, err = v.resolve(b.Before); err == nil && len(before) != h.Messages {
		err = fmt.Errorf("%w: it has %d messages, not %d", ErrDamaged, len(before), h.Messages)
	}
	if s.Before = before; err != nil {
		if err := bad(v.damageOf(n, "", err)); err != nil {
			return s, h, err
		}
	}
	if s.Edits, err = v.round(b); err != nil {
		if err := bad(v.damageOf(n, "", err)); err != nil {
			return s, h, err
		}
	}
	for _, x := range b.entries {
		e, err := v.entry(n, x)
		if err != nil {
			if err := v.bad(err, n, bad); err != nil {
				return s, h, err
			}
		}
		s.Removed = append(s.Removed, e)
	}
	return s, h, nil
}

// bad calls bad with a damage; it returns any other error.
func (v *packs) bad(err error, n int, bad func(*Damage) error) error {
	if !unreadable(err) {
		return err
	}
	return bad(v.damageOf(n, entryOf(err), err))
}

func entryOf(err error) string {
	if d, ok := errors.AsType[*Damage](err); ok {
		return d.Entry
	}
	return ""
}
