package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
)

// A Bucket keeps whole objects by key. Keys are paths with slashes.
type Bucket interface {
	// Open returns an object. ErrNotFound if there is none.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Put keeps an object, whole or not at all. With fresh, ErrExists if the key is
	// taken: of several concurrent ones, one succeeds. A Put that is repeated
	// because its answer was lost counts as one.
	Put(ctx context.Context, key string, body []byte, fresh bool) error
	// List returns the content of a folder, which is "" or ends with a slash: the
	// names of objects, and those of folders with a slash at the end.
	List(ctx context.Context, folder string) ([]string, error)
	// Remove removes an object. A missing one is not an error.
	Remove(ctx context.Context, key string) error
	// Where returns the kind of bucket for traces, and the address of a key.
	Where(key string) (adapter, address string)
}

// Objects is a store in a [Bucket], with the files of a [Dir] as objects. A number
// belongs to the process that first put an object of it, so several may write, each
// its own steps; a number with only a part of a step is skipped. Events are kept in
// memory and written with each step and by Close: a killed process loses the later
// ones. They are in events.jsonl or, if that is full or another process's, in
// events-002.jsonl and so on.
type Objects struct {
	bucket Bucket
	lib    storeReader

	mu           sync.Mutex // guards the fields below; not held while waiting
	closed       bool
	ready        map[string]bool // folders that have their session.json; "": the archive its archive.json
	eventWriters map[string]*eventWriter
}

// OpenObjects opens the archive in a bucket; the first step creates it. ErrVersion
// if a newer tiercompact made it.
func OpenObjects(ctx context.Context, b Bucket) (*Objects, error) {
	o := &Objects{
		bucket: b, lib: storeReader{fileSource: bucketSource{b}, headers: new(sync.Map), shared: true},
		ready: make(map[string]bool), eventWriters: make(map[string]*eventWriter),
	}
	if err := o.lib.checkFormat(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_, address := b.Where("")
		return nil, fmt.Errorf("open archive %s: %w", address, err)
	}
	return o, nil
}

// bucketSource is the fileSource of Objects.
type bucketSource struct{ bucket Bucket }

func objectKey(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

func (o bucketSource) filePath(folder, name string) string {
	_, address := o.bucket.Where(objectKey(folder, name))
	return address
}

func (o bucketSource) openFile(ctx context.Context, folder, name string) (io.ReadCloser, error) {
	r, err := o.bucket.Open(ctx, objectKey(folder, name))
	if errors.Is(err, ErrNotFound) {
		err = fs.ErrNotExist
	}
	return r, err
}

func (o bucketSource) fileNames(ctx context.Context, folder string) ([]string, error) {
	return o.bucket.List(ctx, folder+"/")
}

func (o bucketSource) folderNames(ctx context.Context) ([]string, error) {
	names, err := o.bucket.List(ctx, "")
	var folders []string
	for _, name := range names {
		if folder, is := strings.CutSuffix(name, "/"); is {
			folders = append(folders, folder)
		}
	}
	return folders, err
}

// checkUsable returns why the store cannot be used.
func (o *Objects) checkUsable(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		_, address := o.bucket.Where("")
		return fmt.Errorf("archive %s: %w", address, ErrClosed)
	}
	return ctx.Err()
}

// Put implements [Store]. After an error, the step does not exist, unless the
// bucket accepted it and could not report it; its number is not used again.
func (o *Objects) Put(ctx context.Context, s Step) error {
	s, err := s.checkedStep()
	if err != nil {
		return err
	}
	if err := o.checkUsable(ctx); err != nil {
		return err
	}
	err = o.writeInTurn(ctx, s.Session, func(d *eventWriter) error {
		if err := o.writeStep(ctx, d, s); err != nil {
			return err
		}
		o.record(ctx, s.Session, d)
		_ = o.flushEvents(ctx, s.Session, d) // the rest waits for the next time
		return nil
	})
	if err != nil {
		return fmt.Errorf("archive step %d of session %s: %w", s.Number, s.Session, err)
	}
	return nil
}

