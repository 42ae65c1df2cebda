package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// sweepPacks removes from packs the messages of pruned steps alone. If a step that
// stays cannot be read, all messages stay.
func (d *Dir) sweepPacks(ctx context.Context, session string) error {
	v, err := d.storeReader().packs(ctx, session)
	if err != nil {
		return err
	}
	defer v.close()
	in, err := v.inventory(ctx)
	if err != nil {
		return err
	}
	used, err := v.used(ctx, in)
	if unreadable(err) {
		used = nil
	} else if err != nil {
		return err
	}
	for _, p := range v.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.sweepPack(v, p, in.pruned.Steps, used); err != nil {
			return err
		}
	}
	return nil
}

// used returns the numbers of the messages that steps refer to.
func (v *packs) used(ctx context.Context, in inventory) (map[int]bool, error) {
	used := make(map[int]bool)
	add := func(r *refs) error {
		if r == nil {
			return nil
		}
		if !r.Items.valid(maxNumbers) {
			return errChanged
		}
		for n := range r.Items.all() {
			if used[n] {
				continue
			}
			x, _, err := v.item(n)
			if err != nil {
				return err
			}
			used[n] = true
			if x.From > 0 {
				used[x.From] = true
			}
		}
		return nil
	}
	for _, h := range in.headers {
		if h.Damaged != nil {
			return nil, h.Damaged
		}
		if !h.packed {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := v.body(h)
		if err != nil {
			return nil, err
		}
		all := []*refs{b.Before}
		for _, edits := range b.Steps {
			for _, e := range edits {
				all = append(all, e.New)
			}
		}
		for _, e := range b.entries {
			all = append(all, e.Messages)
		}
		for _, r := range all {
			if err := add(r); err != nil {
				return nil, err
			}
		}
	}
	return used, nil
}

// sweepPack writes a pack again without pruned data, or removes it if nothing is
// left. If used is nil, only undamaged data is removed: a damaged frame may belong
// to a step that stays. Otherwise all steps that stay can be read, and damaged
// frames are not theirs.
func (d *Dir) sweepPack(v *packs, p *packFile, pruned runs, used map[int]bool) error {
	whole := p.whole()
	if p.foreign || !whole && used == nil {
		return nil
	}
	goes := func(f frame) bool {
		_, err := p.content(f)
		switch {
		case err != nil:
			return true
		case f.kind == frameHead, f.kind == frameBody:
			return pruned.has(f.first)
		case f.kind == frameItems, f.kind == frameAgain:
			return used != nil && !anyUsed(used, f)
		}
		return true
	}
	left := slices.ContainsFunc(p.frames, func(f frame) bool { return f.kind != frameSteps && !goes(f) })
	if !left {
		err := ignoreMissing(os.Remove(filepath.Join(d.root, v.folder, p.name)))
		return errors.Join(err, syncFolder(filepath.Join(d.root, v.folder)))
	}
	parts := make(map[int64][]byte) // blocks of which only a part stays, by place
	change := !whole
	for _, f := range p.frames {
		switch {
		case f.kind == frameSteps:
		case goes(f):
			change = true
		case (f.kind == frameItems || f.kind == frameAgain) && used != nil:
			text, err := v.partOf(p, f, used)
			if err != nil {
				return err
			}
			if text != nil {
				parts[f.at], change = text, true
			}
		}
	}
	if !change {
		return nil
	}
	return d.rewrite(v, []*packFile{p}, func(w *packWriter, p *packFile, f frame) error {
		if goes(f) {
			return nil
		}
		if text, ok := parts[f.at]; ok {
			return w.add(f.kind, f.first, f.last, text)
		}
		return w.copyFrom(p, f)
	})
}

func anyUsed(used map[int]bool, f frame) bool {
	if f.last-f.first > maxNumbers {
		return true
	}
	for n := f.first; n <= f.last; n++ {
		if used[n] {
			return true
		}
	}
	return false
}

// partOf returns the part of a frame of items that stays, nil if all does.
func (v *packs) partOf(p *packFile, f frame, used map[int]bool) ([]byte, error) {
	text, err := p.text(f)
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	var stay []int
	all := 0
	err = decodeBlock(text, v.session, func(n int, line []byte) {
		if all++; used[n] {
			stay = append(stay, n)
			lines.Write(line)
			lines.WriteByte('\n')
		}
	})
	if err != nil || len(stay) == all {
		return nil, err
	}
	first, err := lineOf(itemsLine{head{packVersion}, v.session, runsOf(stay)})
	return slices.Concat(first, []byte("\n"), lines.Bytes()), err
}

// rewrite merges files into one, with the frames that write gives it, and removes
// them.
func (d *Dir) rewrite(v *packs, files []*packFile, write func(*packWriter, *packFile, frame) error) error {
	first, last := files[0].first, files[0].last
	for _, p := range files {
		first, last = min(first, p.first), max(last, p.last)
	}
	path := filepath.Join(d.root, v.folder, packName(first, last))
	err := d.disk.writeFile(path, func(to io.Writer) error {
		steps, err := writeFrames(newPackWriter(io.Discard), files, write, frameHead)
		if err != nil {
			return err
		}
		w := newPackWriter(to)
		if err := w.begin(v.session, first, last, steps); err != nil {
			return err
		}
		// Headers first: lists of steps read them all.
		for _, kind := range []string{frameHead, frameBody, frameItems, frameAgain} {
			if _, err := writeFrames(w, files, write, kind); err != nil {
				return err
			}
		}
		return w.end()
	})
	if err != nil {
		return err
	}
	for _, p := range files {
		if old := filepath.Join(d.root, v.folder, p.name); old != path {
			if err := ignoreMissing(os.Remove(old)); err != nil {
				return err
			}
		}
	}
	return syncFolder(filepath.Join(d.root, v.folder))
}

// writeFrames writes the frames of a kind, and returns the numbers of those that
// were written.
func writeFrames(w *packWriter, files []*packFile, write func(*packWriter, *packFile, frame) error, kind string) (runs, error) {
	numbers := runs{}
	for _, p := range files {
		for _, f := range p.frames {
			if f.kind != kind {
				continue
			}
			before := w.count
			if err := write(w, p, f); err != nil {
				return nil, err
			}
			if w.count > before {
				numbers = numbers.with(runs{{f.first, f.first}})
			}
		}
	}
	return numbers, nil
}

// copyFrom writes a frame of another file.
func (w *packWriter) copyFrom(p *packFile, f frame) error {
	content, err := p.content(f)
	if err != nil {
		return err
	}
	return w.copy(f, content)
}

// removeGathered removes packs that an interrupted process had merged into another.
func (d *Dir) removeGathered(session string) error {
	v, err := d.storeReader().packs(context.Background(), session)
	if err != nil {
		return err
	}
	defer v.close()
	for _, p := range v.files {
		for _, longer := range v.files {
			if p.gatheredIn(longer) && longer.whole() {
				if err := ignoreMissing(os.Remove(filepath.Join(d.root, v.folder, p.name))); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// gatheredIn reports whether a longer file has the whole content of p too.
func (p *packFile) gatheredIn(longer *packFile) bool {
	if p.foreign || longer.foreign || len(p.frames) < 2 || longer.last-longer.first <= p.last-p.first {
		return false
	}
	there := make(map[string]bool, len(longer.frames))
	for _, f := range longer.frames {
		there[f.sum] = true
	}
	for _, f := range p.frames {
		if f.kind != frameSteps && !there[f.sum] {
			return false
		}
	}
	return true
}
