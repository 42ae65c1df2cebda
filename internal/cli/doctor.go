package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/redact"
)

func newDoctorCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [FILE|-]",
		Short: "Report the available models, and the engine of each level",
		Long: `doctor asks the server for its version, its models and their windows, tries the
model for ranking and the model for summaries, and reports which engine each
level will use, why, and a remedy for each problem.

It leaves the server as it was: a model is tried with the window that it has,
and a model that had to be loaded is soon unloaded. A trial takes at most 2
minutes, or the longer of the deadlines if they are set; all trials together
take at most one and a half times as long. doctor also reports a machine that is
busy, or too slow for the deadlines.

With --model, it reports the window of the session's model as the server runs
it; if the window is not set, the model is loaded to find it. With FILE, a
transcript, it reports whether that session fits. It exits 1 if something that
you asked for is missing; if the quality is only reduced, it exits 0.`,
		Example: `  tiercompact doctor
  tiercompact doctor --pull
  tiercompact doctor session.jsonl --model qwen2.5-coder:7b
  tiercompact doctor --ollama-url http://127.0.0.1:11434 --json`,
		Args: atMostArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.runDoctor(cmd, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.pull, "pull", false, "have the server pull the missing models")
	f.BoolVar(&o.json, "json", false, "the findings as JSON")
	o.look.registerLook(cmd)
	o.settings.registerSettings(cmd, append([]string{"model", "window"}, settingsOfModels()...)...)
	o.source.registerSource(cmd)
	f.SortFlags = false
	return cmd
}

type doctorOptions struct {
	settings   settings
	source     source
	look       screenOptions
	pull, json bool
}

func (o *doctorOptions) runDoctor(cmd *cobra.Command, args []string) error {
	if err := o.settings.loadSettings(cmd, map[string]string{"preset": string(tiercompact.Steady)}); err != nil {
		return err
	}
	patient, err := o.patientSession(cmd, args)
	if err != nil {
		return err
	}
	c := o.settings.Config
	c.Model = patient.Model
	options, err := c.EngineOptions()
	if err != nil {
		return settingsError(err)
	}
	p := newProgress(cmd)
	options.Try = o.longestDeadline()
	options.Trying = func(model string) {
		within := cmp.Or(options.Try, engine.DefaultTry)
		if p.w == nil {
			printNote(cmd, "trying %s, for at most %s", model, within)
		}
		p.showLine(true, fmt.Sprintf("trying %s, for at most %s ...", model, within))
	}
	if o.pull {
		if err := o.pullMissing(cmd, options, patient.Model); err != nil {
			return err
		}
	}
	d, err := engine.Diagnose(cmd.Context(), options, patient)
	p.showLine(false, "")
	if err != nil {
		return err
	}
	d = redactedDiagnosis(d)
	if o.json {
		err = writeJSON(cmd.OutOrStdout(), d)
	} else {
		err = o.writeDiagnosis(cmd.OutOrStdout(), d)
	}
	if n := severityExit(d); err == nil && n > 0 {
		return fmt.Errorf("%s to be solved, listed above", screen.Plural(n, "problem"))
	}
	return err
}

// redactedDiagnosis returns d with the servers' answers redacted: one may repeat a key.
func redactedDiagnosis(d engine.Diagnosis) engine.Diagnosis {
	clean := redact.Default().String
	d.Levels, d.Problems = slices.Clone(d.Levels), slices.Clone(d.Problems)
	for i := range d.Levels {
		d.Levels[i].Why = clean(d.Levels[i].Why)
	}
	for i := range d.Problems {
		d.Problems[i].What, d.Problems[i].Remedy = clean(d.Problems[i].What), clean(d.Problems[i].Remedy)
	}
	for _, trip := range []**engine.RoundTrip{&d.Embed, &d.Summary} {
		if *trip != nil {
			clone := **trip
			clone.Error = clean(clone.Error)
			*trip = &clone
		}
	}
	return d
}

// longestDeadline returns the longest deadline of the flags; 0 is the default.
func (o *doctorOptions) longestDeadline() (longest time.Duration) {
	d := o.settings.Config.Deadlines
	for path, deadline := range map[string]time.Duration{"deadlines.ranking": d.Ranking, "deadlines.summary": d.Summary} {
		if o.settings.Origin(path).Kind != config.Default {
			longest = max(longest, deadline)
		}
	}
	return longest
}

func severityExit(d engine.Diagnosis) int {
	n := 0
	for _, p := range d.Problems {
		if p.Serious {
			n++
		}
	}
	return n
}

// patientSession returns the session of the diagnosis.
func (o *doctorOptions) patientSession(cmd *cobra.Command, args []string) (engine.Patient, error) {
	cfg := o.settings.Config.Compaction()
	p := engine.Patient{Model: cfg.Model, Window: cfg.Window, HardCapBuffer: cfg.Policy.HardCapBuffer, Reserve: cfg.Policy.Reserve}
	if len(args) == 0 {
		return p, nil
	}
	in, err := o.source.readSource(cmd, args[0])
	if err != nil {
		return p, err
	}
	p.Model = cmp.Or(p.Model, in.Model)
	cfg.Model, cfg.Window = p.Model, 1<<30 // the session is only counted
	s, err := loadedSession(in, cfg)
	if err != nil {
		return p, err
	}
	p.Needed = s.Usage().Tokens
	p.Fits = func(window int) error {
		cfg.Window = window
		s, err := loadedSession(in, cfg)
		if err == nil {
			_, err = s.Plan(cmd.Context())
		}
		return err
	}
	return p, nil
}

// loadedSession returns a session of the transcript with the built-in ranking and summary.
func loadedSession(in input, cfg tiercompact.Config) (*tiercompact.Session, error) {
	c, err := tiercompact.New(cfg)
	if err != nil {
		return nil, err
	}
	s := c.Session("")
	s.SetTools(in.Tools)
	return s, s.Load(in.Messages)
}

// pullMissing has the server pull the models that the diagnosis would miss.
func (o *doctorOptions) pullMissing(cmd *cobra.Command, options engine.Options, session string) error {
	names, err := engine.Wanted(cmd.Context(), options, session)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := pullModel(cmd, options, name); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		printNote(cmd, "no model is missing")
	}
	return nil
}

// pullModel shows progress on a terminal, and otherwise one line at the end.
func pullModel(cmd *cobra.Command, options engine.Options, name string) error {
	p := newProgress(cmd)
	err := engine.Pull(cmd.Context(), options, name, func(status string, done, of int64) {
		p.showShare("pulling "+name+": "+status, done, of)
	})
	p.clearLine()
	if err == nil {
		printNote(cmd, "pulled %s", name)
	}
	return err
}

// writeDiagnosis writes a diagnosis for people.
func (o *doctorOptions) writeDiagnosis(out io.Writer, d engine.Diagnosis) error {
	s, err := o.look.screenFor(out)
	if err != nil {
		return err
	}
	w := &doctorSheet{w: out, screen: s}
	w.writeServer(d.Server)
	w.machine(d.Machine)
	w.writeModels(d.Models)
	w.writeWindow(d.Window)
	w.writeRoundTrip("embedding", d.Embed)
	w.writeRoundTrip("summary", d.Summary)
	w.writeLevels(d)
	w.problems(d.Problems)
	return w.failed
}
