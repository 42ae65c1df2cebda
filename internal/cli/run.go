package cli

import (
	"cmp"
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/config"
)

// registerSession adds the flag of the session in the archive.
func registerSession(cmd *cobra.Command, session *string) {
	cmd.Flags().StringVar(session, "session", "", "`id` of the session in the archive (default: the file's name)")
}

// settingsOfSinks names the settings of the archive and the trace.
func settingsOfSinks() []string { return []string{"archive_required", "archive", "trace"} }

// prepareSinks refuses contradictions about archive and trace. A trace from a flag
// replaces an existing file; one from a file of settings is added to it.
func (s *settings) prepareSinks(session string) error {
	s.Config.Trace.Truncate = s.Origin("trace.jsonl").Kind == config.Flag
	switch {
	case session != "" && s.Config.Archive.Adapter == config.Memory:
		return usageErrorf("--session names a session of an archive; give --archive too")
	case !utf8.ValidString(session):
		return usageErrorf("--session %q is not UTF-8; give another id", session)
	}
	return checkArchiveFolder(s.Config.Archive)
}

// A sessionRun is one session with everything that must be closed after it.
type sessionRun struct {
	*config.Opened
	session *tiercompact.Session
}

// startRun opens what c names, and a session without messages. Its rounds continue the
// numbers of the archive. If session is "", the session has the name of the input.
func startRun(cmd *cobra.Command, c config.Config, session string, in input) (r *sessionRun, err error) {
	r = new(sessionRun)
	p := newProgress(cmd)
	c.Engine.Embedded, c.Progress = p.embedded, p.summarising
	if r.Opened, err = openSettings(cmd.Context(), cmd, c); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, flushSinks(cmd.Context(), r.Close))
		}
	}()
	r.Config.NoRecall = c.Archive.Place() == ""
	compactor, err := tiercompact.New(r.Config)
	if err != nil {
		return nil, err
	}
	meta := archive.Meta{Session: cmp.Or(session, in.session)}
	if r.session, err = compactor.Resume(cmd.Context(), archive.State{Meta: meta, Since: -1}); err != nil {
		return nil, err
	}
	r.session.SetTools(in.Tools)
	return r, nil
}

// maxFlush limits how long the end of a command waits for its sinks.
const maxFlush = 5 * time.Second

// flushSinks ends sinks, even if ctx has ended.
func flushSinks(ctx context.Context, end func(context.Context) error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), maxFlush)
	defer stop()
	return end(ctx)
}
