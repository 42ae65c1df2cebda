package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tiercompact/tiercompact/internal/edit"
)

// A step file has a header, the round, and one line for each recall entry.
type (
	headerLine struct {
		head
		StepInfo
		Redacted positions `json:"redacted,omitempty"` // in place of StepInfo's
		Left     string    `json:"left,omitempty"`
		Written  []Written `json:"written,omitempty"` // in place of StepInfo's
		Known    runs      `json:"known,omitempty"`   // numbers of the earlier steps
		hashes
		packed bool // in a pack, where frames have the hashes
		lost   bool // no file has it
	}

	// positions are those of messages. The first releases wrote only a count, which
	// is read as a single -1.
	positions []int

	// hashes are of the named files, as they are on disk, lines without their line
	// feed. Steps of the first releases have only that of the transcript.
	hashes struct {
		Transcript string   `json:"transcript_sha256,omitempty"`
		OfSummary  string   `json:"summary_sha256,omitempty"`
		OfRound    string   `json:"round_sha256,omitempty"`
		OfEntries  []string `json:"entry_sha256,omitempty"`
	}

	roundLine struct {
		head
		Seen  int          `json:"seen"`
		Sum   string       `json:"sum"`
		Steps [][]editLine `json:"steps"`
	}

	editLine struct {
		Start int       `json:"start"`
		End   int       `json:"end"`
		New   []message `json:"new,omitempty"`
		Why   string    `json:"why,omitempty"`
	}

	entryLine struct {
		head
		ID       string    `json:"id"`
		Messages []message `json:"messages"`
		Below    []string  `json:"below,omitempty"`
		Text     string    `json:"text,omitempty"`
	}

	summaryFile struct {
		head
		Session string          `json:"session"`
		Number  int             `json:"step"`
		Summary json.RawMessage `json:"summary"`
	}
)

// maxUnknown limits the size that any header content can cause.
const maxUnknown = 1 << 16

// UnmarshalJSON implements [json.Unmarshaler].
func (p *positions) UnmarshalJSON(b []byte) error {
	var count int
	if json.Unmarshal(b, &count) == nil {
		*p = nil
		if count > 0 {
			*p = positions{-1}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]int)(p))
}

// entryHash returns the hash of an entry's line, "" if there is none.
func (h hashes) entryHash(at int) string {
	if at < len(h.OfEntries) {
		return h.OfEntries[at]
	}
	return ""
}

// writeParts calls write with the files of s, the step file last: its header has
// the hashes of the others. known are the earlier steps of the archive.
func writeParts(s Step, known runs, write func(name string, fill func(io.Writer) error) error) error {
	h := headerLine{head: head{Version}, StepInfo: s.stepInfo(), Redacted: s.Redacted, Left: s.Left, Written: s.Written, Known: known}
	hashed := func(name string, fill func(io.Writer) error) (string, error) {
		sum := sha256.New()
		err := write(name, func(w io.Writer) error { return fill(io.MultiWriter(w, sum)) })
		return hex.EncodeToString(sum.Sum(nil)), err
	}
	var err error
	h.Transcript, err = hashed(transcriptName(s.Number), func(w io.Writer) error { return EncodeTranscript(w, s.Before) })
	if err != nil {
		return err
	}
	if s.Summary != nil {
		h.OfSummary, err = hashed(summaryName(s.Number), func(w io.Writer) error {
			return lineEncoder(w).Encode(summaryFile{head{Version}, s.Session, s.Number, s.Summary})
		})
		if err != nil {
			return err
		}
	}
	return write(stepName(s.Number), func(w io.Writer) error { return encodeStep(w, h, s) })
}

// encodeStep writes the step file of s. h is its header without the hashes of the
// following lines.
func encodeStep(w io.Writer, h headerLine, s Step) error {
	var lines bytes.Buffer
	hashed := func(x any) (string, error) {
		start := lines.Len()
		err := lineEncoder(&lines).Encode(x)
		return hashParts(bytes.TrimSuffix(lines.Bytes()[start:], []byte("\n"))), err
	}
	var err error
	if h.OfRound, err = hashed(encodeRound(s.Edits)); err != nil {
		return err
	}
	for _, x := range s.Removed {
		sum, err := hashed(entryLine{head{Version}, x.ID, encodeMessages(x.Messages), x.Below, x.Text})
		if err != nil {
			return err
		}
		h.OfEntries = append(h.OfEntries, sum)
	}
	header, err := encodeHeader(h)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err = lines.WriteTo(w)
	return err
}

// headerSum begins the last field of a header: the hash of the line without it.
const headerSum = `,"header_sha256":"`

func encodeHeader(h headerLine) ([]byte, error) {
	var b bytes.Buffer
	if err := lineEncoder(&b).Encode(h); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return fmt.Appendf(nil, "%s%s%s\"}\n", line[:len(line)-1], headerSum, hashParts(line)), nil
}

