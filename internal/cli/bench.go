package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/internal/bench/report"
	"github.com/tiercompact/tiercompact/levels"
)

func newBenchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [FILES or folders]",
		Short: "Measure what compaction keeps, frees and costs",
		Long: `bench measures each level and preset on whole sessions: the freed tokens; the
kept share of the identifiers, of those in their place, and of the edits that
the work needs after a cut; planted facts; lines of files that are false; calls
and results without their partner; the tokens that a prompt cache must read
again. It measures simple ways to shorten a conversation too, for comparison.

FILES are transcripts of any format; folders are searched for them. Without
FILES, it measures generated sessions. Windows are shares of the tokens of a
session: 0.5 is a window of half of them.`,
		Example: `  tiercompact bench --quick
  tiercompact bench sessions/ --preset steady --left 0.31
  tiercompact bench --html report.html --plot report.svg
  tiercompact bench a.jsonl b.json --level auto --window 0.3,0.5 --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runBench(cmd, args) },
	}
	o.registerBench(cmd)
	cmd.AddCommand(newBenchRecallCommand(), newBenchScoreCommand())
	return cmd
}

type benchOptions struct {
	presets, levels              []string
	windows                      []float64
	cuts                         []int
	left                         float64
	baselines, quick, json, cost bool
	sections                     bool
	seed                         uint64
	csv, html, plot, plotOf      string
	models                       models
	look                         screenOptions
}

func (o *benchOptions) registerBench(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&o.presets, "preset", nil, "`presets` to measure: default, eager, steady (default: all)")
	f.StringSliceVarP(&o.levels, "level", "l", nil, "`levels` to measure: "+benchLevels()+" (default: all)")
	f.Float64SliceVarP(&o.windows, "window", "w", nil, "`shares` of the tokens that windows take (default: some for auto, 0.5 for each level)")
	f.Float64Var(&o.left, "left", 0, "find the window in which auto leaves this `share` of the tokens, and report the figures for it")
	f.IntSliceVar(&o.cuts, "cuts", nil, "`percentages` of the messages at which sessions are cut, for the mean of all measures (default: edits at 30 to 90, identifiers at 60)")
	f.BoolVar(&o.baselines, "baselines", true, "measure simple ways too, for comparison")
	f.BoolVar(&o.quick, "quick", false, "fewer windows, and only the shorter generated sessions")
	f.BoolVar(&o.cost, "cost", true, "measure times and memory too; without it, two runs give the same bytes")
	o.models.registerModels(cmd, "engine", "ollama_url", "summary.model", "summary.url", "embed")
	f.BoolVar(&o.sections, "sections", false, "measure what each section of a summary brings: each left out in turn, in the first window")
	f.Uint64Var(&o.seed, "seed", 42, "`number` that sessions and what is random are made from")
	f.BoolVar(&o.json, "json", false, "all figures as JSON")
	f.StringVar(&o.csv, "csv", "", "write a line for each row to this `file`")
	f.StringVar(&o.html, "html", "", "write one page with tables and plots to this `file`")
	f.StringVar(&o.plot, "plot", "", "draw plots into this `file`, .svg or .png")
	f.StringVar(&o.plotOf, "plot-of", report.All, "which plot: "+strings.Join(report.Plots(), ", "))
	o.look.registerLook(cmd)
	f.Lookup("window").DefValue = ""
	f.SortFlags = false
	for flag, words := range map[string]string{"preset": benchPresets, "level": benchLevels(), "plot-of": strings.Join(report.Plots(), ", ")} {
		complete(cmd, flag, words)
	}
}

const benchPresets = "default, eager, steady"

func benchLevels() string { return strings.Join(append([]string{bench.Auto}, levels.Names()...), ", ") }

func (o *benchOptions) runBench(cmd *cobra.Command, args []string) error {
	if err := o.validateBench(cmd); err != nil {
		return err
	}
	s, err := o.look.screenFor(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	options := bench.Options{
		Name: fmt.Sprintf("made-up sessions, seed %d", o.seed), Levels: o.levels, Windows: o.windows, Left: o.left,
		Cuts: o.cuts, Seed: o.seed, Quick: o.quick, Bare: !o.baselines, NoCost: !o.cost, Sections: o.sections,
	}
	for _, preset := range o.presets {
		options.Presets = append(options.Presets, tiercompact.Preset(preset))
	}
	if err := o.setEngines(cmd, &options.Config); err != nil {
		return err
	}
	sessions, err := o.sessions(cmd, args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		options.Name = benchSetName(args)
	}
	options.Command = o.commandWords(cmd, args)
	p := newBenchProgress(cmd)
	options.Told = func(done, of int) { p.showShare("measuring", int64(done), int64(of)) }
	r, err := bench.Run(cmd.Context(), options, sessions)
	p.clearLine()
	if err != nil {
		return err
	}
	return errors.Join(o.writeOutputs(cmd, r), buffered(cmd.OutOrStdout(), func(w io.Writer) error {
		if o.json {
			return writeJSON(w, r)
		}
		return showBench(w, s, r)
	}))
}

func (o *benchOptions) validateBench(cmd *cobra.Command) error {
	for flag, list := range map[string][]string{"preset": o.presets, "level": o.levels} {
		if cmd.Flags().Changed(flag) && len(list) == 0 {
			return usageErrorf("--%s is empty; give it a value, or leave it out", flag)
		}
	}
	for _, preset := range o.presets {
		if err := checkOneOf("--preset", preset, benchPresets); err != nil {
			return err
		}
	}
	for _, level := range o.levels {
		if err := checkOneOf("--level", level, benchLevels()); err != nil {
			return err
		}
	}
	for _, w := range o.windows {
		if !(w > 0 && w <= 100) {
			return usageErrorf("--window takes shares of the tokens of a session, above 0 and at most 100, not %g", w)
		}
	}
	for _, cut := range o.cuts {
		if cut < 1 || cut > 99 {
			return usageErrorf("--cuts takes percentages of the messages, from 1 to 99, not %d", cut)
		}
	}
	if cmd.Flags().Changed("left") && !(o.left > 0 && o.left < 1) {
		return usageErrorf("--left takes a share of the tokens, above 0 and below 1, not %g", o.left)
	}
	if err := checkChoices([]choice{{"plot-of", &o.plotOf, strings.Join(report.Plots(), ", ")}}); err != nil {
		return err
	}
	return o.validTargets(cmd)
}

// setEngines sets the ranking and the summary that the flags name.
func (o *benchOptions) setEngines(cmd *cobra.Command, cfg *tiercompact.Config) error {
	e, err := o.models.engineOptions(cmd, false)
	if err != nil {
		return err
	}
	e.Seed = int(o.seed)
	found, err := engine.Open(cmd.Context(), e)
	if err != nil {
		return err
	}
	if found.Warning != "" {
		printNote(cmd, "warning: %s", found.Warning)
	}
	found.Into(cfg)
	return nil
}

// sessions returns those of files and folders, or generated ones.
func (o *benchOptions) sessions(cmd *cobra.Command, args []string) ([]corpus.Session, error) {
	switch {
	case len(args) > 0:
		g, err := transcripts(cmd, args)
		if err != nil {
			return nil, err
		}
		if err := o.protectInputs(g.paths); err != nil {
			return nil, err
		}
		return g.sessions()
	case o.quick:
		return corpus.Small(o.seed), nil
	}
	return corpus.Default(o.seed), nil
}

// notMeasured lists the flags that change where figures go, but not the figures.
// The address of a server is private.
var notMeasured = []string{"json", "csv", "html", "plot", "plot-of", "ascii", "color", "ollama-url", "embed-url", "summary-url", "embed-cache", "no-embed-cache", "help"}

// commandWords returns the words of a command that repeats this measurement,
// without the flags of its output.
func (o *benchOptions) commandWords(cmd *cobra.Command, args []string) []string {
	words := strings.Fields(cmd.CommandPath())
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && arg != "-" {
			arg = "./" + arg // it would be a flag
		}
		words = append(words, arg)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notMeasured, f.Name) && (f.Changed || f.Name == "seed") {
			words = append(words, o.flagWords(f)...)
		}
	})
	return words
}

// flagWords returns the words that set a flag to its value.
func (o *benchOptions) flagWords(f *pflag.Flag) []string {
	name, value := "--"+f.Name, f.Value.String()
	switch list, ok := f.Value.(pflag.SliceValue); {
	case f.Name == "window":
		shares := make([]string, len(o.windows))
		for i, w := range o.windows {
			shares[i] = strconv.FormatFloat(w, 'g', -1, 64)
		}
		value = strings.Join(shares, ",")
	case ok:
		value = strings.Join(list.GetSlice(), ",")
	case f.Value.Type() == "bool" && value == "true":
		return []string{name}
	case f.Value.Type() == "bool":
		return []string{name + "=" + value}
	}
	return []string{name, value}
}
