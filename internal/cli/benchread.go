package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/internal/bench/report"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/wire"
)

// maxChats limits the measured chats of one file, because each of them needs a
// read of the file.
const maxChats = 50

// maxLeftOut limits the reported files that are left out; a folder may hold
// thousands of files that are not transcripts.
const maxLeftOut = 20

// givenTranscripts are the transcripts of the arguments.
type givenTranscripts struct {
	cmd     *cobra.Command
	paths   []string
	seen    map[string]bool // canonical paths
	leftOut int
}

// transcripts finds the files that args name, and all files below the folders that
// args name, each once. A named file must exist; a folder may hold files of any kind.
func transcripts(cmd *cobra.Command, args []string) (*givenTranscripts, error) {
	g := &givenTranscripts{cmd: cmd, seen: make(map[string]bool)}
	for _, arg := range args {
		folder, err := namesFolder(arg)
		if err != nil {
			return nil, err
		}
		if !folder {
			g.addTranscript(arg)
			continue
		}
		names, err := listFiles(arg)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			g.addFound(filepath.Join(arg, name))
		}
	}
	return g, nil
}

func (g *givenTranscripts) addTranscript(path string) {
	key := path
	if path != "-" {
		key = canonicalPath(path)
	}
	if g.seen[key] {
		printNote(g.cmd, "%s is given twice; measured once", path)
		return
	}
	g.seen[key] = true
	g.paths = append(g.paths, path)
}

// addFound adds a file of a folder. It leaves out what is not a plain file: a link
// may lead back to the folder, and reading a pipe without a writer would never end.
func (g *givenTranscripts) addFound(path string) {
	switch info, err := os.Stat(path); {
	case err != nil:
		g.reportLeftOut(fmt.Errorf("read %s: %w", path, systemCause(err)))
	case info.IsDir():
		g.reportLeftOut(fmt.Errorf("%s is a folder that is not searched", path))
	case !info.Mode().IsRegular():
		g.reportLeftOut(fmt.Errorf("%s is not a plain file", path))
	default:
		g.addTranscript(path)
	}
}

// reportLeftOut reports on stderr why a file is left out.
func (g *givenTranscripts) reportLeftOut(why error) {
	if g.leftOut++; g.leftOut <= maxLeftOut {
		printNote(g.cmd, "%v; left out", why)
	}
}

// sessions reads the transcripts. It fails if none can be read.
func (g *givenTranscripts) sessions() (out []corpus.Session, err error) {
	all := len(g.paths) + g.leftOut
	for _, path := range g.paths {
		sessions, err := sessionsIn(g.cmd, path)
		switch {
		case g.cmd.Context().Err() != nil:
			return nil, fmt.Errorf("read %s: %w", path, g.cmd.Context().Err())
		case err != nil && all == 1:
			return nil, err
		case err != nil:
			g.reportLeftOut(err)
		}
		out = append(out, sessions...)
	}
	if g.leftOut > 0 {
		printNote(g.cmd, "%s of %d could not be read", screen.Plural(g.leftOut, "file"), all)
	}
	if len(out) == 0 {
		return nil, errors.New("read sessions: none found; give transcripts, or folders that hold some")
	}
	return out, nil
}

// namesFolder reports whether arg, which must exist, is a folder.
func namesFolder(arg string) (bool, error) {
	switch arg {
	case "-":
		return false, nil
	case "":
		return false, usageErrorf("a file's name is empty; give transcripts or folders, or - for stdin")
	}
	info, err := os.Stat(arg)
	if err != nil {
		return false, fmt.Errorf("read %s: %w; give transcripts, or folders that hold some (see tiercompact bench --help)", arg, systemCause(err))
	}
	return info.IsDir(), nil
}

// sessionsIn reads the chats of a file.
func sessionsIn(cmd *cobra.Command, path string) ([]corpus.Session, error) {
	in, err := source{lenient: true}.readSource(cmd, path)
	if err == nil && len(in.Messages) == 0 {
		return nil, fmt.Errorf("%s: holds no messages; give a file with messages in it", in.name)
	}
	if err == nil {
		return []corpus.Session{{Name: in.name, Messages: in.Messages}}, nil
	}
	if !errors.Is(err, wire.ErrSeveralChats) {
		return nil, err
	}
	var out []corpus.Session
	for n := 1; n <= maxChats; n++ {
		in, err := source{lenient: true, chat: n}.readSource(cmd, path)
		if errors.Is(err, wire.ErrNoChat) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, corpus.Session{Name: fmt.Sprintf("%s, chat %d", in.name, n), Messages: in.Messages})
	}
	printNote(cmd, "%s: the first %d chats are measured", path, maxChats)
	return out, nil
}

// benchSetName returns a name for the arguments.
func benchSetName(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return fmt.Sprintf("%s and %s", args[0], screen.Plural(len(args)-1, "other"))
}

// outputTargets are the files that a run writes.
func (o *benchOptions) outputTargets() []target {
	return []target{{"--csv", o.csv}, {"--html", o.html}, {"--plot", o.plot}}
}

// validTargets refuses targets that can never be written.
func (o *benchOptions) validTargets(cmd *cobra.Command) error {
	if o.plot == "" && cmd.Flags().Changed("plot-of") {
		return usageErrorf("--plot-of selects what --plot draws; give --plot FILE too")
	}
	if o.plot != "" && !slices.Contains(report.Formats(), formatOf(o.plot)) {
		return usageErrorf("--plot %s must end in .svg or .png", o.plot)
	}
	for _, t := range o.outputTargets() {
		if t.path == "-" {
			return usageErrorf("%s - is not a file; give the name of one", t.flag)
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
				return usageErrorf("%s %s is an input; give another file", t.flag, t.path)
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
