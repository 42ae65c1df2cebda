package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/summarize"
)

// models are the flags of bench that select the models for ranking and summaries,
// as in all commands. The command alone determines the measurement, never a file or
// a variable. Without such flags no model is used.
type models struct{ flags []string }

// registerModels adds the flags of the settings with these paths or in these sections.
func (m *models) registerModels(cmd *cobra.Command, paths ...string) {
	before := make(map[string]bool)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	registerSettings(cmd, paths...)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			m.flags = append(m.flags, f.Name)
		}
	})
	cmd.Flags().Lookup("engine").DefValue = string(engine.BuiltIn) + ", but for models that are named"
}

// engineOptions returns the options of the search for engines. If no engine is set
// and a model is named, by these flags or by others, the other role keeps its
// built-in engine.
func (m *models) engineOptions(cmd *cobra.Command, named bool) (engine.Options, error) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range m.flags { // other flags of bench have names of settings, but are not settings
		own.AddFlag(cmd.Flags().Lookup(name))
	}
	l, err := config.Load(config.Options{FlagsAlone: true, Flags: own, Defaults: map[string]string{"engine": string(engine.BuiltIn)}})
	if err != nil {
		return engine.Options{}, settingsError(err)
	}
	c := l.Config
	e := &c.Engine
	if l.Origin("engine").Kind == config.Default {
		ranks, writes := e.Embedder != "" || e.EmbedURL != "", e.Summarizer != "" || e.SummaryURL != ""
		if named || ranks || writes {
			e.Kind = engine.Auto
		}
		if !ranks && !named {
			e.Embedder = engine.Lexical
		}
		if !writes {
			e.Summarizer = engine.Extractive
		}
	}
	o, err := c.EngineOptions()
	if err != nil {
		return o, settingsError(err)
	}
	return o, nil
}

// A progress shows the progress of work on a terminal, in one line that is removed at
// the end. Elsewhere it shows nothing, or a line now and then.
type progress struct {
	w     *os.File // nil: not a terminal
	shown string
	// plain writes a line now and then if w is nil; nil: nothing is shown then.
	plain func(text string)
	now   func() time.Time
	next  time.Time // of a line by plain
}

// plainPause is the time between two lines of a progress that is not on a terminal.
const plainPause = time.Minute

func newProgress(cmd *cobra.Command) *progress {
	f, ok := fileOf(cmd.ErrOrStderr())
	if ok {
		_, ok = terminalWidth(f)
	}
	if !ok {
		return new(progress)
	}
	return &progress{w: f}
}

// newBenchProgress is newProgress for work that may take long: without a terminal,
// it writes plain lines.
func newBenchProgress(cmd *cobra.Command) *progress {
	p := newProgress(cmd)
	p.plain, p.now = func(text string) { printNote(cmd, "%s", text) }, time.Now
	p.next = p.now().Add(plainPause)
	return p
}

func (p *progress) embedded(done, of int) {
	p.showLine(done < of, fmt.Sprintf("embedding: %d of %d texts", done, of))
}

func (p *progress) summarising(s summarize.Progress) {
	p.showLine(!s.Done, screen.Summarising(s))
}

// showShare shows the done part of a whole; of is 0 or less if the whole is unknown.
func (p *progress) showShare(what string, done, of int64) {
	if of > 0 {
		what = fmt.Sprintf("%s: %d %%", what, 100*done/of)
	}
	p.showLine(true, what)
}

// clearLine removes the line.
func (p *progress) clearLine() { p.showLine(false, "") }

// showLine replaces the line with text, or removes it if the work is done.
func (p *progress) showLine(on bool, text string) {
	const certain = "\r\x1b[K"
	switch {
	case p.w == nil && p.plain != nil && on:
		p.writePlain(text)
	case p.w == nil || on && text == p.shown:
	case on:
		fmt.Fprint(p.w, certain, screen.Escaped(text))
		p.shown = text
	case p.shown != "":
		fmt.Fprint(p.w, certain)
		p.shown = ""
	}
}

// writePlain writes text as a line, unless the last one was written less than plainPause ago.
func (p *progress) writePlain(text string) {
	if at := p.now(); !at.Before(p.next) {
		p.plain(text)
		p.next = at.Add(plainPause)
	}
}
