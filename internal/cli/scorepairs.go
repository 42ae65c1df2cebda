package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// A pair is the files of one comparison.
type pair struct {
	name                string
	before, after, next string // next is "" if the continuation is unknown
}

// filePairs returns the files to compare: the two named ones, or those of two
// folders with equal names.
func (o *scoreOptions) filePairs(cmd *cobra.Command, before, after string) ([]pair, error) {
	next, flag := o.next, "--next"
	if o.full != "" {
		next, flag = o.full, "--full"
	}
	switch one, other := isFolder(before), isFolder(after); {
	case one != other:
		return nil, usageErrorf("BEFORE and AFTER are a folder and a file; give two files or two folders")
	case !one && isFolder(next):
		return nil, usageErrorf("%s %s is a folder; give the file for %s", flag, next, before)
	case !one:
		return []pair{{sessionOf(before), before, after, next}}, nil
	case next != "" && !isFolder(next):
		return nil, usageErrorf("%s %s is not a folder; BEFORE and AFTER are folders, so give one", flag, next)
	case o.cut > 0:
		return nil, usageErrorf("--cut is a place in one session; leave it out for folders")
	}
	all, lonely, err := pairFiles(before, after)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s and %s have no file name in common; give each result the name of its input", before, after)
	}
	if lonely > 0 {
		printNote(cmd, "%s of %s or %s without partner left out", screen.Plural(lonely, "file"), before, after)
	}
	return all, continued(all, next, flag)
}

// pairFiles pairs the files of two folders in the order of their names, and counts
// the files without a partner.
func pairFiles(before, after string) (pairs []pair, lonely int, err error) {
	names, err := listFiles(before)
	if err != nil {
		return nil, 0, err
	}
	made, err := newNamed(after)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		if made.containsName(name) {
			pairs = append(pairs, pair{name: filepath.ToSlash(name), before: filepath.Join(before, name), after: made.namedPath(name)})
		} else {
			lonely++
		}
	}
	return pairs, lonely + made.files - len(pairs), nil
}

// continued sets the file with the continuation of each pair.
func continued(pairs []pair, folder, flag string) error {
	if folder == "" {
		return nil
	}
	next, err := newNamed(folder)
	if err != nil {
		return err
	}
	for i, p := range pairs {
		name := filepath.FromSlash(p.name)
		if !next.containsName(name) {
			return usageErrorf("%s %s has no file for %s; add it, or take %s out of BEFORE", flag, folder, p.name, p.name)
		}
		pairs[i].next = next.namedPath(name)
	}
	return nil
}

// named are the files of a folder by their names, and by their names without
// extension if only one file has that name.
type named struct {
	folder string
	files  int
	whole  map[string]bool
	stems  map[string][]string
}

func newNamed(folder string) (named, error) {
	names, err := listFiles(folder)
	n := named{folder, len(names), make(map[string]bool), make(map[string][]string)}
	for _, name := range names {
		n.whole[name] = true
		n.stems[nameWithoutExt(name)] = append(n.stems[nameWithoutExt(name)], name)
	}
	return n, err
}

func (n named) containsName(name string) bool {
	return n.whole[name] || len(n.stems[nameWithoutExt(name)]) == 1
}

func (n named) namedPath(name string) string {
	if !n.whole[name] {
		name = n.stems[nameWithoutExt(name)][0]
	}
	return filepath.Join(n.folder, name)
}

func nameWithoutExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// listFiles lists the files below a folder, relative to it, in order. It leaves out
// pipes, devices, and names that begin with a dot. A subfolder that cannot be
// listed is listed itself, so that reading it reports the error.
func listFiles(folder string) (names []string, err error) {
	named := folder
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved // WalkDir does not follow a link
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && (path == folder || d == nil):
			return err
		case err != nil:
			name, err := filepath.Rel(folder, path)
			names = append(names, name)
			return cmp.Or(err, fs.SkipDir)
		case path != folder && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() && d.Type() != fs.ModeSymlink:
			return nil
		}
		name, err := filepath.Rel(folder, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", named, systemCause(err))
	}
	return names, nil
}

// A scoreSheet shows scores for people.
type scoreSheet struct {
	doctorSheet
	score
}

// writeSingle shows every figure of one pair.
func (s *scoreSheet) writeSingle() {
	c := s.Pairs[0]
	s.writeRow("before", fmt.Sprintf("%s tokens, %s", screen.Grouped(c.Before.Tokens), screen.Plural(c.Before.Messages, "message")))
	s.writeRow("after", fmt.Sprintf("%s tokens, %s: %s freed, %s left", screen.Grouped(c.After.Tokens), screen.Plural(c.After.Messages, "message"),
		screen.Grouped(c.Before.Tokens-c.After.Tokens), screen.Percent(newShare(c.After.Tokens, c.Before.Tokens).Of())))
	m := c.Messages
	s.writeRow("messages", fmt.Sprintf("%s unchanged, %s changed, %s removed, %s new (%s tokens)", screen.Grouped(m.Unchanged), screen.Grouped(m.Changed),
		screen.Grouped(m.Gone), screen.Grouped(m.New), screen.Grouped(m.NewTokens)))
	s.writeRow("protected", s.protected(c.Protected))
	s.writeRow("pairs", s.orphansText(c.Orphans))
	s.writeRow("next time", fmt.Sprintf("%s tokens are the same from the start; a prompt cache reads the other %s again", screen.Grouped(c.Prefix), screen.Grouped(c.Refill)))
	if c.Invented > 0 {
		s.writeRow("invented", fmt.Sprintf("identifiers that BEFORE does not have: %s", screen.Grouped(c.Invented)))
	}
	s.writeLine("")
	s.writeLine(fmt.Sprintf("%-28s%-22s%s", "", "kept", "newest tokens"))
	s.writeShare("identifiers", c.Identifiers, c.Newest.Identifiers)
	if !s.known {
		s.writeLine("")
		s.writeLine("What was needed next is not known: give --next or --full.")
		return
	}
	s.writeShare("identifiers needed next", c.Needed.Kept, c.Newest.Needed.Kept)
	s.writeShare("edits that can go on", c.Edits.Kept, c.Newest.Edits.Kept)
	s.writeLine(s.screen.Paint(screen.Dim, fmt.Sprintf("%-28s%-22s%s", "size, of the tokens", shareText(newShare(c.After.Tokens, c.Before.Tokens)), shareText(newShare(c.Newest.Tokens, c.Before.Tokens)))))
}

