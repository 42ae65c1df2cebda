package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
)

// A step file has a header, the round, and one line for each recall entry.
type (
	headerLine struct {
		head
		StepInfo
		Left   string `json:"left,omitempty"`
		SHA256 string `json:"transcript_sha256"`
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

// prepareStep writes drafts of the files of s. It returns those written so far
// also with an error.
func (d *Dir) prepareStep(folder string, s Step) (content []draft, step draft, err error) {
	sum := sha256.New()
	transcript, err := d.disk.prepare(transcriptPath(folder, s.Number), func(w io.Writer) error {
		return EncodeTranscript(io.MultiWriter(w, sum), s.Before)
	})
	if err != nil {
		return nil, step, err
	}
	content = append(content, transcript)
	if s.Summary != nil {
		summary, err := d.disk.prepare(summaryPath(folder, s.Number), func(w io.Writer) error {
			return encoder(w).Encode(summaryFile{head{Version}, s.Session, s.Number, s.Summary})
		})
		if err != nil {
			return content, step, err
		}
		content = append(content, summary)
	}
	step, err = d.disk.prepare(stepPath(folder, s.Number), func(w io.Writer) error {
		return encodeStep(encoder(w), s, sum)
	})
	return content, step, err
}

func encodeStep(e *json.Encoder, s Step, sum hash.Hash) error {
	if err := e.Encode(headerLine{head{Version}, s.info(), s.Left, hex.EncodeToString(sum.Sum(nil))}); err != nil {
		return err
	}
	if err := e.Encode(encodeRound(s.Edits)); err != nil {
		return err
	}
	for _, x := range s.Removed {
		if err := e.Encode(entryLine{head{Version}, x.ID, encodeAll(x.Messages), x.Below, x.Text}); err != nil {
			return err
		}
	}
	return nil
}

func encodeRound(r edit.Round) roundLine {
	out := roundLine{head: head{Version}, Seen: r.Seen, Sum: r.Sum}
	for _, edits := range r.Steps {
		lines := make([]editLine, len(edits))
		for i, e := range edits {
			lines[i] = editLine{e.Start, e.End, encodeAll(e.New), e.Why}
		}
		out.Steps = append(out.Steps, lines)
	}
	return out
}

func (l roundLine) round() (edit.Round, error) {
	out := edit.Round{Seen: l.Seen, Sum: l.Sum}
	for _, lines := range l.Steps {
		edits := make([]edit.Edit, len(lines))
		for i, e := range lines {
			added, err := decodeAll(e.New)
			if err != nil {
				return out, fmt.Errorf("%w: edit %d: %w", ErrDamaged, i+1, err)
			}
			edits[i] = edit.Edit{Start: e.Start, End: e.End, New: added, Why: e.Why}
		}
		out.Steps = append(out.Steps, edits)
	}
	return out, nil
}

func (l entryLine) entry() (Entry, error) {
	messages, err := decodeAll(l.Messages)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: entry %s: %w", ErrDamaged, l.ID, err)
	}
	return Entry{l.ID, messages, l.Below, l.Text}, nil
}

// readHeader returns the header of a step file.
func readHeader(path string) (h headerLine, err error) {
	read := false
	err = eachFileLine(path, func(n int, line []byte) error {
		read = true
		if err := decodeLine(line, &h); err != nil {
			return err
		}
		return errStop
	})
	if err == nil && !read {
		err = fmt.Errorf("read %s: %w: empty", path, ErrDamaged)
	}
	return h, err
}

// readEntry returns the entry at a place of a step file.
func readEntry(path string, at int) (e Entry, err error) {
	found := false
	err = eachFileLine(path, func(n int, line []byte) error {
		if n != at+2 {
			return nil
		}
		var l entryLine
		if err := decodeLine(line, &l); err != nil {
			return err
		}
		found = true
		if e, err = l.entry(); err != nil {
			return err
		}
		return errStop
	})
	if err == nil && !found {
		err = fmt.Errorf("read %s: %w: an entry is missing", path, ErrDamaged)
	}
	return e, err
}

// eachFileLine calls f with the number, from 0, and the text of each line.
func eachFileLine(path string, f func(n int, line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	n := -1
	if err := eachLine(file, func(line []byte) error { n++; return f(n, line) }); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// readStep returns step n of a session's folder.
func readStep(folder string, n int) (Step, error) {
	s, h, err := readStepFile(stepPath(folder, n))
	if err != nil {
		return s, err
	}
	if s.Before, err = readTranscript(transcriptPath(folder, n), h.SHA256); err != nil {
		return s, err
	}
	if !h.Summary {
		return s, nil
	}
	b, err := os.ReadFile(summaryPath(folder, n))
	if err != nil {
		return s, damaged(err)
	}
	var f summaryFile
	if err := decodeLine(b, &f); err != nil {
		return s, fmt.Errorf("read %s: %w", summaryPath(folder, n), err)
	}
	s.Summary = f.Summary
	return s, nil
}

// readStepFile returns a step without its transcript and summary.
func readStepFile(path string) (s Step, h headerLine, err error) {
	lines := 0
	err = eachFileLine(path, func(n int, line []byte) error {
		lines++
		switch n {
		case 0:
			return decodeLine(line, &h)
		case 1:
			var l roundLine
			if err := decodeLine(line, &l); err != nil {
				return err
			}
			s.Edits, err = l.round()
			return err
		}
		var l entryLine
		if err := decodeLine(line, &l); err != nil {
			return err
		}
		e, err := l.entry()
		s.Removed = append(s.Removed, e)
		return err
	})
	if want := 2 + len(h.Entries); err == nil && lines != want {
		err = fmt.Errorf("read %s: %w: it has %d lines, not %d", path, ErrDamaged, lines, want)
	}
	s.Session, s.Number, s.Time, s.Level, s.Reason = h.Session, h.Number, h.Time, h.Level, h.Reason
	s.Note, s.Undoes, s.Redacted, s.Left = h.Note, h.Undoes, h.Redacted, h.Left
	return s, h, err
}

// readTranscript reads the transcript at path, which must have the hash sum.
func readTranscript(path, sum string) (chat.Transcript, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, damaged(err)
	}
	got := sha256.Sum256(b)
	t, err := DecodeTranscript(bytes.NewReader(b))
	if err == nil && hex.EncodeToString(got[:]) != sum {
		err = fmt.Errorf("%w: it is not as it was written", ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return t, nil
}

// damaged is for a file that is missing although its step is there.
func damaged(err error) error { return fmt.Errorf("%w: %v", ErrDamaged, err) }