// decodeHeader returns the header of step n.
func decodeHeader(line []byte, n int) (h headerLine, err error) {
	if err := decodeLine(line, &h); err != nil {
		return h, err
	}
	h.settle()
	if h.Number != n {
		return h, fmt.Errorf("%w: it holds step %d", ErrDamaged, h.Number)
	}
	at := bytes.LastIndex(line, []byte(headerSum))
	if at < 0 && h.OfRound == "" {
		return h, nil
	}
	if at < 0 || string(line[at:]) != headerSum+hashParts(line[:at], []byte("}"))+`"}` {
		return h, errChanged
	}
	if len(h.OfEntries) != len(h.Entries) {
		return h, fmt.Errorf("%w: %d hashes for %d entries", ErrDamaged, len(h.OfEntries), len(h.Entries))
	}
	return h, nil
}

// settle moves fields of a header into its StepInfo.
func (h *headerLine) settle() {
	h.StepInfo.Written = h.Written
	if h.StepInfo.Redacted = h.Redacted; len(h.Redacted) > 0 && h.Redacted[0] < 0 { // any of them
		h.StepInfo.Redacted = nil
		for i := range min(h.Messages, maxUnknown) {
			h.StepInfo.Redacted = append(h.StepInfo.Redacted, i)
		}
	}
}

