package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/tui"
	"github.com/tiercompact/tiercompact/tokens"
)

// newestSession is what --resume without a name stands for.
const newestSession = "newest"

func newChatCommand() *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat [MODEL]",
		Short: "Chat with a local model, for as long as you like",
		Long: `chat is a chat with a local model whose conversation never outgrows the model's
window: it is compacted as it goes on, and nothing is lost. It is on disk after
each message, and --resume goes on with it, also where the chat was killed.

Where input or output is no terminal, or cannot place its cursor (TERM=dumb),
each line that is read is a message or a command, and answers go to stdout.`,
		Example: `  tiercompact chat llama3.2:3b
  tiercompact chat --resume                # go on with the newest session
  tiercompact chat --openai-url http://127.0.0.1:8080/v1 -w 16384
  echo "why is the sky blue?" | tiercompact chat llama3.2:3b`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "the `model`, instead of the argument")
	f.StringVar(&o.openaiURL, "openai-url", "", "`address` of a server with OpenAI's protocol, in place of Ollama; its key is in "+keyVariable)
	f.IntVarP(&o.window, "window", "w", 0, "`tokens` of the model's window (default: as the server has it)")
	f.StringVar(&o.preset, "preset", string(tiercompact.Steady), "bundle of settings: default, eager, steady")
	f.StringVar(&o.dir, "dir", ".compact", "`folder` of sessions and archive")
	f.StringVar(&o.session, "session", "", "`name` of the new session (default: the time)")
	f.StringVar(&o.resume, "resume", "", "go on with the session of this `name`, or the newest")
	f.Lookup("resume").NoOptDefVal = newestSession
	f.StringVar(&o.system, "system", "", "the system prompt of a new session, as `text`")
	f.BoolVar(&o.plain, "plain", false, "line by line, also on a terminal")
	o.look.register(cmd)
	o.models.register(cmd)
	f.SortFlags = false
	complete(cmd, "preset", o.presets().words)
	return cmd
}

type chatOptions struct {
	model, openaiURL, preset, dir, session, resume, system string
	window                                                 int
	plain                                                  bool
	look                                                   look
	models                                                 models
}

func (o *chatOptions) presets() choice {
	return choice{"preset", &o.preset, "default, eager, steady"}
}

func (o *chatOptions) run(cmd *cobra.Command, args []string) (err error) {
	if err := o.valid(args); err != nil {
		return err
	}
	t, err := newChat(cmd, o)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, t.Close())
		note(cmd, "session %s is kept; tiercompact chat --resume=%s goes on with it", t.Name(), t.Name())
	}()
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	if o.plain || !isTerminal(in) || !isTerminal(out) || os.Getenv("TERM") == "dumb" {
		return tui.Plain(cmd.Context(), t, in, out, cmd.ErrOrStderr(), isTerminal(in))
	}
	return tui.Run(cmd.Context(), t, in, out)
}

// valid refuses what contradicts, and sorts out the argument: behind --resume
// it may be the name of a session.
func (o *chatOptions) valid(args []string) error {
	if err := chosen([]choice{o.presets()}); err != nil {
		return err
	}
	if o.window < 0 {
		return usagef("--window must be above 0, is %d", o.window)
	}
	if o.resume != "" && (o.session != "" || o.system != "") {
		return usagef("--session and --system are for a new session; leave them out, or --resume")
	}
	if len(args) == 0 {
		return nil
	}
	if o.resume == newestSession {
		if _, err := tui.SavedMeta(o.dir, args[0]); err == nil {
			o.resume = args[0]
			return nil
		}
	}
	if o.model != "" && o.model != args[0] {
		return usagef("the argument says model %s, --model says %s; give one", args[0], o.model)
	}
	o.model = args[0]
	return nil
}

// newChat finds the model, and opens the session.
func newChat(cmd *cobra.Command, o *chatOptions) (*tui.Talk, error) {
	name, err := o.saved()
	if err != nil {
		return nil, err
	}
	server, err := o.server()
	if err != nil {
		return nil, err
	}
	if o.model == "" {
		if o.model, err = onlyModel(cmd.Context(), server); err != nil {
			return nil, err
		}
	}
	m, err := server.find(cmd.Context(), o.model)
	if err != nil {
		return nil, o.mistaken(err)
	}
	s, err := o.look.on(cmd.OutOrStdout())
	if err != nil {
		return nil, err
	}
	cfg := tiercompact.Config{Preset: tiercompact.Preset(o.preset), Model: m.Name, Window: m.Window}
	if err := o.models.into(cmd, &cfg, new(progress)); err != nil {
		return nil, err
	}
	cfg.Model = "" // the chat's own, which can change
	if o.openaiURL == "" {
		// Where the vocabulary is of a kind that is not known, counts are
		// estimates, as they are for every other model.
		cfg.Count, _ = engine.Tokenizer(cmd.Context(), o.models.options(), m.Name)
	}
	learnt, address := o.learnt(), server.URL()
	return tui.Open(cmd.Context(), tui.Options{
		Learnt: func(model string) tokens.Calibration { return learnt.Get(address, model) },
		Learn: func(model string, c tokens.Calibration) {
			_ = learnt.Put(address, model, c) // without it, the next chat learns it again
		},
		Config: cfg, Chat: server, Model: m, Find: server.find, List: server.names, Screen: s,
		Dir: o.dir, Name: name, Resume: o.resume != "", System: o.system,
	})
}

// learnt is where chats keep what they learnt of how models count.
func (o *chatOptions) learnt() *engine.Calibrations {
	folder, err := os.UserCacheDir()
	if err != nil {
		folder = o.dir
	}
	return engine.OpenCalibrations(filepath.Join(folder, "tiercompact", "calibrations.json"))
}

// mistaken says of a model that is not there, behind --resume, that it may have
// been meant as a session.
func (o *chatOptions) mistaken(err error) error {
	if o.resume == newestSession {
		return fmt.Errorf("%w; no session of that name is in %s either", err, o.dir)
	}
	return err
}

// saved returns the name of the session that is to be resumed, or else that of
// the new one. A session that is resumed says which model it was with.
func (o *chatOptions) saved() (string, error) {
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
	meta, err := tui.SavedMeta(o.dir, name)
	if err != nil {
		return "", err
	}
	if o.model = cmp.Or(o.model, meta.Model); o.model == meta.Model {
		o.window = cmp.Or(o.window, meta.Window)
	}
	return name, nil
}

// onlyModel returns the model of a server that has one, for a chat that names
// none.
func onlyModel(ctx context.Context, s chatServer) (string, error) {
	names, err := s.names(ctx)
	if err != nil {
		return "", err
	}
	switch len(names) {
	case 0:
		return "", errors.New("the server has no model; pull one, such as: ollama pull llama3.2:3b")
	case 1:
		return names[0], nil
	}
	return "", usagef("name the model; the server has: %s", strings.Join(names, ", "))
}
