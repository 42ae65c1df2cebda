package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/wire"
)

func newPreflightCommand() *cobra.Command {
	var o preflightOptions
	cmd := &cobra.Command{
		Use:   "preflight --session ID",
		Short: "Compact the messages of a model call before it is sent",
		Long: `preflight reads the messages of a model call on stdin, as a list or as a request
body, and writes what to send on stdout, in the same format. It remembers the
rounds of each session, and repeats them on the history that is sent again: a
summary is written once, and the server's prompt cache stays valid. It is what
serve does, without a server.`,
		Example: `  tiercompact preflight --session login-bug -w 32768 < request.json > less.json`,
		Args:    atMostArgs(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.runPreflight(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.session, "session", "", "`id` of the conversation")
	f.StringVar(&o.state, "state", ".compact", "`folder` of the conversations and the archive, or the URL of a Redis or Valkey server")
	f.StringVar(&o.from, "from", "", "`format` of the messages (default: detected)")
	complete(cmd, "from", formatNames(true))
	o.settings.registerSettings(cmd, append(settingsOfCompaction(), "archive", "archive_required", "trace")...)
	f.Lookup("preset").DefValue = serveDefaults()["preset"]
	return cmd
}

type preflightOptions struct {
	session, state, from string
	settings             settings
}

// dir returns the folder of the archive.
func (o *preflightOptions) dir() string {
	if isRedis(o.state) {
		return ".compact"
	}
	return o.state
}

func (o *preflightOptions) runPreflight(cmd *cobra.Command) (err error) {
	switch {
	case o.session == "":
		return usageErrorf("--session is missing; give the id of the conversation, the same for each of its requests")
	case refuseTerminal(cmd) != nil:
		return refuseTerminal(cmd)
	}
	if err := checkOneOf("--from", o.from, formatNames(true)); err != nil {
		return err
	}
	if err := o.settings.loadSettings(cmd, serveDefaults()); err != nil {
		return err
	}
	body, err := io.ReadAll(cmd.InOrStdin())
	if err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	c, err := wire.DecodeBytes(body, wire.Options{Format: o.from, Name: "stdin"})
	if err != nil {
		return err
	}
	if format := readOnly(c, ""); format != "" {
		return usageErrorf("the messages are in the format %s, which cannot be written; convert them with compact --to", format)
	}
	e, err := openServeEngine(cmd.Context(), cmd, o.settings, nil, o.state, o.dir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close(cmd.Context())) }()
	out, report, err := proxy.NewPreflight(proxy.Config{Open: e.open, State: e.state, Trace: e.sinks.Sink}).Compact(cmd.Context(), o.session, c, bytes.Clone(body))
	if err != nil {
		return err
	}
	if report.Warning != "" {
		printNote(cmd, "warning: %s", report.Warning)
	}
	switch {
	case report.After < report.Before:
		printNote(cmd, "%s: %d tokens, %d before", report.Level, report.After, report.Before)
	case report.Rounds > 0:
		printNote(cmd, "nothing is due: %d of %d tokens; the earlier rounds are repeated (%d)", report.After, report.Budget, report.Rounds)
	default:
		printNote(cmd, "nothing is due: %d of %d tokens; the messages are as they came", report.After, report.Budget)
	}
	_, err = cmd.OutOrStdout().Write(out)
	return err
}
