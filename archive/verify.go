package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// Findings are the results of [Verify] for a session.
type Findings struct {
	Session                string
	Steps, Entries, Events int // number of steps checked
	// Unhashed counts the steps from before summaries, rounds and entries had
	// hashes: of these, only the transcript can be checked.
	Unhashed int
	Damages  []*Damage // by step; empty if there is no damage
	Notes    []Note    // harmless findings
}

// Clean reports whether nothing is damaged.
func (f Findings) Clean() bool { return len(f.Damages) == 0 }

// A Note is about a file that is not part of a step, such as the remains of an
// interrupted process.
type Note struct {
	File string
	Text string
}

// Verify reads all of a session in store, and compares it with the hashes made when
// it was written. It continues after the first damage. An error is why the check
// was impossible; a damage is not an error. The hashes protect against disks and
// mistakes, not against an attacker, who can make new ones.
func Verify(ctx context.Context, store Store, session string) (Findings, error) {
	if v, ok := unwrapAs[interface {
		Verify(ctx context.Context, session string) (Findings, error)
	}](store); ok {
		return v.Verify(ctx, session)
	}
	return verifySteps(ctx, store, session)
}

// verifySteps reads all steps, with the methods of every store.
func verifySteps(ctx context.Context, store Store, session string) (Findings, error) {
	f := Findings{Session: session}
	infos, err := store.Steps(ctx, session)
	if err != nil {
		return f, err
	}
	for _, info := range infos {
		f.Steps++
		f.Entries += len(info.Entries)
		_, err := store.Get(ctx, session, info.Number)
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		if err != nil {
			f.Damages = append(f.Damages, &Damage{Session: session, Step: info.Number, Err: err})
		}
	}
	if _, memory := unwrapAs[*Memory](store); memory && len(infos) > 0 && infos[len(infos)-1].Number > len(infos) {
		return f, nil // memory loses nothing: missing steps were pruned
	}
	return f, f.references(ctx, store, infos, nil)
}

// references finds the recall ids in the conversation, as the newest step left
// it, that no step has.
func (f *Findings) references(ctx context.Context, store Store, infos []StepInfo, released []string) error {
	if len(infos) == 0 || infos[len(infos)-1].Damaged != nil {
		return nil
	}
	last := infos[len(infos)-1]
	step, err := store.Get(ctx, last.Session, last.Number)
	if err == nil && step.Undoes > 0 {
		if step, err = store.Get(ctx, last.Session, step.Undoes); err == nil {
			step.Edits = edit.Round{}
		}
	}
	if unreadable(err) || errors.Is(err, ErrNotFound) {
		return nil // it has a damage of its own, or was pruned
	}
	if err != nil {
		return err
	}
	after, _, err := applyRound(step.Before, step.Edits.Steps)
	if err != nil {
		return nil // it was never applied
	}
	before := recallIDs(step.Before) // the step itself has entries for the messages that it inserted
	missing, err := unresolved(ctx, store, infos, after)
	for _, id := range missing {
		if !slices.Contains(before, id) {
			continue
		}
		if slices.Contains(released, id) {
			f.Notes = append(f.Notes, Note{Text: fmt.Sprintf("the conversation shows recall id %s, whose content was pruned by force", id)})
			continue
		}
		f.Damages = append(f.Damages, &Damage{Session: f.Session, Step: last.Number, Entry: id, Err: errUnresolved})
	}
	return err
}

