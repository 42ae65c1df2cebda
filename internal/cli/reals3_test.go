package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/s3test"
)

// A bucket does the same as a folder, for every command with an archive.
func TestRealArchiveInABucket(t *testing.T) {
	server := s3test.Start(t)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("OLLAMA_HOST", "127.0.0.1:1") // no server listens there
	t.Chdir(t.TempDir())
	long := strings.Repeat(`{"role":"user","content":"look at the parser, and at what calls it"}`+"\n"+`{"role":"assistant","content":"I looked at the parser and found nothing."}`+"\n", 40)
	if err := os.WriteFile("long.jsonl", []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := "s3://" + s3test.Bucket + "/kept"
	run := func(says string, args ...string) {
		t.Helper()
		out, notes, err := runLine(t, append(args, "--archive", archive)...)
		if err != nil || !strings.Contains(out+notes, says) {
			t.Errorf("%v: %v; it says %s%s, want %q", args, err, out, notes, says)
		}
	}
	run("", "compact", "long.jsonl", "-w", "1000", "--session", "talk", "--out", "small.jsonl")
	run("emergency", "archive", "list")
	run("80 messages", "archive", "show", "1")
	run("by words alone", "recall", "parser")
	run("nothing", "recall", "found nothing in the parser")
	run("1 step", "archive", "verify")
	run("round 1 (emergency) of session talk taken back", "undo", "small.jsonl", "--out", "back.jsonl")
	run("undo of 1", "archive", "list", "--session", "talk")
	run("the conversation refers to its entry", "archive", "prune", "--keep", "1")
	run("removed 1 step", "archive", "prune", "--keep", "1", "--force")
	run("as it was written", "archive", "verify")
	run("", "replay", "--session", "demo")
	run("demo", "archive", "list")
	back, err := os.ReadFile("back.jsonl")
	if err != nil || string(back) != long {
		t.Errorf("undo gives %d bytes of %d, %v", len(back), len(long), err)
	}
	objects, err := filepath.Glob(filepath.Join(server.Objects, s3test.Bucket, "kept", "talk", "*-002.jsonl"))
	if err != nil || len(objects) != 2 {
		t.Errorf("objects %v, %v", objects, err)
	}
}
