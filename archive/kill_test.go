package archive

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
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

var kills = flag.Int("kills", 15, "how often TestKilledSessionLosesNothing kills")

const killedFolder = "TIERCOMPACT_TEST_KILLED_FOLDER"

// TestKilledSessionLosesNothing kills a working process again and again. Everything
// that the process reported as written is in the session file or the archive afterwards.
func TestKilledSessionLosesNothing(t *testing.T) {
	folder := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var said []string // ids of messages that Append returned for
	for n := range *kills {
		lines := runAndKill(t, folder, r)
		for _, line := range lines {
			if id, is := strings.CutPrefix(line, "added "); is {
				said = append(said, id)
			} else if !strings.HasPrefix(line, "put ") {
				t.Fatalf("kill %d: the process says %q", n+1, line)
			}
		}
		checkKilled(t, folder, said, len(said)+n+1)
	}
	if len(said) < *kills {
		t.Errorf("%d messages in %d runs", len(said), *kills)
	}
}

// runAndKill runs a session and kills it after a random number of lines and a short
// time. It returns the output of the session.
func runAndKill(t *testing.T, folder string, r *rand.Rand) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSessionToKill$")
	cmd.Env = append(os.Environ(), killedFolder+"="+folder)
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	stop, more := r.IntN(30), time.Duration(r.IntN(3000))*time.Microsecond
	var lines []string
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		if lines = append(lines, scanner.Text()); len(lines) == stop+1 {
			time.Sleep(more)
			must(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || len(lines) <= stop {
		t.Fatalf("the process ended by itself: %v, %q", err, lines)
	}
	return lines
}

func checkKilled(t *testing.T, folder string, said []string, most int) {
	t.Helper()
	s, err := ReadSession(filepath.Join(folder, "session.jsonl"))
	must(t, err)
	if s.Added < len(said) || s.Added > most {
		t.Errorf("%d messages were added, between %d and %d expected", s.Added, len(said), most)
	}
	there := make(map[string]bool)
	mark := func(messages []chat.Message) {
		for _, m := range messages {
			there[m.ID] = true
		}
	}
	mark(s.Messages)
	d, err := OpenDir(filepath.Join(folder, "archive"), DirOptions{})
	must(t, err)
	defer d.Close()
	infos, err := d.Steps(context.Background(), "s")
	must(t, err)
	if f, err := Verify(context.Background(), d, "s"); err != nil || !f.Clean() {
		t.Errorf("Verify = %+v, %v", f, err)
	}
	for _, info := range infos {
		step, err := d.Get(context.Background(), "s", info.Number)
		must(t, err)
		mark(step.Before)
	}
	for _, id := range said {
		if !there[id] {
			t.Errorf("message %s is lost", id)
		}
	}
	if s.Number > len(infos) || s.Number < len(infos)-1-(most-len(said)) {
		t.Errorf("the session knows of round %d, the archive of %d", s.Number, len(infos))
	}
}

// TestSessionToKill is the process that TestKilledSessionLosesNothing kills.
func TestSessionToKill(t *testing.T) {
	folder := os.Getenv(killedFolder)
	if folder == "" {
		t.Skip("it runs in a process of TestKilledSessionLosesNothing")
	}
	d, err := OpenDir(filepath.Join(folder, "archive"), DirOptions{})
	must(t, err)
	path := filepath.Join(folder, "session.jsonl")
	f, s, err := OpenSession(path)
	if errors.Is(err, os.ErrNotExist) {
		f, err = CreateSession(path, Meta{Session: "s"})
	}
	must(t, err)
	now := s.Messages
	for n := s.Added + 1; ; n++ {
		m := text(fmt.Sprint(n))
		must(t, f.Append(m))
		fmt.Println("added", m.ID)
		now = append(now, m)
		if n%7 == 0 && len(now) > 4 {
			now = compactToKill(t, d, f, now)
		}
	}
}

// compactToKill archives, records and makes a round, and undoes some rounds.
func compactToKill(t *testing.T, d *Dir, f *SessionFile, now chat.Transcript) chat.Transcript {
	infos, err := d.Steps(t.Context(), "s")
	must(t, err)
	next := Next(infos)
	marker := text(fmt.Sprint("marker ", next))
	round := replace(next, 0, len(now)-3, marker)
	round.Edits.Seen, round.Edits.Sum = len(now), edit.Sum(now)
	must(t, d.Put(t.Context(), Step{
		Session: "s", Number: next, Before: now, Edits: round.Edits, Time: noon,
		Removed: []Entry{{ID: fmt.Sprint(next), Messages: now[:len(now)-3]}},
	}))
	fmt.Println("put", next)
	must(t, d.Event(t.Context(), "s", []byte(`{"v":1}`)), f.Round(round))
	if next%3 == 0 {
		must(t, f.Undo(noon))
		return now
	}
	after, _, err := applyRound(now, round.Edits.Steps)
	must(t, err)
	return after
}
