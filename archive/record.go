package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// prunedList is the content of pruned.json: steps that are removed, but not lost.
type prunedList struct {
	head
	Format  string `json:"format"`
	Session string `json:"session"`
	Steps   runs   `json:"steps"`
	// Released are recall ids of the conversation whose steps were removed by
	// force.
	Released []string `json:"released,omitempty"`
}

const prunedFormat = "tiercompact pruned steps"

// sealedBy begins the last field of a record that holds its own hash.
const sealedBy = `,"sha256":"`

// sealed returns the JSON of x, a struct, with its hash as the last field.
func sealed(x any) []byte {
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // texts and numbers always have a JSON form
	}
	return fmt.Appendf(nil, "%s%s%s\"}\n", text[:len(text)-1], sealedBy, hashParts(text))
}

// unsealed returns errChanged if line is not as sealed wrote it.
func unsealed(line []byte) error {
	at := bytes.LastIndex(line, []byte(sealedBy))
	if at < 0 || string(line[at:]) != sealedBy+hashParts(line[:at], []byte("}"))+"\"}\n" {
		return errChanged
	}
	return nil
}

// prunedOf returns which steps of a session were pruned.
func (l storeReader) prunedOf(ctx context.Context, session string) (p prunedList, err error) {
	folder := folderName(session)
	b, err := l.readWholeFile(ctx, folder, prunedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = decodePacked(b, &p)
	}
	if err == nil {
		err = unsealed(b)
	}
	if err == nil && p.Session != session {
		err = fmt.Errorf("%w: it holds session %q", ErrDamaged, p.Session)
	}
	if err == nil && (p.Format != prunedFormat || !p.Steps.valid(maxNumbers)) {
		err = errChanged
	}
	if unreadable(err) {
		return prunedList{}, &Damage{Session: session, File: l.filePath(folder, prunedFile), Err: err}
	}
	return p, err
}

// prunedWith returns the text of pruned.json with more numbers and ids.
func (l storeReader) prunedWith(ctx context.Context, session string, numbers []int, released []string) ([]byte, error) {
	p, err := l.prunedOf(ctx, session)
	if err != nil && !unreadable(err) {
		return nil, err
	}
	if unreadable(err) {
		return nil, fmt.Errorf("%w; remove the file; the steps that it named then count as lost", err)
	}
	ids := slices.Concat(p.Released, released)
	slices.Sort(ids)
	return sealed(prunedList{head{packVersion}, prunedFormat, session, p.Steps.with(setOf(numbers)), slices.Compact(ids)}), nil
}

// An inventory is the known steps of a session.
type inventory struct {
	headers []headerLine // by number; Damaged is set if one cannot be read, or is lost
	known   runs         // numbers that existed once
	pruned  prunedList
	foreign bool // the folder is of another session
}

// inventory returns the known steps of a session. A number that existed once, and
// was not pruned, is lost if no file has it.
func (v *packs) inventory(ctx context.Context) (in inventory, err error) {
	record, err := v.readFormat(ctx, v.folder, sessionFile)
	switch {
	case err == nil && record.Session != v.session:
		in.foreign = true // see prepareFolder
		return in, nil
	case err == nil:
		in.known = record.Steps
	case !unreadable(err) && !errors.Is(err, fs.ErrNotExist):
		return in, err
	}
	for _, p := range v.files {
		switch {
		case !p.foreign && len(p.damages) == 0:
		case err != nil: // the names of files are the only record of former steps
			in.known = in.known.with(runs{{p.first, p.last}})
		default: // the record may be older than the file, whose name has two of its steps
			in.known = in.known.with(runs{{p.first, p.first}}).with(runs{{p.last, p.last}})
		}
	}
	if slices.Contains(v.names, prunedFile) {
		if in.pruned, err = v.prunedOf(ctx, v.session); err != nil && !unreadable(err) {
			return in, err
		}
	}
	present := make(map[int]bool)
	for _, n := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(numbersOf(v.names), v.numbers())))) {
		if in.pruned.Steps.has(n) {
			continue
		}
		h, err := v.anyHeader(ctx, n)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			continue
		case err == nil && h.Session != v.session:
			err = &Damage{Session: v.session, Step: n, File: v.filePath(v.folder, stepName(n)), Line: 1, Err: fmt.Errorf("%w: it holds session %q", ErrDamaged, h.Session)}
			fallthrough
		case unreadable(err):
			h = headerLine{StepInfo: StepInfo{Session: v.session, Number: n, Damaged: err}}
		case err != nil:
			return in, err
		}
		present[n] = true
		in.headers = append(in.headers, h)
	}
	for i, h := range slices.Backward(in.headers) {
		if !h.Known.valid(maxNumbers) {
			continue
		}
		in.known = in.known.with(h.Known)
		if !v.shared && len(h.Known) > 0 && i > 0 {
			break // a single writer knows all former steps
		}
	}
	in.addLost(v, present)
	return in, nil
}

