package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func TestHelpFitsATerminalOf80Columns(t *testing.T) {
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s --help: %s", cmd.CommandPath(), line)
			}
		}
		for _, sub := range slices.DeleteFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == "completion" }) {
			check(sub) // the words of completion are cobra's
		}
	}
	check(newRootCommand())
}
