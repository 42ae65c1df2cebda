package page

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// A roundView is a compaction as it is shown.
type roundView struct {
	archive.StepInfo
	InUse   bool
	Undone  bool
	Details *roundDetails // nil if the archive's step cannot be read
}

// roundDetails are what a compaction did and kept.
type roundDetails struct {
	Kept, Shortened, Removed, Added int    // messages
	Roles                           string // of what is kept
	Changes                         []change
	Summary                         string
}

// A change is one run of messages that a round replaced.
type change struct {
	Why, Recall string
	Was         []messageLine
	Now         []messageLine
}

// A messageLine is a message, shortened.
type messageLine struct {
	Role, Text string
	Bytes      int
}

// detailedRounds is how many of the newest rounds a conversation's page describes.
const detailedRounds = 20

// roundsOf returns the compactions of a conversation, newest first.
func (p *Page) roundsOf(ctx context.Context, id string) ([]roundView, error) {
	if p.store == nil || id == "" {
		return nil, nil
	}
	infos, err := p.store.Steps(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	inUse, err := p.o.Source.Rounds(ctx, id)
	if err != nil {
		return nil, err
	}
	undone := make(map[int]bool)
	for _, info := range infos {
		undone[info.Undoes] = true
	}
	var views []roundView
	for _, info := range slices.Backward(infos) {
		if info.Undoes > 0 {
			continue
		}
		v := roundView{StepInfo: info, InUse: slices.Contains(inUse, info.Number), Undone: undone[info.Number]}
		if len(views) < detailedRounds {
			v.Details = p.detailsOf(ctx, info)
		}
		views = append(views, v)
	}
	return views, nil
}

// A roundCache keeps descriptions: a step never changes.
type roundCache struct {
	mu sync.Mutex
	of map[roundKey]*roundDetails
}

type roundKey struct {
	session string
	number  int
}

const maxCachedRounds = 500

func (p *Page) detailsOf(ctx context.Context, info archive.StepInfo) *roundDetails {
	k := roundKey{info.Session, info.Number}
	p.rounds.mu.Lock()
	d := p.rounds.of[k]
	p.rounds.mu.Unlock()
	if d != nil || info.Damaged != nil {
		return d
	}
	step, err := p.store.Get(ctx, info.Session, info.Number)
	if err != nil {
		return nil
	}
	d = describe(step)
	p.rounds.mu.Lock()
	defer p.rounds.mu.Unlock()
	if p.rounds.of == nil || len(p.rounds.of) >= maxCachedRounds {
		p.rounds.of = make(map[roundKey]*roundDetails)
	}
	p.rounds.of[k] = d
	return d
}

// maxChanges limits the runs of a round that are listed.
const maxChanges = 100

// describe says what a step did and kept.
func describe(step archive.Step) *roundDetails {
	d := &roundDetails{Summary: summaryText(step.Summary)}
	after := step.Before
	for _, edits := range step.Edits.Steps {
		for _, e := range edit.Sorted(edits) {
			if e.Start < 0 || e.End > len(after) || e.Start > e.End {
				return d // redacted or damaged edits
			}
			if len(d.Changes) < maxChanges {
				d.Changes = append(d.Changes, change{e.Why, e.Recall, linesOf(after[e.Start:e.End]), linesOf(e.New)})
			}
		}
		now, err := edit.Apply(after, edits, edit.Rules{})
		if err != nil {
			break
		}
		after = now
	}
	d.count(step.Before, after)
	return d
}

// count compares the conversation before and after.
func (d *roundDetails) count(before, after chat.Transcript) {
	was := make(map[string]chat.Message, len(before))
	for _, m := range before {
		was[m.ID] = m
	}
	roles := make(map[chat.Role]int)
	for _, m := range after {
		old, known := was[m.ID]
		switch {
		case !known:
			d.Added++
			continue
		case edit.Same(old, m):
			d.Kept++
		default:
			d.Shortened++
		}
		roles[m.Role]++
	}
	d.Removed = len(before) - d.Kept - d.Shortened
	var parts []string
	for _, r := range []chat.Role{chat.System, chat.Developer, chat.User, chat.Assistant, chat.Tool} {
		if roles[r] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", roles[r], r))
		}
	}
	d.Roles = strings.Join(parts, ", ")
}

// linesOf returns the first messages of a run.
func linesOf(run []chat.Message) (lines []messageLine) {
	const most = 12
	for _, m := range run[:min(most, len(run))] {
		text := textOf(m)
		lines = append(lines, messageLine{string(m.Role), clipText(text, 240), len(text)})
	}
	if more := len(run) - most; more > 0 {
		lines = append(lines, messageLine{Text: "and " + screen.Plural(more, "more message")})
	}
	return lines
}

// textOf returns all that a message says.
func textOf(m chat.Message) string {
	var parts []string
	for _, p := range m.Parts {
		switch {
		case p.Kind == chat.Call:
			parts = append(parts, p.Name+" "+p.Args)
		case p.Kind == chat.Image:
			parts = append(parts, "(image)")
		case p.Text != "":
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func clipText(text string, most int) string {
	short := []rune(strings.ToValidUTF8(text[:min(len(text), 4*most)], "\uFFFD"))
	if len(short) > most {
		return string(short[:most]) + "…"
	}
	if len(string(short)) < len(text) {
		return string(short) + "…"
	}
	return string(short)
}

// summaryText prints a summary's payload, which has lists of lines.
func summaryText(payload json.RawMessage) string {
	if len(payload) == 0 {
		return ""
	}
	var out strings.Builder
	indented, err := json.MarshalIndent(payload, "", "  ")
	if err != nil {
		return ""
	}
	out.Write(indented)
	return out.String()
}
