package cli

import (
	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// printRequests prints a line for each round, and if verbose for each request that
// needed none.
func printRequests(cmd *cobra.Command, verbose bool) func(proxy.RequestReport) {
	return func(r proxy.RequestReport) {
		session := printableLine(r.Session)
		switch {
		case r.Level != levels.None && r.Planned:
			printNote(cmd, "%s: %s, planned for the next request: %d tokens, %d before", session, r.Level, r.After, r.Before)
		case r.Level != levels.None:
			printNote(cmd, "%s: %s: %d tokens, %d before", session, r.Level, r.After, r.Before)
		case verbose && r.Passed != "":
			printNote(cmd, "%s: passed as it came: %s", session, r.Passed)
		case verbose:
			printNote(cmd, "%s: %d of %d tokens, no round", session, r.After, r.Budget)
		}
	}
}

// printWarnings returns a sink that prints warnings and errors.
func printWarnings(cmd *cobra.Command) trace.Sink {
	return func(e trace.Event) {
		switch e.Data.(type) {
		case trace.Warning, trace.Error:
			printNote(cmd, "%s: %s", printableLine(e.Session), printableLine(trace.Describe(e.Data)))
		}
	}
}
