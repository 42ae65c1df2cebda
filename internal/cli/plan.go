package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newPlanCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan [FILE|-]",
		Short: "Show what compact would do, and why, and change nothing",
		Example: `  tiercompact plan session.jsonl --window 32768
  tiercompact plan session.jsonl -w 16384 --level hard --query "the login bug"
  tiercompact plan session.jsonl -w 8192 --json | jq .edits`,
		Args: fileOrPipe,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runPlan(cmd, fileOrStdin(args)) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.layers, "layers", false, "plan for the protected messages, one summary, and the recent messages")
	f.BoolVar(&o.json, "json", false, "the plan as JSON")
	o.look.registerLook(cmd)
	o.settings.registerSettings(cmd, settingsOfCompaction()...)
	o.source.registerSource(cmd)
	return cmd
}

type planOptions struct {
	source       source
	settings     settings
	look         screenOptions
	layers, json bool
}

func (o *planOptions) runPlan(cmd *cobra.Command, path string) error {
	if err := o.settings.loadSettings(cmd, nil); err != nil {
		return err
	}
	if err := layersAlone(o.layers, &o.settings); err != nil {
		return err
	}
	in, err := o.source.readSource(cmd, path)
	if err != nil {
		return err
	}
	c, err := o.settings.forTranscript(cmd, in)
	if err != nil {
		return err
	}
	c.Archive, c.Trace = config.Archive{}, config.Trace{} // nothing is written
	done, err := check{config: c, layers: o.layers}.runCheck(cmd, in)
	if err != nil && !errors.Is(err, tiercompact.ErrInsufficientBudget) {
		return err
	}
	if e := o.writePlan(cmd, in, done); e != nil {
		return e
	}
	return err
}

func (o *planOptions) writePlan(cmd *cobra.Command, in input, done outcome) error {
	w := cmd.OutOrStdout()
	if o.json {
		return writeJSON(w, done.Report)
	}
	s, err := o.look.screenFor(w)
	if err != nil {
		return err
	}
	for _, warning := range done.Warnings {
		printNote(cmd, "warning: %s", warning)
	}
	return buffered(w, func(w io.Writer) error {
		fmt.Fprintf(w, "%s\n%s", s.Paint(screen.Bold, in.name), summaryLines(s, done))
		for _, e := range done.Edits {
			fmt.Fprintln(w, s.Planned(e))
		}
		_, err := fmt.Fprintln(w, s.Paint(screen.Dim, "nothing was written; compact with the same flags and --out FILE does it"))
		return err
	})
}
