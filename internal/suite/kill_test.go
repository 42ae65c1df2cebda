package suite

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

var kills = flag.Int("kills", 10, "how often TestKilled kills a session")

// TestKilled kills processes in the middle of a session with the folder store; each continues
// the session of the one before. Every message for which AddMessage returned is in the
// session file or in the archive, and both can be read.
func TestKilled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	dir, added, all := "", 0, 0
	for n := range *kills {
		if n%20 == 0 { // what is checked grows with every message
			dir, added, all = t.TempDir(), 0, all+added
		}
		added = max(added, killOne(t, dir, time.Duration(r.IntN(120))*time.Millisecond))
		checkKilled(t, dir, added, fmt.Sprintf("kill %d", n+1))
	}
	if all += added; all == 0 {
		t.Error("no message was ever added")
	}
	t.Logf("%d kills, %d messages", *kills, all)
}

// killOne starts a session in its own process, kills it a while after its first message, and
// returns how many messages it reported as added.
func killOne(t *testing.T, dir string, after time.Duration) (added int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledChild$")
	cmd.Env = append(os.Environ(), "TIERCOMPACT_KILLED="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		n, err := strconv.Atoi(strings.TrimPrefix(s.Text(), "added "))
		if err != nil {
			continue
		}
		if added == 0 {
			time.AfterFunc(after, func() { cmd.Process.Kill() })
		}
		added = n
	}
	cmd.Wait() // it was killed
	return added
}

// TestKilledChild is what TestKilled kills.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv("TIERCOMPACT_KILLED")
	if dir == "" {
		t.Skip("only as a process of TestKilled")
	}
	s, n := openKilled(t, dir)
	r := rand.New(rand.NewPCG(uint64(n), 3))
	for {
		n++
		m := killedMessage(n)
		if _, err := s.AddMessage(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("added %d\n", n)
		if err := byHand(s, r); err != nil {
			t.Fatal(err)
		}
	}
}

// byHand now and then performs a user's manual operation on a session.
func byHand(s onDisk, r *rand.Rand) error {
	var err error
	switch r.IntN(40) {
	case 0:
		_, err = s.Compact(context.Background(), "by hand")
	case 1:
		_, err = s.Undo(context.Background())
	}
	if errors.Is(err, tiercompact.ErrNothingToUndo) {
		return nil
	}
	return err
}

func killedMessage(n int) chat.Message {
	m := chat.NewText([]chat.Role{chat.Assistant, chat.User}[n%2], fmt.Sprintf("message %d: ", n)+prose(60, n))
	m.ID = fmt.Sprint("n", n)
	return m
}

// onDisk is a session with its file and its archive.
type onDisk struct {
	*tiercompact.Session
	file  *archive.SessionFile
	store *archive.Dir
}

func (o onDisk) Close() error { return errors.Join(o.file.Close(), o.store.Close()) }

func openKilled(t *testing.T, dir string) (onDisk, int) {
	t.Helper()
	return openOnDisk(t, dir, tiercompact.Config{Window: 2000})
}

// openOnDisk continues the session of dir, which has a number of messages, or starts it.
func openOnDisk(t *testing.T, dir string, cfg tiercompact.Config) (onDisk, int) {
	t.Helper()
	store, err := archive.OpenDir(filepath.Join(dir, "archive"), archive.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Archive, cfg.Count = store, quarter
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "session.jsonl")
	if _, err := os.Stat(path); err != nil {
		f, err := archive.CreateSession(path, archive.Meta{Session: "x", Created: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session("x")
		if err := s.Record(f); err != nil {
			t.Fatal(err)
		}
		return onDisk{s, f, store}, 0
	}
	f, state, err := archive.OpenSession(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Resume(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Record(f); err != nil {
		t.Fatal(err)
	}
	return onDisk{s, f, store}, state.Added
}

// checkKilled holds that messages 1 to added are all in the session file or in
// the archive, and that nothing in that is damaged.
func checkKilled(t *testing.T, dir string, added int, at string) {
	t.Helper()
	path := filepath.Join(dir, "session.jsonl")
	if _, err := os.Stat(path); err != nil && added == 0 {
		return // it was killed before there was a session
	}
	state, err := archive.ReadSession(path)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	store, err := archive.OpenDir(filepath.Join(dir, "archive"), archive.DirOptions{})
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	defer store.Close()
	found, err := archive.Verify(t.Context(), store, "x")
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	for _, d := range found.Damages {
		t.Errorf("%s: %v", at, d)
	}
	have := make(map[string]bool)
	for _, m := range state.Messages {
		have[m.Text()] = true
	}
	steps, err := store.Steps(t.Context(), "x")
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	for _, info := range steps {
		step, err := store.Get(t.Context(), "x", info.Number)
		if err != nil {
			t.Fatalf("%s: step %d: %v", at, info.Number, err)
		}
		for _, m := range step.Before {
			have[m.Text()] = true
		}
	}
	for n := 1; n <= added; n++ {
		if !have[killedMessage(n).Text()] {
			t.Errorf("%s: message %d of %d is lost (%d steps)", at, n, added, len(steps))
		}
	}
}

// TestASecondProcessOnASessionIsRefused checks that the error names the first process, which
// continues.
func TestASecondProcessOnASessionIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, _ := openKilled(t, dir)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestSecondProcess$")
	cmd.Env = append(os.Environ(), "TIERCOMPACT_SECOND="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := s.AddMessage(t.Context(), killedMessage(1)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	checkKilled(t, dir, 1, "after the second process")
}

// TestSecondProcess is the process that TestASecondProcessOnASessionIsRefused starts.
func TestSecondProcess(t *testing.T) {
	dir := os.Getenv("TIERCOMPACT_SECOND")
	if dir == "" {
		t.Skip("only as a process of TestASecondProcessOnASessionIsRefused")
	}
	folder, file := filepath.Join(dir, "archive"), filepath.Join(dir, "session.jsonl")
	_, archiveErr := archive.OpenDir(folder, archive.DirOptions{})
	_, _, fileErr := archive.OpenSession(file)
	for path, err := range map[string]error{folder: archiveErr, file: fileErr} {
		if !errors.Is(err, archive.ErrLocked) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s is opened twice: %v", path, err)
		}
	}
}
