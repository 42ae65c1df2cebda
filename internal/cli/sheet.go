package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// A doctorSheet shows a diagnosis for people: a heading at the left, and its texts
// beside it.
type doctorSheet struct {
	w      io.Writer
	screen screen.Screen
	failed error // of writing
}

const headings = 11 // columns

func (s *doctorSheet) writeLine(text string) {
	if _, err := fmt.Fprintln(s.w, strings.TrimRight(text, " ")); err != nil && s.failed == nil {
		s.failed = err
	}
}

// writeRow writes texts, one below the other, beside a heading.
func (s *doctorSheet) writeRow(heading string, texts ...string) {
	s.writePainted(screen.Plain, heading, texts...)
}

// writePainted is writeRow with a colour for each line.
func (s *doctorSheet) writePainted(p screen.Paint, heading string, texts ...string) {
	for _, text := range texts {
		for _, line := range screen.Wrapped(text, s.screen.Width-headings) {
			s.writeLine(s.screen.Paint(screen.Dim, fmt.Sprintf("%-*s", headings, heading)) + s.screen.Paint(p, line))
			heading = ""
		}
	}
}

func (s *doctorSheet) writeServer(state engine.ServerState) {
	if state.URL == "" {
		s.writeRow("server", "none is asked")
		return
	}
	if !state.Reachable {
		s.writeRow("server", "no Ollama at "+state.URL)
		return
	}
	s.writeRow("server", "Ollama "+state.Version+" at "+state.URL)
}

func (s *doctorSheet) machine(m engine.MachineState) {
	if m.Busy != "" {
		s.writePainted(screen.Yellow, "machine", m.Busy)
	}
}

func (s *doctorSheet) writeModels(models []engine.ModelState) {
	texts := make([]string, 0, len(models))
	for _, m := range models {
		text := fmt.Sprintf("%s, %s MB, can %s", m.Name, screen.Grouped(int(m.Size/1e6)), strings.Join(m.Can, " and "))
		if m.Trained > 0 {
			text += fmt.Sprintf(", trained for %s tokens", screen.Grouped(m.Trained))
		}
		if m.NumCtx > 0 {
			text += fmt.Sprintf(", num_ctx %s", screen.Grouped(m.NumCtx))
		}
		texts = append(texts, text)
	}
	s.writeRow("models", texts...)
}

func (s *doctorSheet) writeWindow(w engine.WindowState) {
	if w.Tokens == 0 {
		s.writeRow("window", "not known: give --model, or --window")
		return
	}
	text := screen.Grouped(w.Tokens) + " tokens"
	if w.Model != "" {
		text += " for " + w.Model
	}
	text += ", " + w.Source
	if w.Unsure != "" {
		text += " (to make sure, " + w.Unsure + ")"
	}
	if w.Needed > 0 {
		text += fmt.Sprintf("; the session has %s", screen.Grouped(w.Needed))
	}
	s.writeRow("window", text)
}

func (s *doctorSheet) writeRoundTrip(heading string, t *engine.RoundTrip) {
	switch {
	case t == nil:
	case t.Error != "":
		s.writePainted(screen.Red, heading, t.Model+" fails: "+t.Error)
	default:
		reads := ""
		if t.Reads > 0 {
			reads = fmt.Sprintf("reads %.0f tokens/s, writes ", t.Reads)
		}
		s.writeRow(heading, fmt.Sprintf("%s, %s%.0f tokens/s (%d tokens in %.1f s), loaded in %.1f s", t.Model, reads, t.PerSecond, t.Tokens, t.Took.Seconds(), t.Load.Seconds()))
	}
}

// writeLevels writes the engine of each level. A reason that is a problem is given
// there.
func (s *doctorSheet) writeLevels(d engine.Diagnosis) {
	s.writeLine("")
	for _, l := range d.Levels {
		if slices.ContainsFunc(d.Problems, func(p engine.Problem) bool { return p.What == l.Why }) {
			l.Why = "see below"
		}
		s.writeRow(string(l.Level), l.Engine+": "+l.Why)
	}
}

func (s *doctorSheet) problems(problems []engine.Problem) {
	s.writeLine("")
	if len(problems) == 0 {
		s.writeRow("to do", "nothing")
	}
	for _, p := range problems {
		paint, heading := screen.Yellow, "better"
		if p.Serious {
			paint, heading = screen.Red, "to do"
		}
		for i, line := range screen.Wrapped(p.What, s.screen.Width-headings) {
			if i > 0 {
				heading = ""
			}
			s.writeLine(fmt.Sprintf("%-*s", headings, heading) + s.screen.Paint(paint, line))
		}
		s.writeRow("", s.screen.Sign("→ ", "> ")+p.Remedy)
	}
}
