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

// Names that other packages need. None is the name for no level.
const (
	None         Name = "none"
	SoftName     Name = "soft"
	HardName     Name = "hard"
	Emergency    Name = "emergency"
	LayerName    Name = "layers"
	TruncateName Name = "fit"
)

// A Level is one way of making a conversation smaller.
type Level struct {
	Name      Name
	Threshold Threshold // usage from which it is due
	Color     string    // name of a hue of internal/chart, in which it is drawn
	Steps     []Planner // each plans on what the one before left
}

// A Planner plans one step of a level. It only proposes: it changes nothing.
type Planner func(ctx context.Context, v View) (Plan, error)

// A Threshold is the usage, as a share of the window, from which a level is due,
// by preset. Zero is the value of Default.
type Threshold struct{ Default, Eager, Steady float64 }

// OfPreset returns the threshold that the preset of a name has.
func (t Threshold) OfPreset(name string) float64 {
	switch name {
	case "eager":
		return cmp.Or(t.Eager, t.Default)
	case "steady":
		return cmp.Or(t.Steady, t.Default)
	}
	return t.Default
}

// All returns the levels that usage picks, mildest first: the one list of them.
// Its order is their strength, and their thresholds rise in it.
func All() []Level {
	return []Level{
		softLevel(),
		hardLevel(),
		emergencyLevel(),
	}
}

// Reported returns all levels that a report may name: those of All, the layers of
// a preflight or manual compaction, and truncation, the last resort.
func Reported() []Level { return append(All(), layersLevel(), truncateLevel()) }

// Find returns the level of a name among Reported; if there is none, the zero
// Level, which plans nothing.
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

// Parse returns the level of a name, or an error that lists the names.
func Parse(s string) (Name, error) {
	names := Names()
	if slices.Contains(names, s) {
		return Name(s), nil
	}
	last := len(names) - 1
	return "", fmt.Errorf("level must be %s or %s, is %q", strings.Join(names[:last], ", "), names[last], s)
}

// Stronger reports whether a is a stronger level than b. Layers are as strong as
// the strongest of All, and truncation is stronger.
func Stronger(a, b Name) bool { return strength(a) > strength(b) }

func strength(n Name) int {
	all := Reported()
	i := slices.IndexFunc(all, func(l Level) bool { return l.Name == n })
	if chosen := len(all) - 2; i >= chosen {
		return i // layers share their strength with the level before them
	}
	return i + 1
}

// A Plan is what a step of a level proposes, and how it came about.
type Plan struct {
	Edits            []edit.Edit
	Releases         protection.Protection // reasons to keep a message that do not count for Edits
	NoUser           bool                  // no user message has to stay
	Front            []bool                // messages that may move to the front; nil for none
	Engine, Fallback string                // what ranked or wrote; the last fallback taken
	Why              string                // why it was this engine
	Attempts         []Attempt             // what failed before
	Summary          *Summary              // that was written; nil if none was
	RankingCall      Call
	SummaryCall      Call
	TooLittle        bool   // no summary was asked for: it would free too little
	Warning          string // for the user
	Turns, Pairs     int    // what a keep-recent policy kept
}

// A Call says whether a model was asked, and whether it failed.
type Call struct{ Made, Failed bool }
