package archive

import "fmt"

// A Damage is a place in an archive that differs from what was written. As an
// error, it unwraps to the problem: [ErrDamaged], [ErrVersion], or why it cannot be
// read.
type Damage struct {
	Session string
	Step    int    // 0: it belongs to no step
	Entry   string // recall id; "": it is not an entry
	File    string // path or address; "": the store has no files
	Line    int    // from 1; 0: the whole file
	Err     error
}

func (d *Damage) Error() string {
	text := "read " + d.File
	if d.File == "" {
		text = fmt.Sprintf("read session %s", d.Session)
		if d.Step > 0 {
			text += fmt.Sprintf(": step %d", d.Step)
		}
	}
	if d.Line > 0 {
		text += fmt.Sprintf(": line %d", d.Line)
	}
	if d.Entry != "" {
		text += ": entry " + d.Entry
	}
	return text + ": " + d.Err.Error()
}

func (d *Damage) Unwrap() error { return d.Err }

// The kinds of damage of readable data.
var (
	errMissing    = fmt.Errorf("%w: it is missing", ErrDamaged)
	errChanged    = fmt.Errorf("%w: it is not as it was written", ErrDamaged)
	errUnresolved = fmt.Errorf("%w: the conversation refers to it, and no step has it", ErrDamaged)
	errTorn       = fmt.Errorf("%w: the end is missing", ErrDamaged)
)