// anyHeader returns the header of step n, in any file.
func (v *packs) anyHeader(ctx context.Context, n int) (headerLine, error) {
	if err := ctx.Err(); err != nil {
		return headerLine{}, err
	}
	h, err := v.header(n)
	if err == nil || !slices.Contains(v.names, stepName(n)) {
		return h, err
	}
	return v.storeReader.stepHeader(ctx, v.session, n)
}

func (in *inventory) addLost(v *packs, present map[int]bool) {
	newest := in.known.last()
	for n := range present {
		newest = max(newest, n)
	}
	if !v.shared {
		// A single writer reuses an interrupted number: remains below the newest
		// were a step.
		var left []int
		for _, name := range v.names {
			if n, ok := contentNumber(name); ok && n < newest {
				left = append(left, n)
			}
		}
		in.known = in.known.with(setOf(left))
	}
	count := 0
	for n := range in.known.all() {
		if present[n] || in.pruned.Steps.has(n) {
			continue
		}
		if count++; count > maxUnknown {
			break
		}
		name, err := v.lostName(n), errMissing
		if slices.Contains(v.names, name) {
			err = errChanged
		}
		d := &Damage{Session: v.session, Step: n, File: v.filePath(v.folder, name), Err: err}
		in.headers = append(in.headers, headerLine{StepInfo: StepInfo{Session: v.session, Number: n, Damaged: d}, lost: true})
	}
	slices.SortFunc(in.headers, func(a, b headerLine) int { return a.Number - b.Number })
	in.known = in.known.with(setOf(slices.Collect(maps.Keys(present))))
}

// lostName returns the name of the file of the lost step n.
func (v *packs) lostName(n int) string {
	for _, name := range v.names {
		if m, ok := contentNumber(name); ok && m == n {
			return stepName(n)
		}
	}
	if v.shared {
		return stepName(n)
	}
	return v.fileOf(n)
}

// unaccounted returns the numbers between steps of the former version that no file
// names: that version recorded neither written nor pruned steps.
func (in inventory) unaccounted() []int {
	newest := 0
	for _, h := range in.headers {
		if !h.packed && h.Damaged == nil {
			newest = h.Number
		}
	}
	var numbers []int
	for n := 1; n < newest && len(numbers) < maxUnknown; n++ {
		if !in.known.has(n) && !in.pruned.Steps.has(n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// knownOf returns the numbers of all steps that were put, as far as steps have
// them.
func (l storeReader) knownOf(ctx context.Context, session string) (runs, error) {
	v, err := l.packs(ctx, session)
	if err != nil {
		return nil, err
	}
	defer v.close()
	in, err := v.inventory(ctx)
	return in.known.with(in.pruned.Steps), err
}

// old reports whether the newest step is one of the former version, which kept no
// record of pruned steps.
func (in inventory) old(newest int) bool {
	for _, h := range in.headers {
		if h.Number == newest {
			return !h.packed && len(h.Known) == 0
		}
	}
	return false
}
