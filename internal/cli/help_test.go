package cli

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachCommand calls f with every command except those of completion, which are cobra's.
func eachCommand(f func(*cobra.Command)) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		f(cmd)
		for _, sub := range slices.DeleteFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == "completion" }) {
			visit(sub)
		}
	}
	visit(newRootCommand())
}

func TestHelpFitsATerminalOf80Columns(t *testing.T) {
	eachCommand(func(cmd *cobra.Command) {
		for _, all := range []bool{false, true} {
			var out bytes.Buffer
			if err := writeUsage(&out, cmd, all); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(cmd.Long + "\n" + out.String()) {
				if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > helpWidth {
					t.Errorf("%s --help: %s", cmd.CommandPath(), line)
				}
			}
		}
	})
}

func TestHelpAllShowsEveryFlagAndHelpTheCommonOnes(t *testing.T) {
	known := make(map[string]bool)
	eachCommand(func(cmd *cobra.Command) {
		var short, long bytes.Buffer
		if err := errors.Join(writeUsage(&short, cmd, false), writeUsage(&long, cmd, true)); err != nil {
			t.Fatal(err)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			known[f.Name] = true
			_, rare := groupOf(f.Name)
			shown := regexp.MustCompile(`(?m)^  (-.,|   ) --` + regexp.QuoteMeta(f.Name) + `\b( |$)`).MatchString
			if f.Hidden {
				return
			}
			if shown(short.String()) == rare || !shown(long.String()) {
				t.Errorf("%s: --%s, rare %v: in --help %v, in --help-all %v", cmd.CommandPath(), f.Name, rare, shown(short.String()), shown(long.String()))
			}
		})
	})
	for _, g := range flagGroups() {
		for name := range strings.FieldsSeq(g.common + " " + g.rare) {
			if !known[name] {
				t.Errorf("group %s names --%s, which no command has", g.title, name)
			}
		}
	}
}
