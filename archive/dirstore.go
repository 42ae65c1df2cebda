package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func transcriptPath(folder string, n int) string {
	return filepath.Join(folder, fmt.Sprintf("transcript-pre-compact-%03d.jsonl", n))
}

func summaryPath(folder string, n int) string {
	return filepath.Join(folder, fmt.Sprintf("summary-%03d.json", n))
}

func stepPath(folder string, n int) string {
	return filepath.Join(folder, fmt.Sprintf("step-%03d.jsonl", n))
}

// stepNumber returns the number in the name of a step file.
func stepNumber(name string) (int, bool) {
	digits, isStep := strings.CutPrefix(name, "step-")
	digits, isJSONL := strings.CutSuffix(digits, ".jsonl")
	n, err := strconv.Atoi(digits)
	return n, isStep && isJSONL && err == nil && n > 0
}

// Put implements [Store]. On an error nothing stands under a final name that
// Steps would list.
func (d *Dir) Put(ctx context.Context, s Step) error {
	s, err := s.checked()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(ctx); err != nil {
		return err
	}
	if err := d.put(s); err != nil {
		return fmt.Errorf("archive step %d of session %s: %w", s.Number, s.Session, err)
	}
	return nil
}

// writable is called under mu.
func (d *Dir) writable(ctx context.Context) error {
	if d.lock == nil {
		return fmt.Errorf("archive folder %s: %w", d.root, ErrReadOnly)
	}
	return d.usable(ctx)
}

func (d *Dir) put(s Step) error {
	folder, err := d.prepareFolder(s.Session)
	if err != nil {
		return withRemedy(err)
	}
	switch _, err := os.Lstat(stepPath(folder, s.Number)); {
	case err == nil:
		return fmt.Errorf("%w: %s", ErrExists, stepPath(folder, s.Number))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := removeDrafts(folder); err != nil {
		return err
	}
	content, step, err := d.prepareStep(folder, s)
	if err == nil {
		err = publish(content...)
	}
	if err == nil { // the step is there with its step file, so that one is last
		err = publish(step)
	}
	if err != nil {
		discard(append(content, step)...)
		return withRemedy(err)
	}
	return nil
}

func withRemedy(err error) error {
	if errors.Is(err, ErrVersion) {
		return err
	}
	return fmt.Errorf("%w; free space, make the folder writable or choose another archive", err)
}

// Steps implements [Store].
func (d *Dir) Steps(ctx context.Context, session string) ([]StepInfo, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := d.usable(ctx); err != nil {
		return nil, err
	}
	infos, err := d.steps(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("list steps of session %s: %w", session, err)
	}
	return infos, nil
}

func (d *Dir) steps(ctx context.Context, session string) ([]StepInfo, error) {
	folder := d.folder(session)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || session == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		if n, ok := stepNumber(e.Name()); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var infos []StepInfo
	for _, n := range numbers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := readHeader(stepPath(folder, n))
		switch {
		case errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion):
			infos = append(infos, StepInfo{Session: session, Number: n, Damaged: err})
		case err != nil:
			return nil, err
		case h.Session == session:
			infos = append(infos, h.StepInfo)
		}
	}
	return infos, nil
}

// Get implements [Store]. ErrDamaged where a file is not as it was written.
func (d *Dir) Get(ctx context.Context, session string, number int) (Step, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := d.usable(ctx); err != nil {
		return Step{}, err
	}
	s, err := readStep(d.folder(session), number)
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.Session != session {
		err = ErrNotFound
	}
	if err != nil {
		return Step{}, fmt.Errorf("step %d of session %s: %w", number, session, err)
	}
	return s, nil
}

// Recall implements [Store].
func (d *Dir) Recall(ctx context.Context, session, id string) (Entry, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := d.usable(ctx); err != nil {
		return Entry{}, err
	}
	infos, err := d.steps(ctx, session)
	if err != nil {
		return Entry{}, fmt.Errorf("recall id %s of session %s: %w", id, session, err)
	}
	missing := ErrNotFound
	for _, info := range slices.Backward(infos) {
		if info.Damaged != nil {
			missing = fmt.Errorf("%w; %w", missing, info.Damaged)
		}
		if at := slices.Index(info.Entries, id); at >= 0 {
			return readEntry(stepPath(d.folder(session), info.Number), at)
		}
	}
	return Entry{}, fmt.Errorf("recall id %s of session %s: %w", id, session, missing)
}

// Event implements [Store].
func (d *Dir) Event(ctx context.Context, session string, line []byte) error {
	line, err := checkEvent(session, line)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(ctx); err != nil {
		return err
	}
	folder, err := d.prepareFolder(session)
	if err == nil {
		err = d.disk.appendLine(filepath.Join(folder, "events.jsonl"), line)
	}
	if err != nil {
		return fmt.Errorf("archive event of session %s: %w", session, withRemedy(err))
	}
	return nil
}
