package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/trace"
)

// sinks say where what happens is written down, beside the output.
type sinks struct {
	archive, session, trace string
}

func (k *sinks) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&k.archive, "archive", "", "keep what is removed in this `folder`, for recall and undo")
	f.StringVar(&k.session, "session", "", "`id` of the session in the archive (default: the file's name)")
	f.StringVar(&k.trace, "trace", "", "write every event to this `file`, one JSON object a line")
}

func (k *sinks) valid() error {
	switch {
	case k.session != "" && k.archive == "":
		return usagef("--session names a session of an archive; give --archive too")
	case !utf8.ValidString(k.session):
		return usagef("--session %q is not UTF-8; give another id", k.session)
	case k.trace == "-":
		return usagef("--trace - is no file; give the name of one")
	}
	return nil
}

// A run is one session with all that must be closed after it.
type run struct {
	compactor *tiercompact.Compactor
	session   *tiercompact.Session
	cfg       tiercompact.Config // as the flags say
	closers   []func() error
}

// start opens the archive and the trace, and a session without messages. Rounds
// are numbered on from those that the archive has.
func (k sinks) start(ctx context.Context, cfg tiercompact.Config, in input) (_ *run, err error) {
	r := &run{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	id := in.session
	if k.session != "" {
		id = k.session
	}
	if err := k.open(r, &cfg); err != nil {
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

func (k sinks) open(r *run, cfg *tiercompact.Config) error {
	if k.archive != "" {
		dir, err := archive.OpenDir(k.archive, archive.DirOptions{})
		if err != nil {
			return err
		}
		r.closers = append(r.closers, dir.Close)
		cfg.Archive = dir
	}
	if k.trace != "" {
		f, err := os.Create(k.trace)
		if err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
		r.closers = append(r.closers, f.Close)
		cfg.Trace = trace.Join(cfg.Trace, trace.JSONL(f))
	}
	return nil
}

func (r *run) close() error {
	var errs []error
	for _, c := range r.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
