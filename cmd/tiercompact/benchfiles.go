package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/bench"
	"github.com/tiercompact/tiercompact/bench/report"
)

// targets are the files that a run writes.
func (o *benchOptions) targets() []target {
	return []target{{"--csv", o.csv}, {"--html", o.html}, {"--plot", o.plot}}
}

// validTargets refuses targets that can never be written.
func (o *benchOptions) validTargets(cmd *cobra.Command) error {
	if o.plot == "" && cmd.Flags().Changed("plot-of") {
		return usagef("--plot-of says what --plot draws; give --plot FILE too")
	}
	if o.plot != "" && !slices.Contains(report.Formats(), formatOf(o.plot)) {
		return usagef("--plot %s must end in .svg or .png", o.plot)
	}
	for _, t := range o.targets() {
		if t.path == "-" {
			return usagef("%s - is no file; give the name of one", t.flag)
		}
	}
	if err := apart("-", o.targets()...); err != nil {
		return err
	}
	for _, t := range o.targets() {
		if err := canWrite(t); err != nil {
			return err
		}
	}
	return nil
}

// canWrite says before a long run what would fail after it.
func canWrite(t target) error {
	if t.path == "" {
		return nil
	}
	if info, err := os.Stat(t.path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return usagef("%s %s is a folder; give the name of a file", t.flag, t.path)
		}
		return nil // a pipe or a device is written to as it is
	}
	folder := filepath.Dir(onePath(t.path))
	f, err := os.CreateTemp(folder, ".tiercompact-*")
	if err != nil {
		return usagef("%s %s: the folder %s cannot be written to: %w; give a file elsewhere", t.flag, t.path, filepath.Dir(t.path), causeOf(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// spare refuses targets that are among the transcripts.
func (o *benchOptions) spare(paths []string) error {
	for _, t := range o.targets() {
		for _, path := range paths {
			if t.path != "" && path != "-" && sameFile(t.path, path) {
				return usagef("%s %s is a transcript that is read; give another file", t.flag, t.path)
			}
		}
	}
	return nil
}

// files writes what the flags name, all that can be written.
func (o *benchOptions) files(cmd *cobra.Command, r bench.Report) error {
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
			errs = append(errs, write(cmd, f.path, f.fill))
		}
	}
	return errors.Join(errs...)
}

func formatOf(path string) string {
	return strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
}
