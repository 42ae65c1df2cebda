package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newCompactCommand() *cobra.Command {
	var o compactOptions
	cmd := &cobra.Command{
		Use:   "compact [FILE|-]",
		Short: "Compact a transcript to fit its window",
		Long: `compact reads a transcript, makes one check as if its last message had just been
added, and writes the result in the same format, or as openai if that format
cannot be written. If nothing is due and the format stays, the output is the
input, byte for byte.

A level that you name is applied regardless of the usage, the trigger and the
gain. With --layers or --note, the result is the protected messages, one
summary, and the recent messages.`,
		Example: `  tiercompact compact session.jsonl --window 32768 > small.jsonl
  tiercompact compact session.json -w 16384 --level hard --query "the login bug"
  tiercompact compact - --window 8192 --to ollama < body.json
  tiercompact compact session.jsonl -w 8192 --note "keep the API" -o small.jsonl
  tiercompact compact session.jsonl -w 8192 --archive kept --out small.jsonl`,
		Args: fileOrPipe,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runCompact(cmd, fileOrStdin(args)) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "-", "write to this `file`; it may be the input")
	f.StringVar(&o.to, "to", "", "write in this `format`: "+formatNames(true)+" (default: that of the input, or else openai)")
	complete(cmd, "to", formatNames(true))
	f.BoolVar(&o.layers, "layers", false, "compact to the protected messages, one summary, and the recent messages")
	f.StringVar(&o.note, "note", "", "like --layers, with this instruction for the summary")
	o.report.registerReport(cmd)
	o.settings.registerSettings(cmd, append(settingsOfCompaction(), settingsOfSinks()...)...)
	o.source.registerSource(cmd)
	registerSession(cmd, &o.session)
	return cmd
}

type compactOptions struct {
	source   source
	settings settings
	session  string
	report   reportOptions
	out, to  string
	layers   bool
	note     string
}

func (o *compactOptions) runCompact(cmd *cobra.Command, path string) error {
	if err := o.validateCompact(cmd, path); err != nil {
		return err
	}
	in, err := o.source.readSource(cmd, path)
	if err != nil {
		return err
	}
	if err := checkPlaced(cmd, in.Conversation, path, o.out, o.to, o.report.quiet || o.report.json); err != nil {
		return err
	}
	if path != "-" && o.out != "-" && o.settings.Config.Archive.Place() == "" && sameFile(o.out, path) {
		return usageErrorf("--out %s is the input, and without an archive the removed messages would be lost; give --archive DIR, or another file", o.out)
	}
	c, err := o.settings.forTranscript(cmd, in)
	if err != nil {
		return err
	}
	c.ReadBack = readBack(in.Conversation, o.to)
	done, err := check{c, o.session, o.layers || o.note != "", o.note}.runCheck(cmd, in)
	var budget *tiercompact.BudgetError
	if err != nil && !errors.As(err, &budget) {
		return err
	}
	in.Messages = done.after
	if e := writeConversation(cmd, o.out, in.Conversation, o.to); e != nil {
		return e
	}
	if e := o.report.writeReport(cmd, done, o.writtenFiles(in, done)...); e != nil {
		return e
	}
	return err
}

// writtenFiles lists the written files other than the report.
func (o *compactOptions) writtenFiles(in input, done outcome) []writtenFile {
	format := cmp.Or(o.to, in.Format)
	if readOnly(in.Conversation, o.to) != "" {
		format = "openai"
	}
	out := writtenFile{o.out, screen.Plural(len(in.Messages), "message") + " as " + format}
	if o.out == "-" {
		out.path = "stdout"
	}
	kept := writtenFile{o.settings.Config.Archive.Place(), fmt.Sprintf("what was removed, as step %d of session %s", done.Step, cmp.Or(o.session, in.session))}
	switch {
	case !done.Compacted():
		kept = writtenFile{}
	case kept.path == "":
		kept.what = "what was removed is in no archive: recall and undo need --archive DIR"
	}
	all := []writtenFile{out, kept}
	if f := o.settings.Config.Trace.JSONL; f != "" {
		all = append(all, writtenFile{f, "the trace"})
	}
	if o.report.file != "" {
		all = append(all, writtenFile{o.report.file, "the report, as JSON"})
	}
	return all
}

func (o *compactOptions) validateCompact(cmd *cobra.Command, path string) error {
	if err := refuseTerminal(cmd); err != nil {
		return err
	}
	if err := checkOneOf("--to", o.to, formatNames(true)); err != nil {
		return err
	}
	if err := o.settings.loadSettings(cmd, nil); err != nil {
		return err
	}
	if err := layersAlone(o.layers || o.note != "", &o.settings); err != nil {
		return err
	}
	if err := o.settings.prepareSinks(o.session); err != nil {
		return err
	}
	return checkDistinct(path, target{"--out", o.out}, target{"--report", o.report.file}, target{"--trace", o.settings.Config.Trace.JSONL})
}

// layersAlone refuses a level beside the three layers, which are not a level.
func layersAlone(layers bool, s *settings) error {
	if level := s.Config.Level; layers && level != "" {
		return usageErrorf("--level %s and the three layers (--layers, --note) exclude each other; give one", level)
	}
	return nil
}

// A check is the operation of compact and plan on a conversation.
type check struct {
	config  config.Config
	session string // in the archive; "": that of the input
	layers  bool   // three layers, whatever the usage
	note    string
}

// An outcome is the result of a check.
type outcome struct {
	tiercompact.Report
	cfg           tiercompact.Config
	before, after chat.Transcript
}

// runCheck makes the check. If it fails, the outcome holds the conversation as it
// is then.
func (c check) runCheck(cmd *cobra.Command, in input) (done outcome, err error) {
	r, err := startRun(cmd, c.config, c.session, in)
	if err != nil {
		return done, err
	}
	s, ctx := r.session, cmd.Context()
	defer func() { err = errors.Join(err, flushSinks(ctx, r.Close)) }()
	if err := s.Load(in.Messages); err != nil {
		return done, err
	}
	switch {
	case c.layers:
		done.Report, err = s.Compact(ctx, c.note)
	case c.config.Level != "":
		done.Report, err = s.CompactLevel(ctx, c.config.Level)
	default:
		done.Report, err = s.Check(ctx)
	}
	done.cfg, done.before, done.after = r.Config, in.Messages, s.Messages()
	return done, err
}
