//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestInterruptEndsRecallOfAPipeAndLeavesNoFile(t *testing.T) {
	for name, writes := range map[string]bool{"nobody opens it": false, "nothing comes": true} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			pipe := filepath.Join(folder, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Skip("no pipes here: ", err)
			}
			if writes {
				f, err := os.OpenFile(pipe, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			}
			ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer stop()
			cmd := newRootCommand()
			cmd.SetArgs([]string{"bench", "recall", pipe, "--detail", filepath.Join(folder, "kept.jsonl")})
			done := make(chan error, 1)
			go func() { done <- cmd.ExecuteContext(ctx) }()
			select {
			case err := <-done:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(5 * time.Minute):
				t.Fatal("it goes on after an interrupt")
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
				t.Errorf("beside the pipe there is %v, %v", left, err)
			}
		})
	}
}
