//go:build unix

package config_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAPipeThatNobodyReadsIsNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, io.Discard, "trace: {jsonl: "+pipe+"}"); err == nil || !strings.Contains(err.Error(), "the pipe "+pipe+" has no reader") {
		t.Errorf("Open: %v", err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	o, err := open(t, io.Discard, "trace: {jsonl: "+pipe+"}")
	if err != nil {
		t.Fatal(err)
	}
	compacted(t, o, "somebody")
	if line, err := bufio.NewReader(reader).ReadBytes('\n'); err != nil || !json.Valid(line) {
		t.Errorf("read %q, %v", line, err)
	}
	if err := o.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEventsThatCannotBeWrittenAreTold(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	o, err := open(t, io.Discard, "trace: {jsonl: /dev/full}")
	if err != nil {
		t.Fatal(err)
	}
	compacted(t, o, "somebody")
	if err := o.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "/dev/full: ") || !strings.Contains(err.Error(), " events are lost: ") {
		t.Errorf("Close: %v", err)
	}
}

// An event that a full disk or a kill has cut off does not damage the next one.
func TestATraceGoesOnBehindATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte("{}\n{\"v\":1,\"na"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := open(t, io.Discard, "trace: {jsonl: "+path+"}")
	if err != nil {
		t.Fatal(err)
	}
	compacted(t, o, "somebody")
	if err := o.Close(t.Context()); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) < 10 || lines[1] != `{"v":1,"na` {
		t.Fatalf("%d lines, the second is %q", len(lines), lines[1])
	}
	for i, line := range lines[2:] {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d: %s", i+3, line)
		}
	}
}
