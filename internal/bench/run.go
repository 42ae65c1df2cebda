package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/tokens"
)

// Options select the measurements. The zero value measures everything.
type Options struct {
	Name     string               // of the set, for people
	Command  []string             // words of the command of this measurement, for the report; nil: none
	Config   tiercompact.Config   // the ranker, summarizer and counter; Window, Preset and Level are those of each row
	Presets  []tiercompact.Preset // nil: all
	Levels   []string             // Auto and levels; nil: all
	Windows  []float64            // windows as shares of the tokens, each above 0; nil: some for auto, 0.5 for the others
	Left     float64              // find the window in which auto leaves this share of the tokens; 0: do not
	Cuts     []int                // cuts of each session, in percent of its messages, from 1 to 99; nil: edits at 30 to 90, identifiers at 60
	Seed     uint64               // of random baselines, and of the sessions for Growth
	Quick    bool                 // fewer windows, shorter lengths
	Bare     bool                 // no baselines
	Sections bool                 // measure what each section of the summaries brings, in the first window
	NoCost   bool                 // measure no times and no memory
	Told     func(done, of int)   // receives the progress, from one goroutine at a time; may be nil
}

// Run measures sessions, on all cores, and returns the same figures whatever their
// number. It fails if a way fails, or ctx ends, and names the failed part.
func Run(ctx context.Context, o Options, sessions []corpus.Session) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, fmt.Errorf("bench: %w", err)
	}
	r := newRunner(o, sessions)
	if err := r.prepareCuts(ctx); err != nil {
		return Report{}, err
	}
	report := Report{Set: r.describeSet()}
	if report.Rows, err = r.measureWays(ctx, o.allWays()); err != nil {
		return Report{}, err
	}
	report.AtSize = compareAtSize(report.Rows)
	if report.Left, err = r.findWindows(ctx, report.Rows); err != nil {
		return Report{}, err
	}
	if report.Sections, err = r.measureSections(ctx); err != nil {
		return Report{}, err
	}
	if o.NoCost {
		return report, nil
	}
	if err := r.measureCosts(ctx, &report); err != nil {
		return Report{}, err
	}
	report.Growth, err = r.measureGrowth(ctx)
	return report, err
}

// withDefaults returns o with all defaults, or an error that names the invalid
// field.
func (o Options) withDefaults() (Options, error) {
	if len(o.Presets) == 0 {
		o.Presets = []tiercompact.Preset{tiercompact.Default, tiercompact.Eager, tiercompact.Steady}
	}
	known := append([]string{Auto}, levels.Names()...)
	if len(o.Levels) == 0 {
		o.Levels = known
	}
	for _, level := range o.Levels {
		if last := len(known) - 1; !slices.Contains(known, level) {
			return o, fmt.Errorf("level must be %s or %s, is %q", strings.Join(known[:last], ", "), known[last], level)
		}
	}
	for _, w := range o.Windows {
		if !(w > 0 && w <= 100) {
			return o, fmt.Errorf("window must be a share of the tokens, above 0 and at most 100, is %g", w)
		}
	}
	for _, cut := range o.Cuts {
		if cut < 1 || cut > 99 {
			return o, fmt.Errorf("cut must be a percentage of the messages, from 1 to 99, is %d", cut)
		}
	}
	if !(o.Left >= 0 && o.Left < 1) {
		return o, fmt.Errorf("left must be a share of the tokens, above 0 and below 1, is %g", o.Left)
	}
	o.Presets, o.Levels, o.Windows, o.Cuts = distinct(o.Presets), distinct(o.Levels), distinct(o.Windows), distinct(o.Cuts)
	for _, preset := range o.Presets {
		if _, err := tiercompact.New(tiercompact.Config{Window: 1 << 20, Preset: preset}); err != nil {
			return o, errors.Unwrap(err)
		}
	}
	if o.Config.Count == nil {
		c, err := tokens.Load(tokens.CL100K)
		if err != nil {
			return o, err
		}
		o.Config.Count = c.Count
	}
	o.Config.Count = Counted(o.Config.Count)
	return o, nil
}

// distinct returns the values of list, each once, in order: a row is measured once.
func distinct[T comparable](list []T) (once []T) {
	for _, x := range list {
		if !slices.Contains(once, x) {
			once = append(once, x)
		}
	}
	return once
}

// rowWindows are the windows of a row if none are given. Those of steady leave from
// a fifth to most of the tokens, so that it can be compared with baselines at their
// own size.
func (o Options) rowWindows(preset tiercompact.Preset, level string) []float64 {
	switch {
	case len(o.Windows) > 0:
		return o.Windows
	case level != Auto:
		return []float64{half}
	case o.Quick || preset != compared:
		return []float64{0.3, half, 1}
	}
	return []float64{0.2, 0.3, half, 0.75, 1, 1.3}
}

const half = 0.5

// allWays returns all ways, in the order of the rows.
func (o Options) allWays() []*way {
	var out []*way
	for _, preset := range o.Presets {
		for _, level := range o.Levels {
			if level != Auto && !o.sameAlone(preset) {
				out = append(out, o.singleLevel(preset, level))
			}
		}
	}
	for _, preset := range o.Presets {
		for _, level := range o.Levels {
			for _, w := range o.rowWindows(preset, level) {
				out = append(out, o.replayed(preset, level, w))
			}
		}
	}
	if !o.Bare {
		for _, b := range baselines(o.Seed) {
			out = append(out, &way{row: Row{Name: b.Name, Kind: Baseline, Window: half}, baseline: &b})
		}
	}
	return out
}

// sameAlone reports whether the levels of a preset alone are equal to those of
// default: eager differs in its thresholds, which do not matter then.
func (o Options) sameAlone(preset tiercompact.Preset) bool {
	return preset == tiercompact.Eager && slices.Contains(o.Presets, tiercompact.Default)
}

// describeSet describes the measurement.
func (r *runner) describeSet() Set {
	s := Set{
		Name: r.Name, Command: r.Command, Sessions: len(r.sessions), Seed: r.Seed, Quick: r.Quick, Cuts: r.Cuts,
		Ranking: cmp.Or(r.Config.Embed.Name, "lexical"), Summarizer: cmp.Or(r.Config.Summary.Name, levels.FallbackExtractive),
	}
	for _, x := range r.sessions {
		if len(x.messages) < minSession {
			s.Short = append(s.Short, x.name)
		}
		s.Messages += len(x.messages)
		s.Tokens += x.size
		s.Facts += len(x.facts)
	}
	return s
}

func (o Options) compactorConfig(preset tiercompact.Preset, level string, window int) tiercompact.Config {
	cfg := o.Config
	cfg.Preset, cfg.Window, cfg.Level = preset, max(1, window), ""
	if level != Auto {
		cfg.Level = levels.Name(level)
	}
	return cfg
}
