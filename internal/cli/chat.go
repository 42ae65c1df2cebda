package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/atotto/clipboard"
	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/filetools"
	"github.com/tiercompact/tiercompact/internal/tui"
	"github.com/tiercompact/tiercompact/tokens"
)

// newestSession is the name for --resume without a name.
const newestSession = "newest"

func newChatCommand() *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat [--resume [NAME]] [MODEL]",
		Short: "Chat with a local model, for as long as you like",
		Long: `chat is a chat with a local model. Its conversation never outgrows the model's
window: it is compacted as it grows, and nothing is lost. It is written to disk
after each message, and --resume continues it, even after a kill. Each record of
its file has a checksum. A damaged record is an error that names the line;
--resume --lenient continues with the other records and the archive. If the file
is removed, replaced or cut during the chat, it is written again.

A compaction follows an answer, while you read it; what you type meanwhile is
sent when it has ended. Your own message causes one only if the request would
otherwise not fit the window. With --trigger every_message, any message can
cause one; with --trigger manual, only /compact and a request that would not
fit.

If the window is not set, the model is loaded before the first question, to see
which window the server gives it.

The model may list, read and search the files of the folder in which the chat
was started, after you permit it: the chat asks before each kind of access.
Links are not followed, and nothing is written. --tools never turns it off.

If input or output is not a terminal, or cannot place its cursor (TERM=dumb),
each line of input is a message or a command, and answers go to stdout; if
neither is a terminal, each answer is written once, when it is complete.`,
		Example: `  tiercompact chat llama3.2:3b
  tiercompact chat --resume                # continue the newest session
  tiercompact chat --openai-url http://127.0.0.1:8080/v1 -w 16384
  echo "why is the sky blue?" | tiercompact chat llama3.2:3b`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.resume == newestSession {
				return atMostArgs(2)(cmd, args)
			}
			return atMostArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.runChat(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.openaiURL, "openai-url", "", "`address` of a server with OpenAI's protocol, in place of Ollama; its key is in "+config.KeyVariable)
	f.StringVar(&o.dir, "dir", ".compact", "`folder` of sessions and archive")
	f.StringVar(&o.session, "session", "", "`name` of the new session (default: the time)")
	f.StringVar(&o.resume, "resume", "", "continue the session of this `[NAME]`, or the newest")
	f.Lookup("resume").NoOptDefVal = newestSession
	f.BoolVar(&o.lenient, "lenient", false, "with --resume: skip damaged records of the session, restore them from the archive if it has their content, and report them")
	f.StringVar(&o.system, "system", "", "the system prompt of a new session, as `text`")
	f.StringVar(&o.tools, "tools", toolsAsk, "the model may list, read and search files of this folder: `WHEN`, ask, always or never")
	f.BoolVar(&o.plain, "plain", false, "line by line, even on a terminal")
	o.look.registerLook(cmd)
	o.settings.registerSettings(cmd, append([]string{"preset", "model", "window", "trigger", "redact", "trace"}, settingsOfModels()...)...)
	for _, name := range []string{"preset", "trigger"} {
		f.Lookup(name).DefValue = chatDefaults()[name]
	}
	return cmd
}

// chatDefaults are the defaults of a chat: rounds follow answers, while the user
// reads, and a preflight compacts only what would not fit.
func chatDefaults() map[string]string {
	return map[string]string{"preset": string(tiercompact.Steady), "trigger": string(tiercompact.AssistantOnly), "policy.trigger_pct": "1"}
}

type chatOptions struct {
	model, openaiURL, dir, session, resume, system string
	tools                                          string
	window                                         int // 0: not set
	plain, lenient                                 bool
	look                                           screenOptions
	settings                                       settings
	flush                                          func(context.Context) error // of the sinks
	notice                                         string                      // shown when the chat begins
	summarizer                                     string                      // the model that writes the summaries; "": none
}

func (o *chatOptions) runChat(cmd *cobra.Command, args []string) (err error) {
	if err := o.validateChat(cmd, args); err != nil {
		return err
	}
	t, err := openChat(cmd, o)
	if err != nil {
		return err
	}
	tellNotes(cmd, t)
	defer func() {
		closing := t.Close()
		tellNotes(cmd, t)
		kept := "session %s is kept; tiercompact chat --resume=%s continues it"
		if closing != nil {
			kept = "session %s is not wholly on disk; the error reports what is missing; tiercompact chat --resume=%s continues with what is there"
		}
		err = errors.Join(err, closing, flushSinks(cmd.Context(), o.flush))
		printNote(cmd, kept, t.Name(), t.Name())
	}()
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	if o.lineByLine(cmd) {
		return tui.Plain(cmd.Context(), t, in, out, cmd.ErrOrStderr(), isTerminal(in), isTerminal(in) || isTerminal(out))
	}
	if f, ok := fileOf(out); ok { // it draws, and escapes control characters itself
		out = f
	}
	return tui.Run(cmd.Context(), t, in, out)
}

func tellNotes(cmd *cobra.Command, t *tui.Talk) {
	for _, text := range t.Notes() {
		printNote(cmd, "%s", text)
	}
}

