package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/config"
)

// archiveOptions say how an archive is opened, beside where it is.
type archiveOptions struct {
	bucket config.S3Bucket // how that of an s3:// address is reached
	read   bool            // nothing is written; a folder must be there
}

// openArchive opens the archive in a folder, or at an address like
// s3://bucket/prefix.
func openArchive(ctx context.Context, where string, o archiveOptions) (archive.Store, error) {
	a, err := config.ParseArchive(where)
	if err != nil {
		return nil, usagef("--archive: %w", err)
	}
	o.bucket.Bucket, o.bucket.Prefix = a.S3.Bucket, a.S3.Prefix
	a.S3 = o.bucket
	return a.Open(ctx, o.read)
}

// A place is an archive, and a session in it.
type place struct {
	where, session string
	bucket         config.S3Bucket
}

func (p *place) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.where, "archive", "", "the archive that compact or replay was given: a `folder`, or s3://bucket/prefix (default: that of the settings)")
	f.StringVar(&p.session, "session", "", "`id` of the session (default: every session of the archive)")
	f.StringVar(&p.bucket.Endpoint, "s3-endpoint", "", "`address` of a server with the protocol of S3 (default: AWS_ENDPOINT_URL, else Amazon's)")
	f.StringVar(&p.bucket.Region, "s3-region", "", "`region` of the bucket (default: AWS_REGION, else what the server says)")
	f.StringVar(&p.bucket.KMSKey, "kms-key", "", "`id` of the key that the server encrypts with")
}

// open opens the archive, and returns the sessions to look through.
func (p place) open(ctx context.Context, o archiveOptions) (archive.Store, []string, error) {
	if p.where == "" {
		if err := p.fromSettings(); err != nil {
			return nil, nil, err
		}
	}
	o.bucket = p.bucket
	if !o.read { // never make an archive where there is none
		there, err := openArchive(ctx, p.where, archiveOptions{bucket: p.bucket, read: true})
		if err != nil {
			return nil, nil, err
		}
		if err := there.Close(); err != nil {
			return nil, nil, err
		}
	}
	store, err := openArchive(ctx, p.where, o)
	if err != nil {
		return nil, nil, err
	}
	sessions, err := archive.Sessions(ctx, store)
	if err == nil && p.session != "" {
		sessions, err = p.chosen(sessions)
	}
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, sessions, nil
}

// fromSettings takes the archive of the settings, where flags name none.
func (p *place) fromSettings() error {
	l, err := config.Load(config.Options{})
	if err != nil {
		return usageError{settingsError(err)}
	}
	a := l.Config.Archive
	if p.where = a.Place(); p.where == "" {
		return usagef("--archive is missing; give the folder or the address that compact or replay was given, here or as archive in compact.yaml")
	}
	p.bucket = config.S3Bucket{
		Endpoint: cmp.Or(p.bucket.Endpoint, a.S3.Endpoint), Region: cmp.Or(p.bucket.Region, a.S3.Region), KMSKey: cmp.Or(p.bucket.KMSKey, a.S3.KMSKey),
	}
	return nil
}

// chosen returns the session that was asked for, alone.
func (p place) chosen(there []string) ([]string, error) {
	if slices.Contains(there, p.session) {
		return []string{p.session}, nil
	}
	return nil, fmt.Errorf("archive %s has no session %q; it has %s", p.where, p.session, few(there))
}

// few lists names on a line, the first of many.
func few(names []string) string {
	const most = 5
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += ", ..."
	}
	return cmp.Or(text, "none")
}

// recalled returns the newest entry with an id, of the first session that has it.
func recalled(ctx context.Context, store archive.Store, sessions []string, id string) (archive.Entry, error) {
	for _, s := range sessions {
		e, err := store.Recall(ctx, s, id)
		if err == nil || !errors.Is(err, archive.ErrNotFound) {
			return e, err
		}
	}
	return archive.Entry{}, fmt.Errorf("recall %q: %w", id, archive.ErrNotFound)
}
