package suite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDisk runs the tests of TestDiskChild in a process that has a small disk
// of its own, which it can fill, make read-only and take away.
func TestDisk(t *testing.T) {
	for _, fault := range []string{"full", "read-only", "vanished"} {
		t.Run(fault, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestDiskChild$", "-test.v")
			cmd.Env = append(os.Environ(), "TIERCOMPACT_DISK="+t.TempDir(), "TIERCOMPACT_FAULT="+fault)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
			if os.Getuid() != 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{
					Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
					UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
					GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
				}
			}
			out, err := cmd.CombinedOutput()
			switch text := string(out); {
			case errors.Is(err, syscall.EPERM), strings.Contains(text, "no disk of its own"):
				t.Skipf("this system gives no process a disk of its own: %v %s", err, text)
			case err != nil || !strings.Contains(text, "--- PASS: TestDiskChild"):
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// TestDiskChild adds messages to a session on a disk that fails in the middle and recovers
// later. No added message is lost.
func TestDiskChild(t *testing.T) {
	dir := os.Getenv("TIERCOMPACT_DISK")
	if dir == "" {
		t.Skip("only as a process of TestDisk")
	}
	err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") // invisible to other processes
	if err == nil {
		err = syscall.Mount("none", dir, "tmpfs", 0, "size=1m")
	}
	if err != nil {
		t.Skipf("no disk of its own: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	s, _ := openKilled(t, dir)
	if rounds, err := addKilled(t, s, 1, 40); err != nil || rounds == 0 {
		t.Fatalf("before the fault: %d rounds, %v", rounds, err)
	}
	mend := breakDisk(t, dir)
	rounds, err := addKilled(t, s, 41, 80)
	if rounds > 0 || err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("while the disk is broken: %d rounds, %v; want an error that names the place", rounds, err)
	}
	mend()
	_, _ = addKilled(t, s, 81, 130) // by then the archive is tried again
	if rounds, err := addKilled(t, s, 131, 170); err != nil || rounds == 0 {
		t.Fatalf("the disk is well again: %d rounds, %v", rounds, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkKilled(t, dir, 170, "after the fault")
}

// addKilled adds messages of a range of numbers, and returns the number of rounds and the last
// error. Even with an error, the message and all earlier ones are in the conversation.
func addKilled(t *testing.T, s onDisk, from, to int) (rounds int, failed error) {
	t.Helper()
	for n := from; n <= to; n++ {
		before := len(s.Messages())
		r, err := s.AddMessage(t.Context(), killedMessage(n))
		if r.Compacted() {
			rounds++
		}
		if err == nil {
			continue
		}
		failed = err
		if r.Compacted() || len(s.Messages()) != before+1 {
			t.Errorf("message %d: %d messages were %d, with %v", n, len(s.Messages()), before, err)
		}
	}
	return rounds, failed
}

// breakDisk makes the disk fail in the way that the environment names, and returns a function
// that repairs it.
func breakDisk(t *testing.T, dir string) (mend func()) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(dir, "archive")
	switch os.Getenv("TIERCOMPACT_FAULT") {
	case "full":
		ballast := filepath.Join(dir, "ballast")
		f, err := os.Create(ballast)
		must(err)
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if must(f.Close()); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		return func() { must(os.Remove(ballast)) }
	case "read-only":
		must(syscall.Mount(folder, folder, "", syscall.MS_BIND, ""))
		must(syscall.Mount("none", folder, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		return func() { must(syscall.Unmount(folder, 0)) }
	case "vanished":
		elsewhere := filepath.Join(dir, "elsewhere")
		must(os.Rename(folder, elsewhere))
		return func() { must(os.Rename(elsewhere, folder)) }
	}
	t.Fatal("no such fault")
	return nil
}
