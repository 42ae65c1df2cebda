package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/tiercompact/tiercompact/tokens"
)

const (
	calibrationsVersion = 1
	maxCalibrations     = 256     // of the file; the least recently put one is removed first
	maxCalibrationsSize = 1 << 20 // bytes; a larger file is not one of these
	calibrationsWait    = 2 * time.Second
)

// Calibrations stores in a file what sessions learnt about token counts, by model and
// server. Processes may share the file. Its methods are safe for concurrent use.
type Calibrations struct{ path string }

// A calibrated entry is one entry of the file. The anchor of a calibration belongs to one
// conversation, and is not stored.
type calibrated struct {
	Server string  `json:"server"`
	Model  string  `json:"model"`
	Ratio  float64 `json:"ratio"`
	Weight int     `json:"weight"`
}

type calibrationsFile struct {
	Version int          `json:"version"`
	Entries []calibrated `json:"entries"` // the most recently put one is last
}

// OpenCalibrations returns the calibrations in the file at path, which need not exist.
func OpenCalibrations(path string) *Calibrations { return &Calibrations{path} }

// Get returns the calibration of a model on a server: the zero value if it is unknown, or
// if the file is damaged or unreadable.
func (c *Calibrations) Get(server, model string) tokens.Calibration {
	for _, e := range c.readEntries() {
		if e.Server == server && e.Model == model {
			return tokens.Calibration{Ratio: e.Ratio, Weight: e.Weight}
		}
	}
	return tokens.Calibration{}
}

// Put stores the calibration of a model on a server, and replaces the previous one. The
// file is replaced as a whole; a damaged file is started again. An empty calibration is
// not written.
func (c *Calibrations) Put(server, model string, learnt tokens.Calibration) error {
	if learnt.Ratio <= 0 {
		return nil
	}
	if err := c.putEntry(calibrated{server, model, learnt.Ratio, learnt.Weight}); err != nil {
		return fmt.Errorf("keep calibration of %s in %s: %w", model, c.path, err)
	}
	return nil
}

func (c *Calibrations) putEntry(e calibrated) (err error) {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(c.path + ".lock")
	ctx, stop := context.WithTimeout(context.Background(), calibrationsWait)
	defer stop()
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another process: %w", err)
	}
	defer func() { err = cmp.Or(err, lock.Unlock()) }()
	entries := slices.DeleteFunc(c.readEntries(), func(old calibrated) bool { return old.Server == e.Server && old.Model == e.Model })
	entries = append(entries, e)
	entries = entries[max(0, len(entries)-maxCalibrations):]
	data, err := json.Marshal(calibrationsFile{calibrationsVersion, entries})
	if err != nil {
		return err
	}
	return replaceFile(c.path, append(data, '\n'))
}

// readEntries returns the valid entries of the file.
func (c *Calibrations) readEntries() []calibrated {
	f, err := os.Open(c.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCalibrationsSize+1))
	var file calibrationsFile
	if err != nil || len(data) > maxCalibrationsSize || json.Unmarshal(data, &file) != nil || file.Version != calibrationsVersion {
		return nil
	}
	return slices.DeleteFunc(file.Entries, func(e calibrated) bool { return !(e.Ratio > 0) || e.Weight < 0 })
}

// replaceFile writes a temporary file completely before it renames it.
func replaceFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
