package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/report"
)

// outputTargets are the files that a run writes.
func (o *benchOptions) outputTargets() []target {
	return []target{{"--csv", o.csv}, {"--html", o.html}, {"--plot", o.plot}}
}

// validTargets refuses targets that can never be written.
func (o *benchOptions) validTargets(cmd *cobra.Command) error {
	if o.plot == "" && cmd.Flags().Changed("plot-of") {
		return usageErrorf("--plot-of says what --plot draws; give --plot FILE too")
	}
	if o.plot != "" && !slices.Contains(report.Formats(), formatOf(o.plot)) {
		return usageErrorf("--plot %s must end in .svg or .png", o.plot)
	}
	for _, t := range o.outputTargets() {
		if t.path == "-" {
			return usageErrorf("%s - is no file; give the name of one", t.flag)
		}
	}
	if err := checkDistinct("-", o.outputTargets()...); err != nil {
		return err
	}
	for _, t := range o.outputTargets() {
		if err := canWrite(t); err != nil {
			return err
		}
	}
	return nil
}

// canWrite reports before a long run what would fail after it.
func canWrite(t target) error {
	if t.path == "" {
		return nil
	}
	if info, err := os.Stat(t.path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return usageErrorf("%s %s is a folder; give the name of a file", t.flag, t.path)
		}
		return nil // a pipe or a device is written to directly
	}
	folder := filepath.Dir(canonicalPath(t.path))
	f, err := os.CreateTemp(folder, ".tiercompact-*")
	if err != nil {
		return usageErrorf("%s %s: the folder %s cannot be written to: %w; give a file elsewhere", t.flag, t.path, filepath.Dir(t.path), systemCause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// protectInputs refuses targets that are among the transcripts.
func (o *benchOptions) protectInputs(paths []string) error {
	for _, t := range o.outputTargets() {
		for _, path := range paths {
			if t.path != "" && path != "-" && sameFile(t.path, path) {
				return usageErrorf("%s %s is a transcript that is read; give another file", t.flag, t.path)
			}
		}
	}
	return nil
}

// writeOutputs writes every file that the flags name and that can be written.
func (o *benchOptions) writeOutputs(cmd *cobra.Command, r bench.Report) error {
	var errs []error
	for _, f := range []struct {
		path string
		fill func(io.Writer) error
	}{
		{o.csv, func(w io.Writer) error { return report.CSV(w, r) }},
		{o.html, func(w io.Writer) error { return report.HTML(w, r) }},
		{o.plot, func(w io.Writer) error { return report.Plot(w, r, o.plotOf, formatOf(o.plot)) }},
	} {
		if f.path != "" {
			errs = append(errs, writeOutput(cmd, f.path, f.fill))
		}
	}
	return errors.Join(errs...)
}

func formatOf(path string) string {
	return strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
}
