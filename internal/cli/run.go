package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/trace"
)

// sinks are the records of a run beside its output. The zero value writes nothing.
type sinks struct {
	session string
	archive config.Archive
	trace   config.Trace
	fresh   bool // the trace begins again
	cmd     *cobra.Command
}

func (k *sinks) registerSinks(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.session, "session", "", "`id` of the session in the archive (default: the file's name)")
}

// settingsOfSinks names the settings that sinks are made of.
func settingsOfSinks() []string { return []string{"archive_required", "archive", "trace"} }

// takeSettings takes the settings, and refuses contradictions. A trace from a flag
// begins again, one from a file is appended to.
func (k *sinks) takeSettings(cmd *cobra.Command, s *settings) error {
	k.cmd, k.archive, k.trace = cmd, s.Config.Archive, s.Config.Trace
	k.fresh = s.Origin("trace.jsonl").Kind == config.Flag
	switch {
	case k.session != "" && k.archive.Adapter == config.Memory:
		return usageErrorf("--session names a session of an archive; give --archive too")
	case !utf8.ValidString(k.session):
		return usageErrorf("--session %q is not UTF-8; give another id", k.session)
	}
	return checkArchiveFolder(k.archive)
}

// A sessionRun is one session with everything that must be closed after it.
type sessionRun struct {
	compactor *tiercompact.Compactor
	session   *tiercompact.Session
	cfg       tiercompact.Config // as set by the flags
	closers   []func() error
}

// startRun opens the archive, the trace and a session without messages. Its rounds
// continue the numbers of the archive.
func (k sinks) startRun(ctx context.Context, cfg tiercompact.Config, in input) (_ *sessionRun, err error) {
	r := &sessionRun{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.closeRun())
		}
	}()
	id := in.session
	if k.session != "" {
		id = k.session
	}
	if err := k.openSinks(ctx, r, &cfg); err != nil {
		return nil, err
	}
	if r.compactor, err = tiercompact.New(cfg); err != nil {
		return nil, err
	}
	r.session, err = r.compactor.Resume(ctx, archive.State{Meta: archive.Meta{Session: id}, Since: -1})
	if err != nil {
		return nil, err
	}
	r.session.SetTools(in.Tools)
	return r, nil
}

func (k sinks) openSinks(ctx context.Context, r *sessionRun, cfg *tiercompact.Config) (err error) {
	if k.cmd == nil {
		return nil
	}
	if cfg.Archive, err = k.archive.Open(ctx, false); err != nil {
		return err
	}
	if cfg.Archive != nil {
		r.closers = append(r.closers, cfg.Archive.Close)
	}
	if info, err := os.Stat(k.trace.JSONL); k.fresh && err == nil && info.Mode().IsRegular() {
		if err := os.Truncate(k.trace.JSONL, 0); err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
	}
	out, err := k.trace.Open(ctx, k.cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	for _, warning := range out.Warnings {
		printNote(k.cmd, "warning: %s", warning)
	}
	r.closers = append(r.closers, func() error { return flushSinks(ctx, out.Close) })
	cfg.Trace = trace.Join(cfg.Trace, out.Sink)
	return nil
}

// mostFlush limits how long the end of a command waits for its sinks.
const mostFlush = 5 * time.Second

// flushSinks ends sinks, even if ctx has ended.
func flushSinks(ctx context.Context, end func(context.Context) error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), mostFlush)
	defer stop()
	return end(ctx)
}

// closeRun closes in the reverse order of opening.
func (r *sessionRun) closeRun() error {
	var errs []error
	for _, c := range slices.Backward(r.closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
