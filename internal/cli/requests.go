package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/wire"
)

// requests is a folder of requests, numbered in the order of sending.
type requests struct {
	folder string
	last   int
}

// newRequests creates the folder if it is missing. It must be empty, so that it
// holds the requests of one replay only.
func newRequests(folder string) (*requests, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("write requests: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("write requests: %w", err)
	}
	if len(entries) > 0 {
		return nil, usageErrorf("--requests %s: the folder is not empty; give a new one", folder)
	}
	return &requests{folder: folder}, nil
}

// writeRequest writes the messages of one request, as an OpenAI list.
func (r *requests) writeRequest(t chat.Transcript) error {
	r.last++
	f, err := os.OpenFile(filepath.Join(r.folder, fmt.Sprintf("%06d.json", r.last)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write request %d: %w", r.last, err)
	}
	err = wire.Encode(f, wire.Conversation{Format: "openai", Messages: t}, "openai")
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("write request %d: %w", r.last, err)
	}
	return nil
}
