package archive

import (
	"context"
	"encoding/json"
	"fmt"
)

// formatFile is what archive.json and session.json hold.
type formatFile struct {
	head
	Format  string `json:"format"`
	Session string `json:"session,omitempty"`
}

const rootText = `{"v":1,"format":"tiercompact archive"}` + "\n"

// sessionText is the session.json of a session.
func sessionText(session string) string {
	text, err := json.Marshal(formatFile{head{Version}, "tiercompact session", session})
	if err != nil {
		panic(err) // texts and numbers alone always have a JSON form
	}
	return string(text) + "\n"
}

func (l library) format(ctx context.Context, folder, name string) (f formatFile, err error) {
	b, err := l.readAll(ctx, folder, name)
	if err != nil {
		return f, err
	}
	if err := decodeLine(b, &f); err != nil {
		return f, &Damage{File: l.path(folder, name), Err: err}
	}
	return f, nil
}

// checkFormat returns fs.ErrNotExist where the root has no format yet.
func (l library) checkFormat(ctx context.Context) error {
	_, err := l.format(ctx, "", rootFile)
	return err
}

// owner returns the session that a folder belongs to.
func (l library) owner(ctx context.Context, folder string) (string, error) {
	f, err := l.format(ctx, folder, sessionFile)
	return f.Session, err
}

func notOwner(folder, owner string) error {
	return fmt.Errorf("folder %s belongs to session %q; choose another session id", folder, owner)
}
