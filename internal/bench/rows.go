package bench

import (
	"cmp"
	"slices"

	"github.com/tiercompact/tiercompact/internal/bench/corpus"
)

// sumRow sums the effects of a way on each session.
func sumRow(row Row, parts []part) Row {
	var kept Kept
	var freed Freed
	var refill Refill
	facts := make(map[corpus.Kind]Share)
	for _, p := range parts {
		row.Freed.Before += p.before
		row.Freed.After += p.after
		row.Freed.Soft.Files += p.soft.Files
		row.Freed.Soft.Again += p.soft.Again
		row.Freed.Soft.Outputs += p.soft.Outputs
		kept.addKept(p.kept)
		freed.addFreed(p.freed)
		refill.addRefill(p.refill)
		for kind, share := range p.facts {
			sum := facts[kind]
			sum.addShare(share.Part, share.Whole)
			facts[kind] = sum
		}
	}
	row.Freed.Tokens = row.Freed.Before - row.Freed.After
	row.Freed.Share = Share{row.Freed.Tokens, row.Freed.Before}.Of()
	row.Freed.Levels = freed.firedLevels()
	row.Identifiers, row.Edits = figureOf(kept.Identifiers, kept.IdentifierSize), figureOf(kept.Edits, kept.EditSize)
	row.Placed = figureOf(kept.Placed, kept.IdentifierSize)
	row.Left = Share{kept.IdentifierSize.Part + kept.EditSize.Part, kept.IdentifierSize.Whole + kept.EditSize.Whole}.Of()
	row.Orphans, row.Truth = kept.Orphans, kept.Truth
	row.addFacts(facts)
	if refill.Sessions > 0 {
		row.Prefill = &Prefilled{
			Tokens: refill.Prefill.Part, Without: refill.Prefill.Whole, Ratio: refill.Prefill.Of(),
			Rounds: float64(refill.Rounds) / float64(refill.Sessions), Window: row.Window,
		}
	}
	if row.Kind == Baseline {
		row.Window = 0 // it has only one, for prefill
	}
	return row
}

func figureOf(kept, size Share) Figure {
	return Figure{Kept: kept.Part, Of: kept.Whole, Share: kept.Of(), Size: size.Of()}
}

// addFacts adds facts, in the order of kinds.
func (row *Row) addFacts(facts map[corpus.Kind]Share) {
	var all Share
	for _, kind := range corpus.Kinds() {
		if s := facts[kind]; s.Whole > 0 {
			row.ByKind = append(row.ByKind, Facts{Kind: kind, Kept: s.Part, Of: s.Whole, Share: s.Of()})
			all.addShare(s.Part, s.Whole)
		}
	}
	row.Facts = figureOf(all, Share{row.Freed.After, row.Freed.Before})
}

func (k *Kept) addKept(o Kept) {
	k.Identifiers.addShare(o.Identifiers.Part, o.Identifiers.Whole)
	k.IdentifierSize.addShare(o.IdentifierSize.Part, o.IdentifierSize.Whole)
	k.Placed.addShare(o.Placed.Part, o.Placed.Whole)
	k.Edits.addShare(o.Edits.Part, o.Edits.Whole)
	k.EditSize.addShare(o.EditSize.Part, o.EditSize.Whole)
	k.Orphans += o.Orphans
	k.Truth.addTruth(o.Truth)
}

func (r *Refill) addRefill(o Refill) {
	r.Prefill.addShare(o.Prefill.Part, o.Prefill.Whole)
	r.Rounds += o.Rounds
	r.Sessions += o.Sessions
}

// addFreed adds the freed tokens of another session's levels.
func (f *Freed) addFreed(o Freed) {
	for name, l := range o.levels {
		mine := f.levelFreed(name)
		mine.Times += l.Times
		mine.Freed += l.Freed
		mine.Took += l.Took
	}
}

// firedLevels returns the levels that fired.
func (f *Freed) firedLevels() (out []LevelPart) {
	for _, l := range f.Levels() {
		if l.Times > 0 {
			out = append(out, LevelPart{Level: string(l.Level), Times: l.Times, Freed: l.Freed, Share: l.Share})
		}
	}
	return out
}

// retentionCurve is the retention of auto of a preset in its windows, smallest
// first; if everything is left, everything is kept.
func retentionCurve(rows []Row, preset string, of func(Row) Figure) []Figure {
	out := []Figure{{Kept: 1, Of: 1, Share: 1, Size: 1}}
	for _, row := range rows {
		if f := of(row); row.Kind == Replay && row.Preset == preset && row.Level == Auto && f.Of > 0 {
			out = append(out, f)
		}
	}
	sortFigures(out)
	return out
}

// shareAtSize returns the share of a curve at a size; ok is false below its
// smallest.
func shareAtSize(curve []Figure, size float64) (share float64, ok bool) {
	for i, f := range curve {
		switch {
		case f.Size < size:
			continue
		case f.Size == size:
			return f.Share, true
		case i == 0:
			return 0, false
		}
		below := curve[i-1]
		return below.Share + (f.Share-below.Share)*(size-below.Size)/(f.Size-below.Size), true
	}
	return 0, false
}

// compared is the preset that is compared with baselines.
const compared = "steady"

// compareAtSize compares baselines with steady at their own size.
func compareAtSize(rows []Row) (out []AtSize) {
	identifiers := retentionCurve(rows, compared, func(r Row) Figure { return r.Identifiers })
	placed := retentionCurve(rows, compared, func(r Row) Figure { return r.Placed })
	edits := retentionCurve(rows, compared, func(r Row) Figure { return r.Edits })
	if len(identifiers) == 1 && len(edits) == 1 {
		return nil // steady was not measured
	}
	for _, row := range rows {
		if row.Kind == Baseline && row.Name != everything {
			out = append(out, AtSize{
				Baseline: row.Name, Preset: compared,
				Identifiers: compareWithCurve(row.Identifiers, identifiers), Placed: compareWithCurve(row.Placed, placed), Edits: compareWithCurve(row.Edits, edits),
			})
		}
	}
	return out
}

func compareWithCurve(f Figure, curve []Figure) *Compared {
	share, ok := shareAtSize(curve, f.Size)
	if f.Of == 0 || !ok {
		return nil
	}
	return &Compared{Size: f.Size, Baseline: f.Share, Preset: share, Difference: share - f.Share}
}

func sortFigures(f []Figure) {
	slices.SortStableFunc(f, func(a, b Figure) int { return cmp.Compare(a.Size, b.Size) })
}