// validateChat refuses flags that contradict each other. The argument after
// --resume may be the name of a session.
func (o *chatOptions) validateChat(cmd *cobra.Command, args []string) error {
	if err := o.settings.loadSettings(cmd, chatDefaults()); err != nil {
		return err
	}
	if o.settings.Origin("model").Kind == config.Flag {
		o.model = o.settings.Config.Model
	}
	if o.settings.Origin("window").Kind == config.Flag {
		o.window = o.settings.Config.Window
	}
	if o.resume != "" && (o.session != "" || o.system != "") {
		return usageErrorf("--session and --system are for a new session; leave them out, or --resume")
	}
	if o.lenient && o.resume == "" {
		return usageErrorf("--lenient is for an existing session; give --resume too")
	}
	if o.resume == newestSession {
		args = o.takeResumed(args)
	}
	if !slices.Contains([]string{toolsAsk, toolsAlways, toolsNever}, o.tools) {
		return usageErrorf("--tools is ask, always or never, not %q", o.tools)
	}
	switch len(args) {
	case 0:
		return nil
	case 2:
		return fmt.Errorf("no session %s is in %s; %s", args[0], o.dir, o.savedSessions())
	}
	if o.model != "" && o.model != args[0] {
		return usageErrorf("the argument says model %s, --model says %s; give one", args[0], o.model)
	}
	o.model = args[0]
	return nil
}

// The values of --tools.
const (
	toolsAsk    = "ask"
	toolsAlways = "always"
	toolsNever  = "never"
)

// openFolder opens the folder of the chat for the tools of the model, nil if they are
// off, or if nobody can be asked. permitted needs no question.
func (o *chatOptions) openFolder(cmd *cobra.Command) (f *filetools.Folder, permitted []filetools.Kind, err error) {
	asked := isTerminal(cmd.InOrStdin())
	switch {
	case o.tools == toolsNever, o.tools == toolsAsk && !asked:
		return nil, nil, nil
	case o.tools == toolsAlways:
		permitted = filetools.Kinds()
	}
	f, err = filetools.Open(".", o.dir)
	return f, permitted, err
}

// takeResumed takes the session's name after --resume out of the arguments, if one
// of them names a session.
func (o *chatOptions) takeResumed(args []string) []string {
	for i, name := range args {
		if _, err := tui.SavedMeta(o.dir, name, true); err == nil {
			o.resume = name
			return slices.Concat(args[:i], args[i+1:])
		}
	}
	return args
}

// savedSessions lists the sessions that can be resumed.
func (o *chatOptions) savedSessions() string {
	names, err := tui.Saved(o.dir)
	if err != nil {
		return err.Error()
	}
	return "it has " + joinFirst(names)
}

// openChat finds the model, and opens the session.
func openChat(cmd *cobra.Command, o *chatOptions) (*tui.Talk, error) {
	name, err := o.sessionName()
	if err != nil {
		return nil, err
	}
	o.model = cmp.Or(o.model, o.settings.Config.Model)
	o.window = cmp.Or(o.window, o.settings.Config.Window)
	server, err := o.selectServer()
	if err != nil {
		return nil, err
	}
	if o.model == "" {
		if o.model, err = o.chooseModel(cmd, server); err != nil {
			return nil, err
		}
	}
	ctx := engine.Once(cmd.Context()) // not for the chat itself: models change meanwhile
	count := o.tokenCounter(ctx)
	m, err := server.findModel(ctx, o.model)
	if err != nil {
		return nil, o.mistaken(err)
	}
	s, err := o.look.screenFor(cmd.OutOrStdout())
	if err != nil {
		return nil, err
	}
	s.Guarded = false
	if o.lineByLine(cmd) {
		s.Colour = false
	}
	var t *tui.Talk
	present := func() tui.Model {
		if t == nil {
			return m
		}
		return t.Model()
	}
	cfg, err := o.chatConfig(ctx, cmd, m, present)
	if err != nil {
		return nil, err
	}
	cfg.Count = count
	folder, permitted, err := o.openFolder(cmd)
	if err != nil {
		return nil, err
	}
	learnt, address := o.calibrations(), server.URL()
	t, err = tui.Open(cmd.Context(), tui.Options{
		Learnt: func(model string) tokens.Calibration { return learnt.Get(address, model) },
		Learn: func(model string, c tokens.Calibration) {
			_ = learnt.Put(address, model, c) // without it, the next chat learns it again
		},
		Config: cfg, Chat: server, Model: m, Find: server.findModel, List: server.modelNames, Screen: s,
		Dir: o.dir, Name: name, Resume: o.resume != "", Lenient: o.lenient, System: o.system,
		Folder: folder, Permitted: permitted, Clipboard: clipboardOf(o.lineByLine(cmd)),
		Notice: o.notice, Silence: o.settings.Config.Deadlines.Summary,
		Summarizes: func(model string) bool { return engine.SameModel(model, o.summarizer) },
	})
	if err != nil {
		return nil, errors.Join(err, flushSinks(cmd.Context(), o.flush))
	}
	return t, nil
}

