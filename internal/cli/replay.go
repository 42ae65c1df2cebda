package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/wire"
)

func newReplayCommand() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay [FILE|-]",
		Short: "Replay a transcript message by message, and show each compaction",
		Long: `replay adds the messages of a transcript one after the other, as an assistant
would, and shows the usage of the window after each, the compactions, what they
freed, and the messages that are left. Without FILE it replays a built-in coding
session.

In a long transcript, stretches without a compaction are folded; --all shows
every message. With --level, that level is applied whenever usage is at or above
the soft threshold. Replay continues after a message that does not fit the
budget; exit code 3 means that the end does not fit it.`,
		Example: `  tiercompact replay
  tiercompact replay session.jsonl --window 16384 --preset steady
  tiercompact replay session.jsonl -w 32768 --level soft --all
  tiercompact replay session.jsonl --timeline session.svg
  tiercompact replay session.jsonl -w 8192 --out end.jsonl --requests requests/`,
		Args: atMostArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.runReplay(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write the conversation at the end to this `file`")
	f.StringVar(&o.to, "to", "", "in this `format`: "+formatNames(true)+" (default: that of the input, or else openai)")
	complete(cmd, "to", formatNames(true))
	f.StringVar(&o.requests, "requests", "", "write each request, as an assistant would send it, into this `folder`")
	f.BoolVarP(&o.all, "all", "a", false, "show every message, fold nothing")
	f.BoolVar(&o.json, "json", false, "one JSON object for each message and one for the end instead of the timeline")
	f.StringVar(&o.report, "report", "", "write the figures of the end to this `file`, as JSON")
	o.look.registerLook(cmd)
	o.settings.registerSettings(cmd, append(settingsOfCompaction(), settingsOfSinks()...)...)
	o.source.registerSource(cmd)
	registerSession(cmd, &o.session)
	o.picture.registerPicture(cmd)
	return cmd
}

type replayOptions struct {
	source                    source
	settings                  settings
	session                   string
	picture                   picture
	look                      screenOptions
	out, to, requests, report string
	all, json                 bool
}

// foldFrom is the number of messages from which on a replay folds stretches without events.
const foldFrom = 100

func (o *replayOptions) runReplay(cmd *cobra.Command, args []string) (err error) {
	if err := o.validateReplay(cmd, fileOrStdin(args)); err != nil {
		return err
	}
	in, err := o.readTranscript(cmd, args)
	if err != nil {
		return err
	}
	if o.out != "" && len(args) > 0 {
		if err := checkPlaced(cmd, in.Conversation, args[0], o.out, o.to, o.json); err != nil {
			return err
		}
	}
	c, err := o.settings.forTranscript(cmd, in)
	if err != nil {
		return err
	}
	o.picture.attachSink(&c.Config)
	c.ReadBack = readBack(in.Conversation, o.to)
	r, err := startRun(cmd, c, o.session, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flushSinks(cmd.Context(), r.Close)) }()
	w := cmd.OutOrStdout()
	if o.out == "-" {
		w = cmd.ErrOrStderr()
	}
	p := player{sessionRun: r, in: in}
	if p.show, err = o.newShower(w, in); err != nil {
		return err
	}
	if o.requests != "" {
		if p.requests, err = newRequests(o.requests); err != nil {
			return err
		}
	}
	end, err := p.playMessages(cmd.Context())
	if err != nil {
		return err
	}
	return o.finishReplay(cmd, r, in, end)
}

func (o *replayOptions) validateReplay(cmd *cobra.Command, path string) error {
	if err := checkOneOf("--to", o.to, formatNames(true)); err != nil {
		return err
	}
	if err := o.settings.loadSettings(cmd, nil); err != nil {
		return err
	}
	if err := errors.Join(o.settings.prepareSinks(o.session), o.picture.validatePicture()); err != nil {
		return err
	}
	return checkDistinct(path, target{"--out", o.out}, target{"--report", o.report}, target{"--trace", o.settings.Config.Trace.JSONL}, target{"--timeline", o.picture.path})
}

// readTranscript reads the transcript, or the built-in session.
func (o *replayOptions) readTranscript(cmd *cobra.Command, args []string) (input, error) {
	if len(args) > 0 {
		return o.source.readSource(cmd, args[0])
	}
	if o.source != (source{}) {
		return input{}, usageErrorf("--from, --chat and --lenient apply to a transcript; give its FILE, or - for stdin")
	}
	if o.settings.Config.Window == 0 {
		o.settings.Config.Window = config.DefaultWindow
	}
	return demoTranscript()
}