// unresolved returns the recall ids in a conversation that no step has. Those
// before its first step belong to another archive.
func unresolved(ctx context.Context, store Store, infos []StepInfo, messages chat.Transcript) ([]string, error) {
	there := make(map[string]bool)
	for _, info := range infos {
		for _, id := range info.Entries {
			there[id] = true
		}
	}
	var missing []string
	for _, id := range recallIDs(messages) {
		if !there[id] && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 || infos[0].Number != 1 {
		return missing, nil
	}
	first, err := store.Get(ctx, infos[0].Session, 1)
	if err != nil && !unreadable(err) && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	brought := recallIDs(first.Before)
	return slices.DeleteFunc(missing, func(id string) bool { return slices.Contains(brought, id) }), nil
}

// VerifyState returns the references of a session file that its archive does not
// have: rounds that can be undone, and recall ids in the conversation.
func VerifyState(ctx context.Context, store Store, s State) ([]*Damage, error) {
	infos, err := store.Steps(ctx, s.Meta.Session)
	if err != nil {
		return nil, err
	}
	gone := func(int) bool { return false }
	if p, ok := unwrapAs[interface {
		pruned(ctx context.Context, session string) (prunedList, error)
	}](store); ok {
		list, err := p.pruned(ctx, s.Meta.Session)
		if err != nil && !unreadable(err) {
			return nil, err
		}
		gone = list.Steps.has
	}
	var damages []*Damage
	for _, r := range s.Rounds {
		there := slices.ContainsFunc(infos, func(i StepInfo) bool { return i.Number == r.Number })
		if !there && r.Number > 0 && !gone(r.Number) {
			damages = append(damages, &Damage{Session: s.Meta.Session, Step: r.Number, Err: errMissing})
		}
	}
	if len(infos) == 0 {
		infos = []StepInfo{{}}
	}
	missing, err := unresolved(ctx, store, infos, s.Messages)
	for _, id := range missing {
		damages = append(damages, &Damage{Session: s.Meta.Session, Entry: id, Err: errUnresolved})
	}
	return damages, err
}

// A verifier goes through the folder of a session.
type verifier struct {
	*packs
	Findings
	in       inventory
	archived runs // numbers of steps in events
}

func (l storeReader) verifyFolder(ctx context.Context, session string) (Findings, error) {
	v := &verifier{packs: &packs{storeReader: l, session: session, folder: folderName(session)}, Findings: Findings{Session: session}}
	opened, err := l.packs(ctx, session)
	if err == nil {
		defer opened.close()
		if v.packs = opened; len(opened.names) > 0 {
			err = v.verifyAll(ctx)
		}
	}
	if unreadable(err) { // the folder as a whole
		v.addDamageAt("", 0, err)
		return v.Findings, nil
	}
	if err != nil {
		err = fmt.Errorf("verify session %s: %w", session, err)
	}
	return v.Findings, err
}

func (v *verifier) verifyAll(ctx context.Context) error {
	slices.Sort(v.names)
	owner, err := v.folderOwner(ctx, v.folder)
	switch {
	case err == nil && owner != v.session: // see prepareFolder
		return nil
	case errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(v.names, ofSession): // it was never finished
		v.addNote(sessionFile, "missing: an interrupted process left a folder")
	case err != nil:
		if errors.Is(err, fs.ErrNotExist) {
			err = errMissing
		}
		v.addDamageAt(sessionFile, 0, err)
	}
	if v.in, err = v.inventory(ctx); err != nil {
		return err
	}
	if _, err := v.prunedOf(ctx, v.session); err != nil {
		v.addDamageAt(prunedFile, 0, err)
	}
	with := make(map[int]bool) // steps that have a summary
	for _, h := range v.in.headers {
		if with[h.Number], err = v.stepOf(ctx, h); err != nil {
			return err
		}
	}
	for _, p := range v.files {
		v.pack(p)
	}
	for _, name := range v.names {
		if err := v.verifyFile(ctx, name, with); err != nil {
			return err
		}
	}
	v.unrecorded()
	return v.unresolvedIDs(ctx)
}

// ofSession reports whether a file belongs to a session, which shows that the
// session existed.
func ofSession(name string) bool {
	_, _, packed := packNumbers(name)
	_, step := stepNumber(name)
	_, events := eventsNumber(name)
	_, _, old := oldEventsNumbers(name)
	return packed || step || events || old || name == prunedFile
}

func (v *verifier) addNote(name, text string) {
	v.Notes = append(v.Notes, Note{v.filePath(v.folder, name), text})
}

func (v *verifier) addDamageAt(name string, line int, err error) {
	d, ok := errors.AsType[*Damage](err)
	if !ok {
		d = &Damage{File: v.filePath(v.folder, name), Line: line, Err: err}
	}
	d.Session = v.session
	v.addDamage(d)
}

// addDamage adds a damage once.
func (v *verifier) addDamage(d *Damage) {
	same := func(o *Damage) bool {
		return o.Step == d.Step && o.Entry == d.Entry && o.File == d.File && o.Line == d.Line && o.Err.Error() == d.Err.Error()
	}
	if !slices.ContainsFunc(v.Damages, same) {
		v.Damages = append(v.Damages, d)
	}
}

// stepOf checks a step, and returns whether it has a summary.
func (v *verifier) stepOf(ctx context.Context, h headerLine) (bool, error) {
	bad := func(d *Damage) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.Session = v.session
		v.addDamage(d)
		return nil
	}
	if !h.lost {
		v.Steps++
		v.Entries += len(h.Entries)
		if h.V == Version && h.OfRound == "" {
			v.Unhashed++
		}
	}
	_, err := v.anyStep(ctx, h, bad)
	if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
		err = nil
	}
	return h.Summary, err
}

// pack checks a file with steps, in addition to the checks of stepOf.
func (v *verifier) pack(p *packFile) {
	for _, err := range p.damages {
		v.addDamageAt(p.name, 0, err)
	}
	if p.foreign {
		return
	}
	for _, f := range p.frames {
		if _, err := p.content(f); err != nil {
			v.inPack(p, f, err)
		}
	}
	for _, longer := range v.files {
		if p.gatheredIn(longer) {
			v.addNote(p.name, "it is in a longer file too: an interrupted process left it, and prune removes it")
		}
	}
}

// inPack adds the damage of a frame. One of a pruned step is not a damage; stepOf
// found those of existing steps.
func (v *verifier) inPack(p *packFile, f frame, err error) {
	if f.kind == frameHead || f.kind == frameBody {
		named := func(d *Damage) bool { return d.Step == f.first && d.File == v.filePath(v.folder, p.name) }
		if v.in.pruned.Steps.has(f.first) || slices.ContainsFunc(v.Damages, named) {
			return
		}
	}
	what := fmt.Sprintf("%s %d", f.kind, f.first)
	if f.last > f.first {
		what = fmt.Sprintf("%s %d to %d", f.kind, f.first, f.last)
	}
	v.addDamageAt(p.name, 0, fmt.Errorf("%s: %w", what, err))
}