func hashParts(parts ...[]byte) string {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write(p)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// checkHash returns errChanged if line does not have the hash sum. An empty sum, of
// a step from before hashes, fits everything.
func checkHash(line []byte, sum string) error {
	if sum != "" && hashParts(line) != sum {
		return errChanged
	}
	return nil
}

func encodeRound(r edit.Round) roundLine {
	out := roundLine{head: head{Version}, Seen: r.Seen, Sum: r.Sum}
	for _, edits := range r.Steps {
		lines := make([]editLine, len(edits))
		for i, e := range edits {
			lines[i] = editLine{e.Start, e.End, encodeMessages(e.New), e.Why}
		}
		out.Steps = append(out.Steps, lines)
	}
	return out
}

func (l roundLine) editRound() (edit.Round, error) {
	out := edit.Round{Seen: l.Seen, Sum: l.Sum}
	for _, lines := range l.Steps {
		edits := make([]edit.Edit, len(lines))
		for i, e := range lines {
			added, err := decodeMessages(e.New)
			if err != nil {
				return out, fmt.Errorf("%w: edit %d: %w", ErrDamaged, i+1, err)
			}
			edits[i] = edit.Edit{Start: e.Start, End: e.End, New: added, Why: e.Why}
		}
		out.Steps = append(out.Steps, edits)
	}
	return out, nil
}

// decodeRound returns the round in a line that must have the hash sum.
func decodeRound(line []byte, sum string) (r edit.Round, err error) {
	if err := checkHash(line, sum); err != nil {
		return r, err
	}
	var l roundLine
	if err := decodeLine(line, &l); err != nil {
		return r, err
	}
	return l.editRound()
}

// decodeEntry returns the entry in a line that must have the id and the hash
// sum.
func decodeEntry(line []byte, id, sum string) (Entry, error) {
	if err := checkHash(line, sum); err != nil {
		return Entry{}, err
	}
	var l entryLine
	if err := decodeLine(line, &l); err != nil {
		return Entry{}, err
	}
	messages, err := decodeMessages(l.Messages)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if l.ID != id {
		return Entry{}, fmt.Errorf("%w: it has the id %q", ErrDamaged, l.ID)
	}
	return Entry{l.ID, messages, l.Below, l.Text}, nil
}

// A stepReader reads step n, and calls bad with each damage in it: if bad returns
// nil, it continues.
type stepReader struct {
	storeReader
	session, folder string
	n               int
	bad             func(*Damage) error

	h     headerLine
	known bool // the header can be read
	s     Step
}

// readStep returns a step, or fs.ErrNotExist.
func (l storeReader) readStep(ctx context.Context, session string, n int, bad func(*Damage) error) (Step, headerLine, error) {
	r := &stepReader{storeReader: l, session: session, folder: folderName(session), n: n, bad: bad}
	err := r.readStepFile(ctx)
	if err == nil && r.known {
		err = r.readTranscript(ctx)
	}
	if err == nil && r.known && r.h.Summary {
		err = r.readSummary(ctx)
	}
	return r.s, r.h, err
}

func (r *stepReader) damageAt(name string, line int, entry string, err error) *Damage {
	return &Damage{Session: r.session, Step: r.n, Entry: entry, File: r.filePath(r.folder, name), Line: line, Err: err}
}

func (r *stepReader) readStepFile(ctx context.Context) error {
	name := stepName(r.n)
	f, err := r.openFile(ctx, r.folder, name)
	if err != nil {
		return r.reportUnopened(name, err)
	}
	defer f.Close()
	line := 0
	for text, err := range readLines(f) {
		line++
		if err == nil {
			err = r.readStepLine(line, text)
		}
		if err == nil {
			continue
		}
		if err := r.bad(r.damageAt(name, line, r.entryIDAt(line), err)); err != nil || line == 1 {
			return err
		}
	}
	if want := 2 + len(r.h.Entries); line != want {
		return r.bad(r.damageAt(name, 0, "", fmt.Errorf("%w: it has %d lines, not %d", ErrDamaged, line, want)))
	}
	return nil
}

// reportUnopened is for a file of a step that cannot be opened.
func (r *stepReader) reportUnopened(name string, err error) error {
	if missing := errors.Is(err, fs.ErrNotExist); missing && name == stepName(r.n) {
		return err
	} else if missing {
		err = errMissing
	}
	return r.bad(r.damageAt(name, 0, "", err))
}

// entryIDAt returns the id of the entry on a line, "" if it has none.
func (r *stepReader) entryIDAt(line int) string {
	if at := line - 3; at >= 0 && at < len(r.h.Entries) {
		return r.h.Entries[at]
	}
	return ""
}

func (r *stepReader) readStepLine(n int, text []byte) (err error) {
	switch at := n - 3; {
	case n == 1:
		if r.h, err = decodeHeader(text, r.n); err != nil {
			return err
		}
		h := r.h
		r.known = true
		r.s = Step{
			Session: h.Session, Number: h.Number, Time: h.Time, Level: h.Level, Reason: h.Reason,
			Note: h.Note, Undoes: h.Undoes, Redacted: h.StepInfo.Redacted, Left: h.Left, Written: h.Written,
		}
	case n == 2:
		r.s.Edits, err = decodeRound(text, r.h.OfRound)
	case at < len(r.h.Entries):
		var e Entry
		e, err = decodeEntry(text, r.h.Entries[at], r.h.entryHash(at))
		r.s.Removed = append(r.s.Removed, e)
	}
	return err
}

func (r *stepReader) readTranscript(ctx context.Context) error {
	name := transcriptName(r.n)
	f, err := r.openFile(ctx, r.folder, name)
	if err != nil {
		return r.reportUnopened(name, err)
	}
	defer f.Close()
	sum := sha256.New()
	t, line, err := decodeTranscript(io.TeeReader(f, sum))
	switch {
	case err != nil:
	case hex.EncodeToString(sum.Sum(nil)) != r.h.Transcript:
		err = errChanged
	case len(t) != r.h.Messages:
		err = fmt.Errorf("%w: it has %d messages, not %d", ErrDamaged, len(t), r.h.Messages)
	}
	if err != nil {
		return r.bad(r.damageAt(name, line, "", err))
	}
	r.s.Before = t
	return nil
}

func (r *stepReader) readSummary(ctx context.Context) error {
	name := summaryName(r.n)
	b, err := r.readWholeFile(ctx, r.folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return r.reportUnopened(name, err)
	}
	var f summaryFile
	if err == nil {
		err = decodeLine(b, &f)
	}
	if err == nil {
		err = checkHash(b, r.h.OfSummary)
	}
	if err != nil {
		return r.bad(r.damageAt(name, 0, "", err))
	}
	r.s.Summary = f.Summary
	return nil
}

// readWholeFile returns the content of a file.
func (l storeReader) readWholeFile(ctx context.Context, folder, name string) ([]byte, error) {
	f, err := l.openFile(ctx, folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// readStepLineAt returns line n of a step file.
func (l storeReader) readStepLineAt(ctx context.Context, folder string, step, n int) ([]byte, error) {
	f, err := l.openFile(ctx, folder, stepName(step))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	at := 0
	for text, err := range readLines(f) {
		if at++; at == n || err != nil {
			return text, err
		}
	}
	return nil, errMissing
}

// readHeader returns the header of a step, or fs.ErrNotExist.
func (l storeReader) readHeader(ctx context.Context, session string, n int) (headerLine, error) {
	folder := folderName(session)
	text, err := l.readStepLineAt(ctx, folder, n, 1)
	var h headerLine
	if err == nil {
		h, err = decodeHeader(text, n)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = &Damage{Session: session, Step: n, File: l.filePath(folder, stepName(n)), Line: 1, Err: err}
	}
	return h, err
}

// readEntry returns the entry at a place of the step with the header h.
func (l storeReader) readEntry(ctx context.Context, session string, h headerLine, at int) (Entry, error) {
	folder := folderName(session)
	text, err := l.readStepLineAt(ctx, folder, h.Number, at+3)
	var e Entry
	if err == nil {
		e, err = decodeEntry(text, h.Entries[at], h.entryHash(at))
	}
	if err != nil {
		err = &Damage{Session: session, Step: h.Number, Entry: h.Entries[at], File: l.filePath(folder, stepName(h.Number)), Line: at + 3, Err: err}
	}
	return e, err
}