func (s *scoreSheet) writeShare(name string, kept, newest bench.Share) {
	text := fmt.Sprintf("%s  %s of %s", shareText(kept), screen.Grouped(kept.Part), screen.Grouped(kept.Whole))
	if kept.Whole == 0 {
		text = "none to keep"
	}
	s.writeLine(fmt.Sprintf("%-28s%-21s %s", name, text, shareText(newest)))
}

func (s *scoreSheet) protected(p bench.Protected) string {
	var texts []string
	for _, of := range []struct {
		name string
		fate bench.Action
	}{{"system message", p.System}, {"first user message", p.FirstUser}, {"latest user message", p.LatestUser}} {
		switch of.fate {
		case bench.ActionNone:
			continue
		case bench.ActionQuoted:
			of.fate = "is inside another message"
		}
		texts = append(texts, of.name+" "+string(of.fate))
	}
	if len(texts) == 0 {
		return "nothing to protect: no system message, and none that a user typed"
	}
	return strings.Join(texts, "; ")
}

func (s *scoreSheet) orphansText(n int) string {
	if n == 0 {
		return "no call and no result lost its partner"
	}
	return s.screen.Paint(screen.Red, fmt.Sprintf("%s calls or results lost their partner: servers refuse that", screen.Grouped(n)))
}

// scoreColumns are the figures of a line of the table.
const scoreColumns = "%9s %9s %5s %6s %6s %5s %4s %8s"

const scoreWidth = 59

// writeMany shows a line for each pair, and one for the total.
func (s *scoreSheet) writeMany() {
	names := 8
	for _, c := range s.Pairs {
		names = max(names, screen.CellsOf(c.Name))
	}
	names = min(names, max(12, s.screen.Width-scoreWidth-1))
	line := func(name, text string) {
		name = s.elideMiddle(name, names)
		s.writeLine(name + strings.Repeat(" ", max(0, names-screen.CellsOf(name))) + " " + text)
	}
	line("", fmt.Sprintf(scoreColumns, "before", "after", "left", "idents", "needed", "edits", "lost", "refill"))
	for _, c := range s.Pairs {
		line(c.Name, s.figuresText(c.Figures, countLost(c)))
	}
	t := s.Total
	line("all", s.figuresText(t.Figures, t.Orphans+t.Lost))
	line("newest", fmt.Sprintf(scoreColumns, "", screen.Grouped(t.Newest.Tokens), shareText(newShare(t.Newest.Tokens, t.Before.Tokens)),
		shareText(t.Newest.Identifiers), shareText(t.Newest.Needed.Kept), shareText(t.Newest.Edits.Kept), "", ""))
	s.writeLine("")
	for _, text := range s.legendLines() {
		for _, l := range screen.Wrapped(text, s.screen.Width) {
			s.writeLine(s.screen.Paint(screen.Dim, l))
		}
	}
}

// elideMiddle returns a name of at most width columns. From a longer name it keeps
// the beginning and the end, because names of one folder often differ in only one of them.
func (s *scoreSheet) elideMiddle(name string, width int) string {
	name = s.screen.Clip(name, len(name)) // without control characters
	letters, cut := []rune(name), s.screen.Sign("…", "..")
	for keep := width - screen.CellsOf(cut); screen.CellsOf(name) > width && keep > 0; keep-- {
		end := len(letters) - keep/2
		name = string(letters[:max(0, min(keep-keep/2, end))]) + cut + string(letters[max(0, end):])
	}
	return name
}

func (s *scoreSheet) figuresText(f bench.Figures, lost int) string {
	return fmt.Sprintf(scoreColumns, screen.Grouped(f.Before.Tokens), screen.Grouped(f.After.Tokens), shareText(newShare(f.After.Tokens, f.Before.Tokens)),
		shareText(f.Identifiers), shareText(f.Needed.Kept), shareText(f.Edits.Kept), screen.Grouped(lost), screen.Grouped(f.Refill))
}

// countLost counts losses that should never happen: partners, and protected messages.
func countLost(c bench.Comparison) int {
	if c.Protected.Whole() {
		return c.Orphans
	}
	return c.Orphans + 1
}

func (s *scoreSheet) legendLines() []string {
	texts := []string{
		"before, after, refill: tokens; refill is what a prompt cache reads again. left: share of the tokens. idents, needed, edits: shares kept, of all identifiers, of those needed next, of the edits that can go on without reading again.",
		"lost: calls and results without partner, and one for a protected message that was changed or removed; --json lists them. newest: what the newest tokens keep at the same size.",
	}
	if !s.known {
		texts = append(texts, "What was needed next is not known: give --next or --full.")
	}
	return texts
}

func newShare(part, whole int) bench.Share { return bench.Share{Part: part, Whole: whole} }

// shareText returns a share in three digits, "-" if the whole is 0.
func shareText(s bench.Share) string {
	if s.Whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", s.Of())
}
