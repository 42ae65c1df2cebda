package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/wire"
)

// archiveOptions control opening an archive.
type archiveOptions struct {
	read bool // write nothing; the folder must exist
}

// An archivePlace is the archive of the settings, and a session in it.
type archivePlace struct {
	settings
	cmd            *cobra.Command
	where, session string
}

// registerPlace adds the flags. The flags of settings are read by loadSettings.
func (p *archivePlace) registerPlace(cmd *cobra.Command) {
	p.cmd = cmd
	f := cmd.Flags()
	f.String("archive", "", "the archive that compact or replay was given: a `folder`, or s3://bucket/prefix (default: that of the settings)")
	f.StringVar(&p.session, "session", "", "`id` of the session (default: every session of the archive)")
	p.settings.registerSettings(cmd, "archive.s3.region", "archive.s3.endpoint", "archive.s3.kms_key")
}

// openArchive opens the archive and returns the sessions to search.
func (p *archivePlace) openArchive(ctx context.Context, o archiveOptions) (archive.Store, []string, error) {
	if err := p.loadSettings(p.cmd, nil); err != nil {
		return nil, nil, err
	}
	a := p.Config.Archive
	if p.where = a.Place(); p.where == "" {
		return nil, nil, usageErrorf("--archive is missing; give the folder or the address that compact or replay was given, here or as archive in compact.yaml")
	}
	if err := checkArchiveFolder(a); err != nil {
		return nil, nil, err
	}
	if !o.read { // reading never creates an archive
		there, err := a.Open(ctx, true)
		if err != nil {
			return nil, nil, err
		}
		if err := there.Close(); err != nil {
			return nil, nil, err
		}
	}
	store, err := a.Open(ctx, o.read)
	if err != nil {
		return nil, nil, err
	}
	sessions, err := archive.Sessions(ctx, store)
	if err == nil && p.session != "" {
		sessions, err = p.chosenSession(sessions)
	}
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, sessions, nil
}

// checkArchiveFolder refuses a file at the path of an archive's folder.
func checkArchiveFolder(a config.Archive) error {
	if info, err := os.Stat(a.Dir); a.Adapter == config.Dir && err == nil && !info.IsDir() {
		return usageErrorf("the archive %s is a file; an archive is the folder that compact, replay or chat was given", printableLine(a.Dir))
	}
	return nil
}

// chosenSession returns only the requested session.
func (p *archivePlace) chosenSession(there []string) ([]string, error) {
	if slices.Contains(there, p.session) {
		return []string{p.session}, nil
	}
	return nil, fmt.Errorf("archive %s has no session %q; it has %s", p.where, p.session, joinFirst(there))
}

// joinFirst lists names on a line, the first of many.
func joinFirst(names []string) string {
	const most = 5
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += ", ..."
	}
	return cmp.Or(text, "none")
}

// recalled returns the newest entry with an id, from the first session that has it, and
// the session.
func recalled(ctx context.Context, store archive.Store, sessions []string, id string) (archive.Entry, string, error) {
	missing := fmt.Errorf("recall %q: %w", id, archive.ErrNotFound)
	for _, s := range sessions {
		e, err := store.Recall(ctx, s, id)
		switch {
		case errors.Is(err, archive.ErrDamaged) || errors.Is(err, archive.ErrVersion): // another session may have the same
			missing = err
		case errors.Is(err, archive.ErrNotFound):
		default:
			return e, s, err
		}
	}
	return archive.Entry{}, "", missing
}

// readBack returns the readings of c's file, written in a format ("" is its own),
// with other messages: of the file itself, and of what compact or undo make of it
// in each other format.
func readBack(c wire.Conversation, to string) func(chat.Transcript) []archive.Reading {
	to = formatWritten(c, to)
	return func(messages chat.Transcript) []archive.Reading {
		c := c
		c.Messages = messages
		files := rereadAs(c, to)
		all := readingsOf(files, to)
		if len(files) == 0 {
			return nil
		}
		for name := range strings.SplitSeq(formatNames(true), ", ") {
			if name != to {
				all = append(all, readingsOf(rereadAs(files[0], name), name)...)
			}
		}
		return all
	}
}

// formatWritten returns the format in which c is written.
func formatWritten(c wire.Conversation, to string) string {
	switch {
	case to != "":
		return to
	case readOnly(c, to) != "":
		return "openai"
	}
	return c.Format
}

// rereadAs returns c as it is read from its written file: in the detected format,
// and if that is another one, in the written format too.
func rereadAs(c wire.Conversation, to string) []wire.Conversation {
	var file bytes.Buffer
	if err := wire.Encode(&file, c, to); err != nil {
		return nil
	}
	detected, err := wire.DecodeBytes(file.Bytes(), wire.Options{})
	if err != nil {
		return nil // there is nothing in it to read
	}
	if detected.Format == to {
		return []wire.Conversation{detected}
	}
	meant, err := wire.DecodeBytes(file.Bytes(), wire.Options{Format: to})
	if err != nil {
		return []wire.Conversation{detected}
	}
	return []wire.Conversation{detected, meant}
}

func readingsOf(files []wire.Conversation, format string) []archive.Reading {
	var all []archive.Reading
	for _, c := range files {
		all = append(all, archive.Reading{Format: format, Messages: c.Messages})
	}
	return all
}
