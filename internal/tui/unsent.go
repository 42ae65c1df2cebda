package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// A queued input is run after the current action.
type queued struct{ typed, expanded string }

// A queue holds the inputs that wait for the end of the current action, in order. It
// is written to a file beside the session, so that neither a kill nor a closed
// terminal loses what the user typed.
type queue struct {
	inputs []queued
	held   bool   // the inputs wait for Enter: they are from an earlier chat, or an error came between
	path   string // of the file; "": none is written
	failed error  // the newest write
}

// unsentPath returns the file of the inputs of a session that were not sent.
func unsentPath(dir, name string) string { return filepath.Join(sessions(dir), name+".unsent.json") }

// add appends an input.
func (q *queue) add(one queued) { q.set(append(q.inputs, one)) }

// first removes and returns the first input.
func (q *queue) first() queued {
	one := q.inputs[0]
	q.set(q.inputs[1:])
	return one
}

// last removes and returns the last input.
func (q *queue) last() queued {
	n := len(q.inputs) - 1
	one := q.inputs[n]
	q.set(q.inputs[:n])
	return one
}

func (q *queue) set(inputs []queued) {
	q.inputs = inputs
	q.held = q.held && len(inputs) > 0
	if q.path != "" {
		q.failed = writeUnsent(q.path, inputs)
	}
}

// openSession continues with the inputs of another session: what waits for the
// current action goes along, what was held stays with its session.
func (q *queue) openSession(path string) error {
	if !q.held && q.path != "" {
		_ = os.Remove(q.path) // otherwise they are offered twice
	}
	if q.held {
		q.inputs = nil
	}
	kept, err := readUnsent(path)
	q.path, q.failed, q.held = path, err, len(kept) > 0
	if err != nil {
		q.path = "" // the file stays what it is
	}
	for _, text := range kept {
		q.inputs = append(q.inputs, queued{text, text})
	}
	return err
}

// readUnsent returns the inputs in a file, none if there is no file.
func readUnsent(path string) (inputs []string, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &inputs)
	}
	if err != nil {
		return nil, fmt.Errorf("read the messages that were not sent: %s: %w", path, err)
	}
	return inputs, nil
}

// writeUnsent replaces the file of inputs. Without inputs, there is no file.
func writeUnsent(path string, inputs []queued) error {
	if len(inputs) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	var texts []string
	for _, one := range inputs {
		texts = append(texts, one.expanded)
	}
	data, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	temp := path + ".new" // a full disk leaves the old file
	if err := os.WriteFile(temp, append(data, '\n'), 0o600); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return os.Rename(temp, path)
}

// unsentText tells how many inputs an earlier chat left.
func unsentText(n int) string {
	return screen.Plural(n, "message") + " of the earlier chat " + wasOrWere(n) + " not sent"
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// keepUnsent keeps what was not sent when the user leaves, and returns how the user
// gets it back, "" if there is nothing.
func (a *app) keepUnsent() string {
	draft := a.input.Value()
	if a.question != nil {
		draft = a.draft
	}
	if text := a.pastes.Expand(draft); !isBlank(text) && !isQuit(text) {
		a.queue.add(queued{draft, text})
	}
	n := len(a.queue.inputs)
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %s not sent", screen.Plural(n, "message"), wasOrWere(n))
	if a.queue.failed != nil {
		return fmt.Sprintf("%s, and cannot be kept on disk (%v):", text, a.queue.failed)
	}
	return text + "; --resume offers what was not sent:"
}
