// Package levels holds the levels of compaction, mildest first, and the choice
// between them.
//
// A level only proposes: it takes a [View] and returns edits. It does not count
// tokens, archive messages, or change the conversation.
package levels

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// A Name names a level.
type Name string

// Names that other packages need. None means no level.
const (
	None      Name = "none"
	SoftName  Name = "soft"
	HardName  Name = "hard"
	Emergency Name = "emergency"
	LayerName Name = "layers"
	FitName   Name = "fit"
)

// A Level is one way of making a conversation smaller.
type Level struct {
	Name      Name
	Threshold Threshold // usage from which it is due
	Work      string    // its work in one word, for traces
	Color     string    // name of its hue in internal/chart
	Steps     []Planner // each plans on the result of the one before
}

// Kinds of work that other packages check for.
const (
	Outlining   = "outline"
	Ranking     = "ranking"   // the ranking model is asked
	Summarizing = "summarize" // the summary model is asked
	Cutting     = "cut"
)

// A Planner plans one step of a level. It only proposes edits and changes nothing.
type Planner func(ctx context.Context, v View) (Plan, error)

// A Threshold is the usage, as a share of the window, from which a level is due, by
// preset. Zero means the value of Default.
type Threshold struct{ Default, Eager, Steady float64 }

// OfPreset returns the threshold of a preset.
func (t Threshold) OfPreset(name string) float64 {
	switch name {
	case "eager":
		return cmp.Or(t.Eager, t.Default)
	case "steady":
		return cmp.Or(t.Steady, t.Default)
	}
	return t.Default
}

// All returns the levels that are selected by usage, mildest first: the only list of
// them. They are ordered by strength, with rising thresholds.
func All() []Level {
	return []Level{
		softLevel(),
		hardLevel(),
		emergencyLevel(),
	}
}

// Reported returns all levels that can be in a report: those of All, the layers of a
// preflight or manual compaction, and truncation, the last resort.
func Reported() []Level { return append(All(), layersLevel(), truncateLevel()) }

// Find returns the level with a name among Reported, or else the zero Level, which
// plans nothing.
func Find(name Name) Level {
	all := Reported()
	if i := slices.IndexFunc(all, func(l Level) bool { return l.Name == name }); i >= 0 {
		return all[i]
	}
	return Level{}
}

// Names returns the names of All.
func Names() []string { return namesOf(All()) }

// ReportedNames returns the names of Reported.
func ReportedNames() []string { return namesOf(Reported()) }

func namesOf(all []Level) []string {
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = string(l.Name)
	}
	return names
}

// Parse returns the level with a name, or an error that lists the valid names.
func Parse(s string) (Name, error) {
	names := Names()
	if slices.Contains(names, s) {
		return Name(s), nil
	}
	last := len(names) - 1
	return "", fmt.Errorf("level must be %s or %s, is %q", strings.Join(names[:last], ", "), names[last], s)
}

// Stronger reports whether a is a stronger level than b. Layers are as strong as the
// strongest of All, and truncation is stronger.
func Stronger(a, b Name) bool { return strength(a) > strength(b) }

func strength(n Name) int {
	all := Reported()
	i := slices.IndexFunc(all, func(l Level) bool { return l.Name == n })
	if chosen := len(all) - 2; i >= chosen {
		return i // layers are as strong as the level before them
	}
	return i + 1
}

// A Plan holds the edits that a step of a level proposes, and how they were made.
type Plan struct {
	Edits            []edit.Edit
	Releases         protection.Protection // reasons to keep a message that do not apply to Edits
	NoUser           bool                  // no user message has to stay
	Front            []bool                // messages that may move to the front; nil for none
	Engine, Fallback string                // engine of the ranking or summary; the last fallback
	Why              string                // reason for the engine
	Attempts         []Attempt             // failures before
	Summary          *Summary              // the new summary; nil if there is none
	RankingCall      Call
	SummaryCall      Call
	TooLittle        bool   // a summary would free too little, so none was written
	Warning          string // for the user
	Turns, Pairs     int    // kept by a keep-recent policy
}

// A Call reports whether a model was called, and whether it failed.
type Call struct{ Made, Failed bool }