func (o *replayOptions) newShower(w io.Writer, in input) (replayView, error) {
	if o.json {
		return jsonView{w}, nil
	}
	screen, err := o.look.screenFor(w)
	if err != nil {
		return nil, err
	}
	return &timeline{w: w, screen: screen, title: in.name, messages: len(in.Messages), fold: !o.all && len(in.Messages) > foldFrom}, nil
}

func (o *replayOptions) finishReplay(cmd *cobra.Command, r *sessionRun, in input, end ending) error {
	if o.report != "" {
		if err := writeOutput(cmd, o.report, func(w io.Writer) error { return writeJSON(w, end) }); err != nil {
			return err
		}
	}
	if err := o.picture.drawPicture(cmd); err != nil {
		return err
	}
	if o.out != "" {
		in.Messages = r.session.Messages()
		if err := writeConversation(cmd, o.out, in.Conversation, o.to); err != nil {
			return err
		}
	}
	return end.budgetError()
}

// A player adds the messages of a transcript to a session.
type player struct {
	*sessionRun
	in       input
	show     replayView
	requests *requests // nil: none are written
}

// A replayStep is the result of one message.
type replayStep struct {
	index    int // from 0
	message  chat.Message
	report   tiercompact.Report
	messages int   // messages in the conversation before the check
	left     int   // messages after it
	err      error // a BudgetError, or nil
}

// A replayView shows a replay as it proceeds.
type replayView interface {
	showStart(cfg tiercompact.Config)
	showMessage(replayStep)
	showEnding(ending) error
}

func (p *player) playMessages(ctx context.Context) (ending, error) {
	p.show.showStart(p.Config)
	tally := newTally(p.session.Usage())
	left := 0
	for i, m := range p.in.Messages {
		if err := ctx.Err(); err != nil {
			return ending{}, fmt.Errorf("replay message %d: %w", i+1, err)
		}
		if p.requests != nil && m.Role == chat.Assistant {
			if err := p.requests.writeRequest(p.session.Messages()); err != nil {
				return ending{}, err
			}
		}
		b := replayStep{index: i, message: m, messages: left + 1}
		b.report, b.err = p.session.AddMessage(ctx, m)
		if b.err != nil && !errors.Is(b.err, tiercompact.ErrInsufficientBudget) {
			return ending{}, fmt.Errorf("replay message %d: %w", i+1, b.err)
		}
		left++
		if b.report.Compacted() {
			left = len(p.session.Messages())
		}
		b.left = left
		tally.countStep(b)
		p.show.showMessage(b)
	}
	end := tally.totalEnding(left)
	return end, p.show.showEnding(end)
}

// jsonView shows a replay as JSON lines.
type jsonView struct{ w io.Writer }

func (s jsonView) showStart(tiercompact.Config) {}

func (s jsonView) showMessage(b replayStep) {
	failed := ""
	if b.err != nil {
		failed = b.err.Error()
	}
	_ = writeJSONLine(s.w, struct { // end reports the errors of stdout too
		Type     string             `json:"type"`
		Index    int                `json:"index"`
		Role     chat.Role          `json:"role"`
		Standing int                `json:"standing"`
		Left     int                `json:"left"`
		Error    string             `json:"error,omitempty"`
		Report   tiercompact.Report `json:"report"`
	}{"message", b.index + 1, b.message.Role, b.messages, b.left, failed, b.report})
}

func (s jsonView) showEnding(e ending) error {
	return writeJSONLine(s.w, struct {
		Type string `json:"type"`
		ending
	}{"end", e})
}

// requests is a folder of requests, numbered in the order of sending.
type requests struct {
	folder string
	last   int
}

// newRequests creates the folder if it is missing. It must be empty, so that it
// holds the requests of one replay only.
func newRequests(folder string) (*requests, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("write requests: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("write requests: %w", err)
	}
	if len(entries) > 0 {
		return nil, usageErrorf("--requests %s: the folder is not empty; give a new one", folder)
	}
	return &requests{folder: folder}, nil
}

// writeRequest writes the messages of one request, as an OpenAI list.
func (r *requests) writeRequest(t chat.Transcript) error {
	r.last++
	f, err := os.OpenFile(filepath.Join(r.folder, fmt.Sprintf("%06d.json", r.last)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write request %d: %w", r.last, err)
	}
	err = wire.Encode(f, wire.Conversation{Format: "openai", Messages: t}, "openai")
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("write request %d: %w", r.last, err)
	}
	return nil
}
