package archive

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A firstDir writes steps in the former format: three files for each. Its Put is
// that of the former version, without its error handling.
type firstDir struct{ *Dir }

func openFirst(t *testing.T, root string) firstDir {
	t.Helper()
	d, err := OpenDir(root, DirOptions{})
	must(t, err)
	return firstDir{d}
}

// Unwrap gives verify and prune the folder.
func (d firstDir) Unwrap() Store { return d.Dir }

func (d firstDir) Put(_ context.Context, s Step) error {
	s, err := s.checkedStep()
	if err != nil {
		return err
	}
	folder := d.folderPath(s.Session)
	session := filepath.Join(folder, sessionFile)
	if _, err := os.Stat(session); errors.Is(err, os.ErrNotExist) {
		if err := errors.Join(os.MkdirAll(folder, private), os.WriteFile(session, []byte(firstSessionText(s.Session)), 0o600)); err != nil {
			return err
		}
	}
	return writeParts(s, nil, func(name string, fill func(io.Writer) error) error {
		return d.disk.writeFile(filepath.Join(folder, name), fill)
	})
}
