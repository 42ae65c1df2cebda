package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A choice is a flag that takes one of a few words.
type choice struct {
	flag  string
	value *string
	words string // separated by ", "
}

// complete has the shell complete the values of a flag; words is a list as in choice.
func complete(cmd *cobra.Command, flag, words string) {
	values := strings.Split(words, ", ")
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // impossible: the flag was registered a few lines above
	}
}

// checkChoices refuses a word that is not among its choice's; "" is allowed.
func checkChoices(choices []choice) error {
	for _, c := range choices {
		if err := checkOneOf("--"+c.flag, *c.value, c.words); err != nil {
			return err
		}
	}
	return nil
}

// checkOneOf refuses a value that is not in a comma-separated list; "" is allowed.
func checkOneOf(flag, value, allowed string) error {
	if value == "" {
		return nil
	}
	for name := range strings.SplitSeq(allowed, ", ") {
		if name == value {
			return nil
		}
	}
	return usageErrorf("%s takes one of %s, not %q", flag, allowed, value)
}

// noBlanks refuses flags with an empty value: an unset shell variable must not turn
// an archive off in silence.
func noBlanks(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && strings.TrimSpace(f.Value.String()) == "" {
			err = usageErrorf("--%s is empty; give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// flagError reports what is wrong with a flag, and which values it takes.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		if near := similarFlags(cmd, unknown.GetSpecifiedName()); len(near) > 0 {
			return usageErrorf("%w; did you mean %s?", err, strings.Join(near, " or "))
		}
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return usageErrorf("%w; see %s --help", err, cmd.CommandPath())
	}
	f := invalid.GetFlag()
	kind := map[string]string{"int": "a whole number", "uint64": "a whole number from 0 on", "float64": "a number", "float64Slice": "numbers like 0.60,0.75,0.90", "bool": "true or false"}[f.Value.Type()]
	if kind == "" {
		return usageError{err}
	}
	return usageErrorf("--%s takes %s, not %q", f.Name, kind, invalid.GetValue())
}

// A target is an output file of a flag.
type target struct{ flag, path string }

// checkDistinct refuses targets that would overwrite each other. The first may be
// the input file in, or stdout, "-".
func checkDistinct(in string, targets ...target) error {
	taken := map[string]string{}
	for i, t := range targets {
		switch {
		case t.path == "":
			continue
		case t.path == "-" && i > 0 && targets[0].path == "-":
			return usageErrorf("%s -: stdout has the conversation; give a file", t.flag)
		case i > 0 && in != "-" && sameFile(t.path, in):
			return usageErrorf("%s %s is the input; give another file", t.flag, t.path)
		}
		if folder := filepath.Dir(t.path); t.path != "-" && !isFolder(folder) {
			return usageErrorf("%s %s: there is no folder %s; make it first", t.flag, t.path, folder)
		}
		path := canonicalPath(t.path)
		if other, ok := taken[path]; ok && isPlainFile(t.path) {
			return usageErrorf("%s and %s are both %s; give two files", other, t.flag, t.path)
		}
		taken[path] = t.flag
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// canonicalPath returns a path in the form used for comparisons.
func canonicalPath(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return path
}

// isPlainFile reports whether a path is a plain file or does not exist.
func isPlainFile(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular()
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}

// systemCause returns the system's error without the name of a file that only this
// program knows.
func systemCause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