// clipboardOf returns the clipboard of the machine, nil if it has none. Over a line
// by line chat, which may be a script, there is none either.
func clipboardOf(lineByLine bool) func(string) error {
	if clipboard.Unsupported || lineByLine {
		return nil
	}
	return clipboard.WriteAll
}

// chatConfig opens what the settings name for a model; present returns the one that the
// chat uses later. The console is left out on a terminal that the chat draws on.
func (o *chatOptions) chatConfig(ctx context.Context, cmd *cobra.Command, m tui.Model, present func() tui.Model) (cfg tiercompact.Config, err error) {
	c := o.settings.Config
	c.Model, c.Window, c.Measured = m.Name, m.Window, new(config.Window)
	c.Trace.Console = c.Trace.Console && o.lineByLine(cmd)
	if c.Archive.Adapter != config.Memory {
		printNote(cmd, "warning: the chat keeps its archive in %s; archive.adapter is for other commands", o.dir)
	}
	c.Archive = config.Archive{}
	c.Engine.Own = engine.OwnModel{Name: m.Name, URL: o.openaiURL, Window: m.Window}
	c.Engine.Shared = func(model string) int {
		if m := present(); engine.SameModel(m.Name, model) {
			return m.Window
		}
		return 0
	}
	opened, err := openSettings(ctx, cmd, c)
	if err != nil {
		return cfg, err
	}
	o.flush, cfg = opened.Close, opened.Config
	o.summarizer = opened.Engine.Summary.Model
	if s := opened.Engine.Summary; !s.BuiltIn() && s.Missing != "" {
		o.notice = s.Why + "; for a model of its own: " + s.Missing
	}
	cfg.Model = "" // the chat's own, which can change
	return cfg, nil
}

// tokenCounter returns the model's exact counter, nil if its kind of vocabulary is
// unknown: counts are then estimates, as they are for other servers. It asks for
// the model first, because its answer serves later requests too.
func (o *chatOptions) tokenCounter(ctx context.Context) func(string) int {
	if o.openaiURL != "" {
		return nil
	}
	c := o.settings.Config
	count, _ := engine.Tokenizer(ctx, engine.Options{Kind: c.Engine.Kind, URL: c.Engine.URL}, o.model)
	return count
}

// lineByLine reports whether the chat goes line by line.
func (o *chatOptions) lineByLine(cmd *cobra.Command) bool {
	return o.plain || !isTerminal(cmd.InOrStdin()) || !isTerminal(cmd.OutOrStdout()) || os.Getenv("TERM") == "dumb"
}

// calibrations returns the store of what chats learned about each model's token counts.
func (o *chatOptions) calibrations() *engine.Calibrations {
	folder, err := os.UserCacheDir()
	if err != nil {
		folder = o.dir
	}
	return engine.OpenCalibrations(filepath.Join(folder, "tiercompact", "calibrations.json"))
}

// mistaken adds a hint to the error of a missing model after --resume: a session
// may have been meant.
func (o *chatOptions) mistaken(err error) error {
	if o.resume == newestSession {
		return fmt.Errorf("%w; no session of that name is in %s either; %s", err, o.dir, o.savedSessions())
	}
	return err
}

// sessionName returns the name of the session to resume, or of the new one. A
// resumed session says which model it used.
func (o *chatOptions) sessionName() (string, error) {
	if o.resume == "" {
		return o.session, nil
	}
	name := o.resume
	if name == newestSession {
		names, err := tui.Saved(o.dir)
		if err != nil {
			return "", err
		}
		if len(names) == 0 {
			return "", fmt.Errorf("no session is in %s; start one without --resume, or name the folder with --dir", o.dir)
		}
		name = names[0]
	}
	meta, err := tui.SavedMeta(o.dir, name, o.lenient)
	if err != nil {
		return "", err
	}
	if o.model = cmp.Or(o.model, meta.Model); o.model == meta.Model {
		o.window = cmp.Or(o.window, meta.Window)
	}
	return name, nil
}

// chooseModel returns the model of a chat without a model name: the server's only
// one, or the one that the user picks on a terminal.
func (o *chatOptions) chooseModel(cmd *cobra.Command, s chatServer) (string, error) {
	names, err := s.modelNames(cmd.Context())
	if err != nil {
		return "", err
	}
	switch {
	case len(names) == 0:
		return "", errors.New("the server has no model; pull one, such as: ollama pull llama3.2:3b")
	case len(names) == 1:
		return names[0], nil
	case o.lineByLine(cmd):
		return "", usageErrorf("name the model; the server has: %s", strings.Join(names, ", "))
	}
	look, err := o.look.screenFor(cmd.OutOrStdout())
	if err != nil {
		return "", err
	}
	look.Guarded = false
	out := cmd.OutOrStdout()
	if f, ok := fileOf(out); ok {
		out = f
	}
	return tui.Pick(cmd.Context(), look, "Which model?", names, cmd.InOrStdin(), out)
}
