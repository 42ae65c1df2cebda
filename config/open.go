package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/archive/s3"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/recall"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/trace"
)

// Opened is everything that settings name, in the form for a compactor.
type Opened struct {
	tiercompact.Config                // with window, archive, sinks, models and redaction
	Engine             *engine.Engine // the models that were found, and why
	Window             Window         // source of Config.Window
	Warnings           []string       // problems, each with a remedy after a semicolon

	closers closers
}

// Close sends the events that wait in sinks, and closes the sinks and the archive. The
// compactors must be closed first. If ctx ends before that, events are dropped.
func (o *Opened) Close(ctx context.Context) error {
	return o.closers.closeAll(ctx)
}

// Open compiles the redaction rules, finds the window and the models, and opens the
// archive and the sinks. Errors of sinks are written to stderr; nil means os.Stderr. If
// Open fails, it closes everything that it opened.
//
// An Archive or a Trace that is zero is not opened. The sinks are added to the Trace of
// the embedded Config.
func (c Config) Open(ctx context.Context, stderr io.Writer) (_ *Opened, err error) {
	if stderr == nil {
		stderr = os.Stderr
	}
	o := new(Opened)
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close(ctx))
		}
	}()
	if c.Config.Redact.Redactor, err = c.Redactor(); err != nil {
		return nil, err
	}
	asking := engine.Once(ctx)
	if c.Measured == nil {
		if err := c.Measure(asking); err != nil {
			return nil, err
		}
	}
	o.Config, o.Window = c.Compaction(), *c.Measured
	e, err := c.EngineOptions()
	if err != nil {
		return nil, err
	}
	if o.Engine, err = engine.Open(asking, e); err != nil {
		return nil, err
	}
	o.Engine.Into(&o.Config)
	if o.Archive, err = c.Archive.Open(ctx, false); err != nil {
		return nil, err
	}
	if o.Archive != nil {
		o.closers = append(o.closers, func(context.Context) error { return o.Archive.Close() })
	}
	sinks, err := c.Trace.Open(ctx, stderr)
	if err != nil {
		return nil, err
	}
	o.Trace, o.closers = trace.Join(o.Trace, sinks.Sink), append(o.closers, sinks.Close)
	for _, text := range slices.Concat([]string{o.Window.Warning, o.Engine.Warning}, sinks.Warnings) {
		if text != "" {
			o.Warnings = append(o.Warnings, text)
		}
	}
	return o, nil
}

// ParseArchive returns the archive in a folder, or at an address like
// s3://bucket/prefix.
func ParseArchive(place string) (Archive, error) {
	if !strings.HasPrefix(place, "s3://") {
		return Archive{Adapter: Dir, Dir: place}, nil
	}
	c, err := s3.Parse(place)
	return Archive{Adapter: S3, S3: c}, err
}

// Place is the argument of [ParseArchive]; "" for the memory.
func (a Archive) Place() string {
	switch a.Adapter {
	case Dir:
		return a.Dir
	case S3:
		return "s3://" + path.Join(a.S3.Bucket, a.S3.Prefix)
	}
	return ""
}

// Open opens the archive; nil is the memory of the compactor. The caller must close it.
// With read-only access, a folder must exist.
func (a Archive) Open(ctx context.Context, readOnly bool) (archive.Store, error) {
	switch a.Adapter {
	case Dir:
		d, err := archive.OpenDirContext(ctx, a.Dir, archive.DirOptions{ReadOnly: readOnly})
		if err != nil {
			return nil, err // not a nil *Dir in an interface
		}
		return d, nil
	case S3:
		s, err := s3.Open(ctx, a.S3)
		if err != nil {
			return nil, err
		}
		cache, err := os.UserCacheDir()
		if err != nil {
			return recall.Indexed(s, ""), nil
		}
		return recall.Indexed(s, filepath.Join(cache, "tiercompact")), nil
	}
	return nil, nil
}

// GitleaksRules compiles the rules of gitleaks. It is nil in a build without them: the
// program in module gitleaks sets it before it opens anything.
var GitleaksRules func() (func(string) string, error)

// errNoGitleaks names the build with the rules of gitleaks.
var errNoGitleaks = errors.New("redact.gitleaks: this build has no rules of gitleaks; in the source folder, go -C gitleaks install ./cmd/tiercompact builds the one that has them; or set it to false")

// Redactor compiles the redaction rules; it returns nil if redaction is off.
func (c Config) Redactor() (*redact.Redactor, error) {
	if c.Redact.Off {
		return nil, nil
	}
	return c.Redaction.compile()
}

func (r Redaction) compile() (*redact.Redactor, error) {
	o := r.Options
	if r.Gitleaks {
		if GitleaksRules == nil {
			return nil, errNoGitleaks
		}
		extra, err := GitleaksRules()
		if err != nil {
			return nil, fmt.Errorf("compile the redaction rules: %w", err)
		}
		o.Extra = append(slices.Clone(o.Extra), extra)
	}
	rules, err := redact.New(o)
	if err != nil {
		return nil, fmt.Errorf("compile the redaction rules: %w", err)
	}
	return rules, nil
}
