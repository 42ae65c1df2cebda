package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockWait is how long a process waits for another one to release a folder or a
// session file.
var lockWait = 2500 * time.Millisecond

const lockAgain = 50 * time.Millisecond

// A pathLock is a lock that names its holder.
type pathLock struct {
	*flock.Flock
	path   string
	shared bool // others may hold it, too
}

// lockPath takes the lock in the file path, with a short wait.
func lockPath(ctx context.Context, path string) (*pathLock, error) {
	return waitForLock(ctx, path, false)
}

// sharePath takes the lock in the file path together with others that share it.
func sharePath(ctx context.Context, path string) (*pathLock, error) {
	return waitForLock(ctx, path, true)
}

// waitForLock takes a lock that is free at once, and waits for another one for at most
// lockWait.
func waitForLock(ctx context.Context, path string, shared bool) (*pathLock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, planted(path, info.Mode())
	}
	lock := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR|noFollow))
	try, wait := lock.TryLock, lock.TryLockContext
	if shared {
		try, wait = lock.TryRLock, lock.TryRLockContext
	}
	held, err := try()
	if err == nil && !held {
		short, stop := context.WithTimeout(ctx, lockWait)
		defer stop()
		held, err = wait(short, lockAgain)
	}
	switch {
	case held:
		l := &pathLock{lock, path, shared}
		l.say(holder())
		return l, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("lock %s: %w; make the folder writable or choose another", path, err)
	}
	return nil, fmt.Errorf("%w, %swhich holds %s; end that chat or proxy, choose another path, or open it for reading only", ErrLocked, whoHolds(path), path)
}

// Unlock releases the lock.
func (l *pathLock) Unlock() error {
	if !l.shared {
		l.say("")
	}
	return l.Flock.Unlock()
}

// The place of the holder's name in the file of a lock: after a session's [mark],
// and not in the first byte, which others cannot read on Windows.
const (
	holderAt     = markAt + markLength
	holderLength = 128
)

// say writes the holder of the lock. It is only for people, so an error does not
// matter.
func (l *pathLock) say(who string) {
	f, err := openPlain(l.path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteAt(fmt.Appendf(nil, "%-*.*s\n", holderLength-1, holderLength-1, who), holderAt)
}

func holder() string {
	return fmt.Sprintf("%d %s", os.Getpid(), strings.ToValidUTF8(filepath.Base(os.Args[0]), "?"))
}

// whoHolds returns the holder of a lock, "" if it is unknown.
func whoHolds(path string) string {
	f, err := openPlain(path, os.O_RDONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, holderAt, holderLength))
	if err != nil {
		return ""
	}
	pid, name, ok := strings.Cut(strings.TrimSpace(string(b)), " ")
	if _, err := strconv.Atoi(pid); err != nil || !ok {
		return ""
	}
	return fmt.Sprintf("%s with process id %s, ", strconv.Quote(name), pid)
}

// sessionLock is the file whose lock protects the session file path, which has no
// links in it. It is a separate file because a file may be replaced, and its name
// stays.
func sessionLock(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

// realPath returns path without links, so that two names of one file have one lock.
// The last name need not exist.
func realPath(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		if resolved, err = filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			resolved = filepath.Join(resolved, filepath.Base(path))
		}
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(resolved)
}

// A sessionHold locks a session file against other processes: the lock beside it,
// and one of the file itself, which may have other names (hard links).
type sessionHold struct {
	beside *pathLock
	own    *os.File // open for reading; nil before the file exists
}

// holdFile opens the file and locks it, for as long as it is open.
func holdFile(path string) (*os.File, error) {
	own, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	held, err := lockFileItself(own)
	if err == nil && !held {
		err = fmt.Errorf("%w under another name of the same file (a hard link); end that chat or proxy, or open it for reading only", ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return own, nil
}

func (h *sessionHold) release() error {
	var err error
	if h.own != nil {
		err = h.own.Close()
	}
	return errors.Join(err, h.beside.Unlock())
}