// verifyFile checks a file that may belong to no step.
func (v *verifier) verifyFile(ctx context.Context, name string, with map[int]bool) error {
	n, content := contentNumber(name)
	m, step := stepNumber(name)
	_, events := eventsNumber(name)
	_, _, old := oldEventsNumbers(name)
	_, _, packed := packNumbers(name)
	there := slices.ContainsFunc(v.in.headers, func(h headerLine) bool { return h.Number == n })
	switch {
	case step && v.in.pruned.Steps.has(m):
		v.addNote(name, "its step was pruned, which was interrupted; prune removes it")
	case step && slices.ContainsFunc(v.in.headers, func(h headerLine) bool { return h.Number == m && h.packed }):
		v.doubled(ctx, name, m)
	case step || packed || name == sessionFile || name == prunedFile || name == indexFile:
	case events, old:
		return v.verifyEvents(ctx, name)
	case content && there:
		if has, known := with[n]; name == summaryName(n) && known && !has && !v.damaged(n) {
			v.addNote(name, "its step has no summary; nothing reads it")
		}
	case content:
		v.addNote(name, "its step is not there: an interrupted process left it, and prune removes it")
	case strings.HasPrefix(name, tempMark):
		v.addNote(name, "it was being written when a process was interrupted; the next step removes it")
	default:
		v.addNote(name, "no file of an archive")
	}
	return nil
}

// doubled checks a step file whose step is also in a pack.
func (v *verifier) doubled(ctx context.Context, name string, n int) {
	h, err := v.storeReader.stepHeader(ctx, v.session, n)
	if err == nil && h.Session != v.session {
		err = fmt.Errorf("%w: it holds session %q", ErrDamaged, h.Session)
	}
	if err != nil {
		v.addDamageAt(name, 1, err)
		return
	}
	v.addNote(name, "its step is in a pack; nothing reads it")
}

func (v *verifier) damaged(n int) bool {
	return slices.ContainsFunc(v.Damages, func(d *Damage) bool { return d.Step == n })
}

// unrecorded reports numbers that only events, or no file at all, contain.
func (v *verifier) unrecorded() {
	newest := 0
	for _, h := range v.in.headers {
		newest = max(newest, h.Number)
	}
	for n := range v.archived.all() {
		if !v.in.known.has(n) && !v.in.pruned.Steps.has(n) && (n > newest || !v.in.old(newest)) {
			v.addDamage(&Damage{Session: v.session, Step: n, File: v.filePath(v.folder, v.lostName(n)), Err: errMissing})
		}
	}
	if numbers := v.in.unaccounted(); len(numbers) > 0 && !v.shared {
		v.addNote("", fmt.Sprintf("%s before step %d are not there: the version that wrote them did not record what prune removed, so it is not known whether they are lost", stepsOf(numbers), newest))
	}
}

func (v *verifier) unresolvedIDs(ctx context.Context) error {
	infos := make([]StepInfo, 0, len(v.in.headers))
	for _, h := range v.in.headers {
		infos = append(infos, h.StepInfo)
	}
	return v.references(ctx, readStore{library: v.storeReader}, infos, v.in.pruned.Released)
}

// readStore is a storeReader as a read-only store.
type readStore struct {
	Store
	library storeReader
}

func (r readStore) Get(ctx context.Context, session string, number int) (Step, error) {
	return r.library.openStep(ctx, session, number)
}

// verifyEvents checks a file of events. A last line without its end was interrupted
// by the end of a process.
func (v *verifier) verifyEvents(ctx context.Context, name string) error {
	f, err := v.storeReader.openFile(ctx, v.folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		v.addDamageAt(name, 0, err)
		return ctx.Err()
	}
	defer f.Close()
	var lines io.Reader = f
	_, _, old := oldEventsNumbers(name)
	if old {
		if lines, err = gzip.NewReader(f); err != nil {
			v.addDamageAt(name, 0, fmt.Errorf("%w: %w", ErrDamaged, err))
			return nil
		}
	}
	line := 0
	for text, err := range readLines(lines) {
		line++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errTorn) && !old:
			v.addNote(name, fmt.Sprintf("line %d has no end: a process was interrupted", line))
		case err != nil:
			v.addDamageAt(name, line, fmt.Errorf("%w: %w", ErrDamaged, err))
		case !json.Valid(text):
			v.addDamageAt(name, line, fmt.Errorf("%w: no JSON", ErrDamaged))
		default:
			v.Events++
			v.event(text)
		}
	}
	return nil
}

// event records the step in an event.
func (v *verifier) event(text []byte) {
	if !bytes.Contains(text, []byte(`"storage_adapter"`)) {
		return
	}
	var e struct {
		Data struct {
			Session string `json:"session_id"`
			Step    int    `json:"step"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &e) == nil && e.Data.Session == v.session && e.Data.Step > 0 && e.Data.Step < maxNumbers {
		v.archived = v.archived.with(runs{{e.Data.Step, e.Data.Step}})
	}
}