func (o *Objects) writeStep(ctx context.Context, d *eventWriter, s Step) error {
	folder, err := o.prepareFolder(ctx, s.Session)
	if err != nil {
		return err
	}
	if !d.listed {
		known, err := o.lib.knownOf(ctx, s.Session)
		if err != nil {
			return err
		}
		d.known, d.listed = d.known.with(known), true
	}
	switch _, err := o.lib.readHeader(ctx, s.Session, s.Number); {
	case err == nil || unreadable(err): // before everything else is sent
		return fmt.Errorf("%w: %s", ErrExists, o.lib.filePath(folder, stepName(s.Number)))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if d.known.has(s.Number) {
		return fmt.Errorf("%w: the step was put once, and is gone", ErrExists)
	}
	err = writeParts(s, d.known, func(name string, fill func(io.Writer) error) error {
		var b bytes.Buffer
		if err := fill(&b); err != nil {
			return err
		}
		return o.bucket.Put(ctx, objectKey(folder, name), b.Bytes(), true)
	})
	if err == nil {
		d.known = d.known.with(runs{{s.Number, s.Number}})
	}
	return err
}

// record writes the numbers of all steps into session.json, which reveals the loss
// of the newest. Concurrent processes may overwrite each other's numbers; the
// headers of later steps have them too. So numbers that cannot be written now are
// written with the next step.
func (o *Objects) record(ctx context.Context, session string, d *eventWriter) {
	text := sessionText(formatFile{Session: session, Steps: d.known})
	_ = o.bucket.Put(ctx, objectKey(folderName(session), sessionFile), []byte(text), false)
}

// prepareFolder returns the folder of a session, after it recorded the session
// there.
func (o *Objects) prepareFolder(ctx context.Context, session string) (string, error) {
	folder := folderName(session)
	if err := o.prepareOnce("", func() error { return o.createArchive(ctx) }); err != nil {
		return "", err
	}
	return folder, o.prepareOnce(folder, func() error {
		_, err := o.lib.folderOwner(ctx, folder)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return o.claimKey(ctx, objectKey(folder, sessionFile), firstSessionText(session))
	})
}

// createArchive creates archive.json. The second creation must fail: that proves
// that the bucket supports conditional writes, on which the numbers of steps
// depend.
func (o *Objects) createArchive(ctx context.Context) error {
	for range 2 {
		err := o.bucket.Put(ctx, rootFile, []byte(rootText), true)
		if errors.Is(err, ErrExists) {
			err = o.lib.checkFormat(ctx)
			if errors.Is(err, fs.ErrNotExist) { // another process is putting it at this moment
				err = nil
			}
			return err
		}
		if err != nil {
			return err
		}
	}
	return errors.New("this server overwrites existing objects in spite of If-None-Match: *; use one that supports conditional writes")
}

// claimKey puts an object if none exists.
func (o *Objects) claimKey(ctx context.Context, key, text string) error {
	err := o.bucket.Put(ctx, key, []byte(text), true)
	if errors.Is(err, ErrExists) {
		return nil // another process was faster
	}
	return err
}

// prepareOnce prepares a folder, unless that was done.
func (o *Objects) prepareOnce(folder string, do func() error) error {
	o.mu.Lock()
	ready := o.ready[folder]
	o.mu.Unlock()
	if ready {
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ready[folder] = true
	return nil
}

// Steps implements [Store].
func (o *Objects) Steps(ctx context.Context, session string) ([]StepInfo, error) {
	if err := o.checkUsable(ctx); err != nil {
		return nil, err
	}
	return o.lib.stepInfos(ctx, session)
}

// Get implements [Store]. The error wraps a [Damage] if an object is damaged.
func (o *Objects) Get(ctx context.Context, session string, number int) (Step, error) {
	if err := o.checkUsable(ctx); err != nil {
		return Step{}, err
	}
	return o.lib.openStep(ctx, session, number)
}

// Recall implements [Store]. The error wraps a [Damage] if the entry is damaged.
func (o *Objects) Recall(ctx context.Context, session, id string) (Entry, error) {
	if err := o.checkUsable(ctx); err != nil {
		return Entry{}, err
	}
	return o.lib.recallEntry(ctx, session, id)
}

// Sessions returns the ids of the sessions in the archive, sorted.
func (o *Objects) Sessions(ctx context.Context) ([]string, error) {
	if err := o.checkUsable(ctx); err != nil {
		return nil, err
	}
	return o.lib.sessionIDs(ctx)
}

// Verify is called by [Verify].
func (o *Objects) Verify(ctx context.Context, session string) (Findings, error) {
	if err := o.checkUsable(ctx); err != nil {
		return Findings{Session: session}, err
	}
	return o.lib.verifyFolder(ctx, session)
}

// Remove removes a step, its main object first, or the remains of one. A missing
// one is not an error.
func (o *Objects) Remove(ctx context.Context, session string, number int) error {
	return o.removeSteps(ctx, session, []int{number}, nil)
}

// removeSteps removes steps. They are removed once pruned.json names them.
func (o *Objects) removeSteps(ctx context.Context, session string, numbers []int, released []string) error {
	if err := o.checkUsable(ctx); err != nil {
		return err
	}
	folder := folderName(session)
	text, err := o.lib.prunedWith(ctx, session, numbers, released)
	if err == nil {
		err = o.bucket.Put(ctx, objectKey(folder, prunedFile), text, false)
	}
	if err != nil {
		return fmt.Errorf("remove %s of session %s: %w", stepsOf(numbers), session, err)
	}
	for _, n := range numbers {
		for _, name := range stepFiles(n) {
			if err := o.bucket.Remove(ctx, objectKey(folder, name)); err != nil {
				return fmt.Errorf("remove step %d of session %s: %w", n, session, err)
			}
		}
	}
	return nil
}

func (o *Objects) leftovers(ctx context.Context, session string) ([]int, error) {
	return o.lib.leftovers(ctx, session)
}

// Where returns the address of the transcript before a step.
func (o *Objects) Where(session string, number int) (adapter, location string) {
	return o.bucket.Where(objectKey(folderName(session), transcriptName(number)))
}

func (o *Objects) pruned(ctx context.Context, session string) (prunedList, error) {
	return o.lib.prunedOf(ctx, session)
}
