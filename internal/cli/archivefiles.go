package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// A verifiedFile is the result of verify for a session file.
type verifiedFile struct {
	Path    string           `json:"path"`
	Session string           `json:"session,omitempty"` // "" if the file does not say
	Records int              `json:"records"`           // unchanged ones
	Damages []verifiedRecord `json:"damages"`
	Torn    int              `json:"torn,omitempty"` // bytes of an incomplete last record
}

type verifiedRecord struct {
	Line    int    `json:"line,omitempty"`
	Record  int    `json:"record,omitempty"`
	Until   int    `json:"until,omitempty"`
	Problem string `json:"problem"`
	Lost    bool   `json:"lost,omitempty"` // its content is not in the file
	Step    int    `json:"step,omitempty"` // of the archive, which has the content

	text string
}

// sessionFile returns the path of a chat's session file: it is beside the archive.
func (p *archivePlace) sessionFile(session string) string {
	return filepath.Join(filepath.Dir(filepath.Clean(p.where)), "sessions", session+".jsonl")
}

// sessionFiles returns the session files of the archive: the named ones, or those
// beside the folder.
func (p *archivePlace) sessionFiles(named []string) ([]string, error) {
	if len(named) > 0 || p.Config.Archive.Adapter != config.Dir {
		return named, nil
	}
	found, err := filepath.Glob(p.sessionFile("*"))
	slices.Sort(found)
	return found, err
}

// verifySessionFile reads a session file. ok is false if the file belongs to
// another session than the requested one.
func (p *archivePlace) verifySessionFile(ctx context.Context, store archive.Store, path string) (v verifiedFile, ok bool, err error) {
	s, found, err := archive.CheckSession(ctx, path, store)
	v = verifiedFile{Path: path, Session: s.Meta.Session, Records: found.Records, Damages: []verifiedRecord{}, Torn: s.Torn}
	switch {
	case ctx.Err() != nil:
		return v, false, ctx.Err()
	case errors.Is(err, os.ErrNotExist):
		return v, false, err
	case err != nil:
		v.Damages = append(v.Damages, verifiedRecord{Problem: err.Error(), Lost: true, text: err.Error()})
		return v, true, nil
	}
	for _, d := range found.Damages {
		v.Damages = append(v.Damages, verifiedRecord{d.Line, d.Record, d.Until, d.Err.Error(), d.Lost, d.Step, d.String()})
	}
	return v, p.session == "" || p.session == v.Session, nil
}

func writeVerifiedFile(w io.Writer, v verifiedFile) {
	state := "as it was written"
	if len(v.Damages) > 0 {
		state = "damaged"
	}
	fmt.Fprintf(w, "session file %s: %s: %s\n", printableLine(v.Path), screen.Plural(v.Records, "record"), state)
	for _, d := range v.Damages {
		fmt.Fprintln(w, "  damaged:", printableLine(d.text))
	}
	if v.Torn > 0 {
		fmt.Fprintf(w, "  note: the last record was not written to its end (%s): a process was interrupted\n", screen.Plural(v.Torn, "byte"))
	}
}
