package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// settings are the values of a file, the environment and flags.
type settings struct {
	file string // --config
	*config.Loaded
}

// registerSettings adds --config, and the flags of the settings with these paths or
// in these sections.
func (s *settings) registerSettings(cmd *cobra.Command, names ...string) {
	registerSettings(cmd, names...)
	f := cmd.Flags()
	f.StringVar(&s.file, "config", "", "settings from this `file` (default: "+config.FileVariable+", else "+strings.Join(config.Names(), ", ")+" in the current folder)")
	f.SortFlags = false
}

// registerSettings adds the flags of settings.
func registerSettings(cmd *cobra.Command, names ...string) {
	for flag, words := range config.Register(cmd.Flags(), names...) {
		complete(cmd, flag, strings.Join(words, ", "))
	}
}

// settingsOfCompaction names the settings of every command that compacts.
func settingsOfCompaction() []string {
	return []string{"window", "model", "level", "preset", "auto", "trigger", "escalation", "ranking", "min_gain", "fill", "summary_role",
		"engine", "ollama_url", "num_thread", "exact_tokens", "seed", "thresholds", "policy", "soft", "hard", "emergency", "summary", "embed", "deadlines", "redact"}
}

// settingsOfModels names the settings that select the models for ranking and summaries.
func settingsOfModels() []string {
	return []string{"engine", "ollama_url", "num_thread", "exact_tokens", "summary.model", "summary.url", "embed", "deadlines"}
}

// loadSettings reads the settings; the command's own defaults apply to unset ones.
// It reports a file that it found without --config.
func (s *settings) loadSettings(cmd *cobra.Command, defaults map[string]string) error {
	l, err := config.Load(config.Options{File: s.file, Flags: cmd.Flags(), Defaults: defaults})
	if err != nil {
		return usageError{settingsError(err)}
	}
	if s.Loaded = l; l.Found {
		printNote(cmd, "settings from %s", l.File)
	}
	for _, notice := range l.Notices() {
		printNote(cmd, "warning: %s", notice)
	}
	return nil
}

// settingsError turns an error of the settings into a usage error, with the names of flags.
func settingsError(err error) error {
	var all config.Errors
	var one *config.Error
	switch {
	case errors.As(err, &all):
	case errors.As(err, &one):
		all = config.Errors{one}
	default:
		return err
	}
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = e.Error()
		if e.Origin.Kind == config.Flag && e.Origin.Name != "--thresholds" {
			texts[i] = e.Origin.Name + " " + e.Problem()
			if strings.HasPrefix(e.Want, "one of ") { // like flags that are not settings
				texts[i] = fmt.Sprintf("%s takes %s, not %s", e.Origin.Name, e.Want, e.Value)
			}
		}
	}
	return usageErrorf("%s", strings.Join(texts, "; "))
}

// forTranscript returns the settings for a transcript, with the window of its model, and
// reports the defaults that it chose. [config.Config.Open] opens them.
func (s *settings) forTranscript(cmd *cobra.Command, in input) (config.Config, error) {
	cmd.SetContext(engine.Once(cmd.Context())) // no model changes during the command
	c := s.Config
	c.Model = cmp.Or(c.Model, in.Model)
	if err := c.Measure(cmd.Context()); err != nil {
		return c, settingsError(err)
	}
	if s.Config.Window == 0 && c.Measured.Source == "" && s.Config.Model == "" {
		if len(in.Messages) == 0 {
			return c, fmt.Errorf("%s: %w: it holds no messages", in.name, errInvalid)
		}
		return c, missingWindow(c.Model)
	}
	if _, err := tiercompact.New(c.Compaction()); err != nil {
		return c, usageError{settingsError(s.Located(errors.Unwrap(err)))} // main names the program itself
	}
	s.reportSettings(cmd, in.Messages, c)
	return c, nil
}

// openSettings opens what c names, and reports the warnings.
func openSettings(ctx context.Context, cmd *cobra.Command, c config.Config) (*config.Opened, error) {
	o, err := c.Open(ctx, cmd.ErrOrStderr())
	if err != nil {
		return nil, settingsError(err)
	}
	for _, warning := range o.Warnings {
		printNote(cmd, "warning: %s", warning)
	}
	return o, nil
}

// missingWindow reports that the window is unknown, and how to find it. model is
// the one that the transcript names, "" for none.
func missingWindow(model string) error {
	of := "no window is known"
	if model != "" {
		of = fmt.Sprintf("the window of %s, which the transcript names, is not known", printableLine(model))
	}
	return usageErrorf("%s; give --window N (tokens that the model takes), or --model NAME of a model on Ollama; to find it out: tiercompact doctor --model NAME, or the model's card", of)
}

// reportSettings reports the source of the window, and the protection rules that
// match no message: a mistyped id would otherwise protect nothing in silence.
func (s *settings) reportSettings(cmd *cobra.Command, t chat.Transcript, c config.Config) {
	if w := c.Measured; s.Config.Window == 0 {
		source := ""
		if w.Source != "" {
			source = fmt.Sprintf(" (%s, for %s)", w.Source, c.Model)
		}
		if w.Unsure != "" {
			source += "; to make sure, " + w.Unsure
		}
		printNote(cmd, "no --window given, so it is %s tokens%s", screen.Grouped(c.Window), source)
	}
	from := s.Origin("policy.protect")
	for _, rule := range c.Rules() {
		if !slices.ContainsFunc(t, rule.Match) {
			printNote(cmd, "warning: %s %s fits no message", from, rule.Text)
		}
	}
}
