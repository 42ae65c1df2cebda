package main

import (
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/bench"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// A scoreSheet shows scores for people.
type scoreSheet struct {
	sheet
	score
}

// one shows all that is known of one pair.
func (s *scoreSheet) one() {
	c := s.Pairs[0]
	s.row("before", fmt.Sprintf("%s tokens, %s", screen.Grouped(c.Before.Tokens), screen.Plural(c.Before.Messages, "message")))
	s.row("after", fmt.Sprintf("%s tokens, %s: %s freed, %s left", screen.Grouped(c.After.Tokens), screen.Plural(c.After.Messages, "message"),
		screen.Grouped(c.Before.Tokens-c.After.Tokens), screen.Percent(left(c.Figures))))
	m := c.Messages
	s.row("messages", fmt.Sprintf("%s unchanged, %s changed, %s gone, %s new (%s tokens)", screen.Grouped(m.Unchanged), screen.Grouped(m.Changed),
		screen.Grouped(m.Gone), screen.Grouped(m.New), screen.Grouped(m.NewTokens)))
	s.row("protected", s.protected(c.Protected))
	s.row("pairs", s.orphans(c.Orphans))
	s.row("next time", fmt.Sprintf("%s tokens are the same from the start; a prompt cache reads the other %s anew", screen.Grouped(c.Prefix), screen.Grouped(c.Refill)))
	if c.Invented > 0 {
		s.row("made up", fmt.Sprintf("identifiers that BEFORE does not have: %s", screen.Grouped(c.Invented)))
	}
	s.line("")
	s.line(fmt.Sprintf("%-28s%-22s%s", "", "kept", "newest tokens"))
	s.share("identifiers", c.Identifiers, c.Newest.Identifiers)
	if !s.known {
		s.line("")
		s.line("What was needed next is not known: give --next or --full.")
		return
	}
	s.share("identifiers needed next", c.Needed.Kept, c.Newest.Needed.Kept)
	s.share("edits that can go on", c.Edits.Kept, c.Newest.Edits.Kept)
	s.line(s.screen.Paint(screen.Dim, fmt.Sprintf("%-28s%-22s%s", "size, of the tokens", shareOf(share(c.After.Tokens, c.Before.Tokens)), shareOf(share(c.Newest.Tokens, c.Before.Tokens)))))
}

func (s *scoreSheet) share(name string, kept, newest bench.Share) {
	text := fmt.Sprintf("%s  %s of %s", shareOf(kept), screen.Grouped(kept.Part), screen.Grouped(kept.Whole))
	if kept.Whole == 0 {
		text = "none to keep"
	}
	s.line(fmt.Sprintf("%-28s%-21s %s", name, text, shareOf(newest)))
}

func (s *scoreSheet) protected(p bench.Protected) string {
	var texts []string
	for _, of := range []struct {
		name string
		fate bench.Fate
	}{{"system message", p.System}, {"first user message", p.FirstUser}, {"latest user message", p.LatestUser}} {
		switch of.fate {
		case bench.FateNone:
			continue
		case bench.FateQuoted:
			of.fate = "stands inside another message"
		}
		texts = append(texts, of.name+" "+string(of.fate))
	}
	if len(texts) == 0 {
		return "nothing to protect: no system message, and none that a user typed"
	}
	return strings.Join(texts, "; ")
}

func (s *scoreSheet) orphans(n int) string {
	if n == 0 {
		return "no call and no result lost its partner"
	}
	return s.screen.Paint(screen.Red, fmt.Sprintf("%s calls or results lost their partner: servers refuse that", screen.Grouped(n)))
}

// scoreColumns are the figures of a line of the table.
const scoreColumns = "%9s %9s %5s %6s %6s %5s %4s %8s"

const scoreWidth = 59

// many shows a line for each pair, and one for all.
func (s *scoreSheet) many() {
	names := 8
	for _, c := range s.Pairs {
		names = max(names, screen.CellsOf(c.Name))
	}
	names = min(names, max(12, s.screen.Width-scoreWidth-1))
	line := func(name, text string) {
		name = s.middle(name, names)
		s.line(name + strings.Repeat(" ", max(0, names-screen.CellsOf(name))) + " " + text)
	}
	line("", fmt.Sprintf(scoreColumns, "before", "after", "left", "idents", "needed", "edits", "lost", "refill"))
	for _, c := range s.Pairs {
		line(c.Name, s.figures(c.Figures, lostIn(c)))
	}
	t := s.Total
	line("all", s.figures(t.Figures, t.Orphans+t.Lost))
	line("newest", fmt.Sprintf(scoreColumns, "", screen.Grouped(t.Newest.Tokens), shareOf(share(t.Newest.Tokens, t.Before.Tokens)),
		shareOf(t.Newest.Identifiers), shareOf(t.Newest.Needed.Kept), shareOf(t.Newest.Edits.Kept), "", ""))
	s.line("")
	for _, text := range s.legend() {
		for _, l := range screen.Wrapped(text, s.screen.Width) {
			s.line(s.screen.Paint(screen.Dim, l))
		}
	}
}

// middle returns a name, at most width columns wide: where it is longer, its
// beginning and its end, as names of one folder often differ in either alone.
func (s *scoreSheet) middle(name string, width int) string {
	name = s.screen.Clip(name, len(name)) // what would steer a terminal is out
	letters, cut := []rune(name), s.screen.Sign("…", "..")
	for keep := width - screen.CellsOf(cut); screen.CellsOf(name) > width && keep > 0; keep-- {
		end := len(letters) - keep/2
		name = string(letters[:max(0, min(keep-keep/2, end))]) + cut + string(letters[max(0, end):])
	}
	return name
}

func (s *scoreSheet) figures(f bench.Figures, lost int) string {
	return fmt.Sprintf(scoreColumns, screen.Grouped(f.Before.Tokens), screen.Grouped(f.After.Tokens), shareOf(share(f.After.Tokens, f.Before.Tokens)),
		shareOf(f.Identifiers), shareOf(f.Needed.Kept), shareOf(f.Edits.Kept), screen.Grouped(lost), screen.Grouped(f.Refill))
}

// lostIn counts what should never go: partners, and protected messages.
func lostIn(c bench.Comparison) int {
	if c.Protected.Whole() {
		return c.Orphans
	}
	return c.Orphans + 1
}

func (s *scoreSheet) legend() []string {
	texts := []string{
		"before, after, refill: tokens; refill is what a prompt cache reads anew. left: share of the tokens. idents, needed, edits: shares kept, of all identifiers, of those needed next, of the edits that can go on without reading again.",
		"lost: calls and results without partner, and one for a protected message that does not stand as it was; --json says which. newest: what the newest tokens keep at the same size.",
	}
	if !s.known {
		texts = append(texts, "What was needed next is not known: give --next or --full.")
	}
	return texts
}

func left(f bench.Figures) float64 { return share(f.After.Tokens, f.Before.Tokens).Of() }

func share(part, whole int) bench.Share { return bench.Share{Part: part, Whole: whole} }

// shareOf is a share in three digits, "-" where there is no whole.
func shareOf(s bench.Share) string {
	if s.Whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", s.Of())
}
