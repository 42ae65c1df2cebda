package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/archive/s3"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/redact"
)

// Opened is all that settings name, in the form that a compactor takes.
type Opened struct {
	tiercompact.Config                // with window, archive, sinks, models and redaction
	Engine             *engine.Engine // which models there are, and why
	Window             Window         // where Config.Window comes from
	Warnings           []string       // what is not as it should be, and after a semicolon what to do

	closers closers
}

// Close sends what waits in sinks, and closes them and the archive. Compactors
// must be done before. When ctx ends first, events are dropped.
func (o *Opened) Close(ctx context.Context) error {
	return o.closers.closeAll(ctx)
}

// Open opens the archive and the sinks, looks for the models and the window, and
// makes the rules of redaction. Failures of sinks are told on stderr; nil is
// os.Stderr. What it opened is closed where it fails.
func (c Config) Open(ctx context.Context, stderr io.Writer) (_ *Opened, err error) {
	if stderr == nil {
		stderr = os.Stderr
	}
	o := &Opened{Config: c.Compaction()}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close(ctx))
		}
	}()
	if o.Redact.Redactor, err = c.Redact.Open(); err != nil {
		return nil, err
	}
	asking := engine.Once(ctx)
	if o.Window, err = c.Measure(asking, &o.Config); err != nil {
		return nil, err
	}
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
	o.Trace, o.closers = sinks.Sink, append(o.closers, sinks.Close)
	o.addWarnings(o.Window.Warning, o.Engine.Warning)
	o.addWarnings(sinks.Warnings...)
	return o, nil
}

func (o *Opened) addWarnings(texts ...string) {
	for _, text := range texts {
		if text != "" {
			o.Warnings = append(o.Warnings, text)
		}
	}
}

// ParseArchive returns the archive in a folder, or at an address like
// s3://bucket/prefix.
func ParseArchive(place string) (Archive, error) {
	if !strings.HasPrefix(place, "s3://") {
		return Archive{Adapter: Dir, Dir: place}, nil
	}
	c, err := s3.Parse(place)
	return Archive{Adapter: S3, S3: S3Bucket{Bucket: c.Bucket, Prefix: c.Prefix}}, err
}

// Place is what [ParseArchive] takes; "" for the memory.
func (a Archive) Place() string {
	switch a.Adapter {
	case Dir:
		return a.Dir
	case S3:
		return "s3://" + path.Join(a.S3.Bucket, a.S3.Prefix)
	}
	return ""
}

// Open opens the archive; nil is the memory of the compactor. It must be closed.
// Where it is only read, a folder must be there.
func (a Archive) Open(ctx context.Context, readOnly bool) (archive.Store, error) {
	switch a.Adapter {
	case Dir:
		d, err := archive.OpenDirContext(ctx, a.Dir, archive.DirOptions{ReadOnly: readOnly})
		if err != nil {
			return nil, err // not a nil *Dir in an interface
		}
		return d, nil
	case S3:
		s, err := s3.Open(ctx, a.S3.clientConfig())
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	return nil, nil
}

func (b S3Bucket) clientConfig() s3.Config {
	return s3.Config{Bucket: b.Bucket, Prefix: b.Prefix, Region: b.Region, Endpoint: b.Endpoint, KMSKey: b.KMSKey}
}

// GitleaksRules makes the rules of gitleaks. It is nil in a build without them:
// module gitleaks has the program that sets it, before anything is opened.
var GitleaksRules func() (func(string) string, error)

// errNoGitleaks says which build has the rules of gitleaks.
var errNoGitleaks = errors.New("redact.gitleaks: this build has no rules of gitleaks; in the source folder, go -C gitleaks install ./cmd/tiercompact builds the one that has them; or set it to false")

// Open makes what texts are redacted by; nil where redaction is off.
func (r Redact) Open() (*redact.Redactor, error) {
	if !r.Enabled {
		return nil, nil
	}
	o := redact.Options{KeepPII: !r.PII}
	for _, p := range r.Patterns {
		o.Patterns = append(o.Patterns, redact.Pattern(p))
	}
	if r.Gitleaks {
		if GitleaksRules == nil {
			return nil, errNoGitleaks
		}
		extra, err := GitleaksRules()
		if err != nil {
			return nil, fmt.Errorf("make the rules of redaction: %w", err)
		}
		o.Extra = append(o.Extra, extra)
	}
	rules, err := redact.New(o)
	if err != nil {
		return nil, fmt.Errorf("make the rules of redaction: %w", err)
	}
	return rules, nil
}
