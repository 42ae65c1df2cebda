package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	traced "github.com/tiercompact/tiercompact/internal/timeline"
	"github.com/tiercompact/tiercompact/trace"
)

// A picture is the timeline of a replay, as a file.
type picture struct {
	path   string
	events []trace.Event
}

func (p *picture) registerPicture(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.path, "timeline", "", "draw what happened into this `file`, as SVG")
}

func (p *picture) validatePicture() error {
	if p.path == "-" {
		return usageErrorf("--timeline - is no file; give the name of one")
	}
	return nil
}

// attachSink has the picture receive a session's events, if a picture is requested.
func (p *picture) attachSink(cfg *tiercompact.Config) {
	if p.path != "" {
		cfg.Trace = trace.Join(cfg.Trace, func(e trace.Event) { p.events = append(p.events, e) }) // a replay has one goroutine
	}
}

// drawPicture draws the picture.
func (p *picture) drawPicture(cmd *cobra.Command) error {
	if p.path == "" || len(p.events) == 0 {
		return nil
	}
	return writeOutput(cmd, p.path, func(w io.Writer) error { return traced.SVG(w, p.events) })
}
