// Package bench measures what compaction does to conversations: how many tokens
// each level frees, what it keeps of what the work needs next, what a prompt
// cache must read anew, and how long it takes. Baselines are measured beside it.
//
// [Run] measures whole sets of sessions, made up by package corpus or read from
// files; [Compare] measures what any compactor made of one conversation.
package bench

import (
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/levels"
)

// A Level is what one level did in a whole session.
type Level struct {
	Level  levels.Name   `json:"level"`
	Times  int           `json:"times"`
	Freed  int           `json:"freed"` // tokens, before less after
	Share  float64       `json:"share"` // of all that was freed, 0 to 1
	Took   time.Duration `json:"-"`
	Millis float64       `json:"ms"` // Took, in milliseconds
}

// Freed adds up the tokens that each level freed. The zero Freed is ready.
type Freed struct {
	levels map[levels.Name]*Level
}

// Add adds what a check did. One that changed nothing adds nothing.
func (f *Freed) Add(r tiercompact.Report) {
	for _, a := range r.Applied {
		l := f.levelFreed(a.Level)
		l.Times++
		l.Freed += a.Before - a.After
		l.Took += a.Took
	}
}

func (f *Freed) levelFreed(name levels.Name) *Level {
	l := f.levels[name]
	if l == nil {
		if f.levels == nil {
			f.levels = make(map[levels.Name]*Level)
		}
		l = &Level{Level: name}
		f.levels[name] = l
	}
	return l
}

// Levels returns a line for each level that usage picks, and for layers and fit if
// they were applied, mildest first.
func (f *Freed) Levels() []Level {
	total := 0
	for _, l := range f.levels {
		total += l.Freed
	}
	var out []Level
	chosen := len(levels.All())
	for i, l := range levels.Reported() {
		line := Level{Level: l.Name}
		if applied := f.levels[l.Name]; applied != nil {
			line = *applied
		} else if i >= chosen {
			continue
		}
		if total > 0 {
			line.Share = float64(line.Freed) / float64(total)
		}
		line.Millis = float64(line.Took.Microseconds()) / 1000
		out = append(out, line)
	}
	return out
}
