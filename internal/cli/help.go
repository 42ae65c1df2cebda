package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tiercompact/tiercompact/config"
)

// helpWidth is the width of a help text, in columns.
const helpWidth = 80

// A flagGroup is a section of a help text, with its flags that are not settings. A flag
// without a group is in the first section. Only --help-all shows rare flags.
type flagGroup struct{ title, common, rare string }

// flagGroups lists the groups of flags in the order of a help text.
func flagGroups() []flagGroup {
	return []flagGroup{
		{title: "Input and output"},
		{title: "Budget"},
		{title: "Levels", common: "layers note"},
		{title: "Models", common: "openai-url", rare: "no-embed-cache"},
		{title: "Archive", common: "archive session"},
		{title: "Trace"},
		{title: "Help", common: "help", rare: "help-all"},
	}
}

// groupOf returns the index of a flag's group, and whether the flag is rare.
func groupOf(name string) (group int, rare bool) {
	heading, rare := config.FlagGroup(name)
	for i, g := range flagGroups() {
		switch {
		case g.title == heading:
			return i, rare
		case slices.Contains(strings.Fields(g.common), name):
			return i, false
		case slices.Contains(strings.Fields(g.rare), name):
			return i, true
		}
	}
	return 0, false
}

// helpAll is the value of --help-all. Like --help, it ends the parsing of flags, so
// that no missing argument is reported.
type helpAll struct{ set bool }

func (h *helpAll) Set(string) error { h.set = true; return pflag.ErrHelp }
func (h *helpAll) String() string   { return "" }
func (h *helpAll) Type() string     { return "bool" }

// registerHelp gives cmd and its subcommands --help-all and help in groups. It
// uses no template: a program that links text/template keeps every exported
// method of every type.
func registerHelp(cmd *cobra.Command) {
	all := new(helpAll)
	f := cmd.PersistentFlags().VarPF(all, "help-all", "", "help with every flag, the rare ones too")
	f.NoOptDefVal = "true"
	f.Hidden = true // usage names it if it shows more
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(cmd.OutOrStderr(), cmd, all.set) })
}

// writeUsage writes how cmd is called, with examples, subcommands and flags.
func writeUsage(w io.Writer, cmd *cobra.Command, all bool) error {
	var b strings.Builder
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", use)
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&b, "  %-*s  %s\n", cmd.NamePadding(), sub.Name(), sub.Short)
		}
	}
	cmd.InitDefaultHelpFlag()
	left := writeFlags(&b, cmd, all)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help is about one command.\n", cmd.CommandPath())
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%s --help-all shows %d more flags.\n", cmd.CommandPath(), left)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFlags writes the flags of cmd by group, and returns the number of hidden ones.
func writeFlags(b *strings.Builder, cmd *cobra.Command, all bool) (left int) {
	groups := flagGroups()
	sets := make([]*pflag.FlagSet, len(groups))
	for i := range sets {
		sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		sets[i].SortFlags = false
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		group, rare := groupOf(f.Name)
		switch {
		case f.Hidden:
		case rare && !all:
			left++
		default:
			sets[group].AddFlag(shownFlag(f))
		}
	})
	for i, g := range groups {
		if sets[i].HasFlags() {
			fmt.Fprintf(b, "\n%s:\n%s", g.title, sets[i].FlagUsagesWrapped(helpWidth))
		}
	}
	return left
}

// shownFlag returns f with its default as a user writes it: without quotes, and
// without a default that is off, empty or the word default.
func shownFlag(f *pflag.Flag) *pflag.Flag {
	shown := *f
	if f.Value.Type() == "string" {
		shown.NoOptDefVal = "" // its usage says that the value may be left out
	}
	switch kind := f.Value.Type(); {
	case kind == "stringSlice" && f.DefValue == "":
		shown.DefValue = "[]"
	case kind == "string" && !slices.Contains([]string{"", "0", "0.0", "0s", "default"}, f.DefValue):
		shown.Usage += fmt.Sprintf(" (default %s)", f.DefValue)
		shown.DefValue = ""
	case kind == "string":
		shown.DefValue = ""
	}
	return &shown
}

// similarFlags returns the flags of cmd that resemble a mistyped name, each with
// its dashes.
func similarFlags(cmd *cobra.Command, name string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	var near []string
	for _, similar := range names.SuggestionsFor(name) {
		near = append(near, "--"+similar)
	}
	return near[:min(3, len(near))]
}
