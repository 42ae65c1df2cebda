// Package cli is the command line of tiercompact.
//
// Each command has its own file; settings.go holds the shared flags, flags.go the
// checks that apply to any flag, source.go the input and output.go the output.
package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/wire"
)

// Main runs the command line, and ends the process with its exit code.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	stdout, stderr := guarded(os.Stdout), guarded(os.Stderr)
	cmd := newRootCommand()
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := errors.Join(cmd.ExecuteContext(ctx), flushGuard(stdout))
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "tiercompact: interrupted")
	default:
		fmt.Fprintln(stderr, wrapForTerminal(stderr, "tiercompact: "+safeForStderr(err.Error())))
	}
	_ = flushGuard(stderr) // an error here cannot be shown
	os.Exit(exitCode(err))
}

const about = `tiercompact keeps the conversation of a coding assistant inside the context
window of its model. Three levels, picked by how full the window is: soft turns
stale files into outlines, hard keeps the more relevant half of what is old,
emergency writes one summary. It needs no model, no server and no network.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 does not fit the budget,
4 invalid transcript.`

func newRootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tiercompact",
		Short: "Keep a coding assistant's conversation inside the context window",
		Long:  about,
		Example: `  tiercompact replay                       # watch the three levels at work
  tiercompact plan session.jsonl -w 32768  # what would be done, and why
  tiercompact compact session.jsonl -w 32768 > small.jsonl`,
		Args:              unknownCommand,
		RunE:              runRoot,
		PersistentPreRunE: noBlanks,
		SilenceErrors:     true,
		SilenceUsage:      true,
	}
	cmd.SetFlagErrorFunc(flagError)
	cmd.Flags().Bool("version", false, "print the version, as version does")
	cmd.AddCommand(
		newCompactCommand(), newReplayCommand(), newPlanCommand(), newCheckCommand(),
		newRecallCommand(), newUndoCommand(), newArchiveCommand(), newDoctorCommand(), newChatCommand(), newServeCommand(), newPreflightCommand(), newBenchCommand(), newConfigCommand(), newVersionCommand(),
	)
	cmd.InitDefaultCompletionCmd()
	registerHelp(cmd)
	return cmd
}

func runRoot(cmd *cobra.Command, _ []string) error {
	if cmd.Flags().Changed("version") {
		return writeVersion(cmd.OutOrStdout(), false)
	}
	return cmd.Help()
}

// unknownCommand refuses an unknown command, and names the most similar ones.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := "see " + cmd.CommandPath() + " --help"
	cmd.SuggestionsMinimumDistance = 2
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		near = "did you mean " + strings.Join(names, " or ") + "?"
	}
	return usageErrorf("unknown command %q; %s", args[0], near)
}

// atMostArgs refuses more than n arguments.
func atMostArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > n && n == 0:
			return usageErrorf("%s takes no argument, got %s; see %s --help", cmd.Name(), strings.Join(args, " "), cmd.CommandPath())
		case len(args) > n:
			return usageErrorf("%s takes at most %s, got %d: %s", cmd.Name(), screen.Plural(n, "argument"), len(args), strings.Join(args, " "))
		}
		return nil
	}
}

// safeForStderr returns s for stderr: quotes of a file, a setting or a server are redacted.
func safeForStderr(s string) string { return printableLine(redact.Default().String(s)) }

// wrapForTerminal breaks a text between words if w is a terminal. A file or a pipe
// gets one line.
func wrapForTerminal(w io.Writer, text string) string {
	if width := plainScreen(w).Width; width > 0 {
		return strings.Join(screen.Wrapped(text, width), "\n")
	}
	return text
}

// printableLine returns s with blanks for line breaks, and without control
// characters: the names of files may hold any.
func printableLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
}

// The exit codes are part of the interface: scripts use them to distinguish failures.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitBudget  = 3
	exitInvalid = 4
)

// A usageError reports a wrong use of the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errInvalid makes a faulty transcript exit 4.
var errInvalid = errors.New("invalid transcript")

func exitCode(err error) int {
	var usage usageError
	var broken *wire.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.Is(err, wire.ErrSeveralChats), errors.Is(err, wire.ErrNoChat):
		return exitUsage
	case errors.Is(err, tiercompact.ErrInsufficientBudget):
		return exitBudget
	case errors.As(err, &broken), errors.Is(err, errInvalid):
		return exitInvalid
	}
	return exitFailed
}

//go:embed demo.jsonl
var demoSession []byte

// demoTranscript returns the session that comes with the program.
func demoTranscript() (input, error) {
	c, err := wire.DecodeBytes(demoSession, wire.Options{Name: "demo.jsonl"})
	if err != nil {
		return input{}, fmt.Errorf("read the demo session: %w", err)
	}
	return input{Conversation: c, name: "a coding session that comes with tiercompact", session: "demo"}, nil
}
