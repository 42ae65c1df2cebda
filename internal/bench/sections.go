package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A Section is what one section of the summaries brings: auto of a preset is measured
// with the section left out of its output.
type Section struct {
	Preset      string  `json:"preset"`
	Window      float64 `json:"window"` // as a share of the tokens
	Name        string  `json:"name"`   // the heading; "" for the whole output, [filesSection] for the parts of files
	Left        float64 `json:"left"`   // share of the tokens, at all cuts of both measures
	Identifiers Figure  `json:"identifiers"`
	Placed      Figure  `json:"placed"`
	Edits       Figure  `json:"edits"`
	Truth       Truth   `json:"truth"`
}

// filesSection is the name of the parts of files at the end of a summary.
const filesSection = "parts of files"

// measureSections leaves out each section of the summaries in turn. It measures the
// first window of each preset.
func (r *runner) measureSections(ctx context.Context) (out []Section, err error) {
	if !r.Sections {
		return nil, nil
	}
	for _, preset := range r.Presets {
		w := r.replayed(preset, Auto, r.sectionWindow())
		sums := make([]map[string]*Kept, len(r.sessions))
		r.expectTasks(len(r.sessions))
		err := r.eachParallel(ctx, len(r.sessions), r.longestFirst(), func(i int) (err error) {
			sums[i], err = r.keptWithoutSections(ctx, w, r.sessions[i])
			r.reportProgress()
			return err
		})
		if err != nil {
			return nil, err
		}
		out = append(out, sumSections(w, sums)...)
	}
	return out, nil
}

func (o Options) sectionWindow() float64 {
	if len(o.Windows) > 0 {
		return o.Windows[0]
	}
	return half
}

// keptWithoutSections returns what a way keeps of a session without each section, by
// its name. A cut without the section counts as it is.
func (r *runner) keptWithoutSections(ctx context.Context, w *way, s *subject) (map[string]*Kept, error) {
	sums := map[string]*Kept{"": {}}
	for _, c := range s.cuts {
		left, err := r.applyWay(ctx, w, c.before, c.size)
		if err != nil {
			return nil, fmt.Errorf("%s, cut at %d: %w", s.name, len(c.before), err)
		}
		var whole Kept
		whole.addCut(c, left, r.Config.Count)
		names := sectionNames(left)
		for _, name := range names {
			if sums[name] == nil { // the cuts before had none
				sums[name] = new(Kept)
				*sums[name] = *sums[""]
			}
		}
		for name, sum := range sums {
			if name == "" || !slices.Contains(names, name) {
				sum.addKept(whole)
				continue
			}
			sum.addCut(c, withoutSection(left, name), r.Config.Count)
		}
	}
	return sums, nil
}

// sumSections sums the sessions for each section, by their names.
func sumSections(w *way, sums []map[string]*Kept) (out []Section) {
	var names []string
	for _, session := range sums {
		for name := range session {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		var all Kept
		for _, session := range sums {
			kept := session[name]
			if kept == nil {
				kept = session[""]
			}
			all.addKept(*kept)
		}
		row := sumRow(w.row, []part{{kept: all}})
		out = append(out, Section{
			Preset: row.Preset, Window: row.Window, Name: name, Left: row.Left,
			Identifiers: row.Identifiers, Placed: row.Placed, Edits: row.Edits, Truth: row.Truth,
		})
	}
	return out
}

// sectionNames returns the headings of the sections in the summaries of t, each once.
func sectionNames(t chat.Transcript) (names []string) {
	for _, m := range t {
		if m.IsSummary() {
			eachSectionLine(m.Text(), func(name, _ string) {
				if name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			})
		}
	}
	return names
}

// eachSectionLine calls do with each line of a summary and the name of its section.
func eachSectionLine(text string, do func(name, line string)) {
	name, inFile := "", false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case excerptHead.MatchString(line):
			name, inFile = filesSection, true
		case inFile:
			inFile = line != "</file>"
		case strings.HasPrefix(line, "## "):
			name = strings.TrimPrefix(line, "## ")
		case strings.HasPrefix(line, "[recall "):
			name = ""
		}
		do(name, line)
	}
}

// withoutSection returns t with a section left out of its summaries.
func withoutSection(t chat.Transcript, name string) chat.Transcript {
	out := slices.Clone(t)
	for i, m := range out {
		if !m.IsSummary() {
			continue
		}
		out[i].Parts = slices.Clone(m.Parts)
		for k, p := range m.Parts {
			var lines []string
			eachSectionLine(p.Text, func(at, line string) {
				if at != name {
					lines = append(lines, line)
				}
			})
			out[i].Parts[k].Text = strings.Join(lines, "\n")
		}
	}
	return out
}
