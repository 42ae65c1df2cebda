package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// notMeasured lists the flags that change where figures go, but not the figures.
// The address of a server is private.
var notMeasured = []string{"json", "csv", "html", "plot", "plot-of", "ascii", "color", "ollama-url", "embed-url", "summary-url", "embed-cache", "no-embed-cache", "help"}

// commandWords returns the words of a command that repeats this measurement,
// without the flags of its output.
func (o *benchOptions) commandWords(cmd *cobra.Command, args []string) []string {
	words := strings.Fields(cmd.CommandPath())
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && arg != "-" {
			arg = "./" + arg // it would be a flag
		}
		words = append(words, arg)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notMeasured, f.Name) && (f.Changed || f.Name == "seed") {
			words = append(words, o.flagWords(f)...)
		}
	})
	return words
}

// flagWords returns the words that set a flag to its value.
func (o *benchOptions) flagWords(f *pflag.Flag) []string {
	name, value := "--"+f.Name, f.Value.String()
	switch list, ok := f.Value.(pflag.SliceValue); {
	case f.Name == "window":
		shares := make([]string, len(o.windows))
		for i, w := range o.windows {
			shares[i] = strconv.FormatFloat(w, 'g', -1, 64)
		}
		value = strings.Join(shares, ",")
	case ok:
		value = strings.Join(list.GetSlice(), ",")
	case f.Value.Type() == "bool" && value == "true":
		return []string{name}
	case f.Value.Type() == "bool":
		return []string{name + "=" + value}
	}
	return []string{name, value}
}
