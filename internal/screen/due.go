package screen

import (
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/levels"
)

// Due returns how full the window was before a check, and the consequence: the due
// level with its threshold, or another cause of the round.
func Due(cfg tiercompact.Config, r tiercompact.Report) string {
	at := Thresholds(cfg)
	share := 0.0
	if r.Usage.Window > 0 {
		share = float64(r.Before) / float64(r.Usage.Window)
	}
	why := ""
	picked := r.Picked
	if picked == "" || picked == levels.None {
		picked = levels.All()[0].Name
	}
	from, named := at[picked]
	switch {
	case picked == levels.LayerName:
		why = "the three layers were asked for"
	case cfg.Level != "" && r.Reason == "":
		why = string(cfg.Level) + " was asked for"
	case r.Before > r.Usage.Budget:
		why = fmt.Sprintf("over the budget of %s", Grouped(r.Usage.Budget))
		if named && share >= from {
			why += fmt.Sprintf("; %s is due from %s", picked, Percent(from))
		}
	case !named || share >= from || r.Reason == tiercompact.BelowThreshold:
		why = fmt.Sprintf("%s is due from %s", picked, Percent(from))
	case cfg.Policy.ContextThreshold > 0 && share >= cfg.Policy.ContextThreshold:
		why = fmt.Sprintf("a summary is due from %s", Percent(cfg.Policy.ContextThreshold))
	case cfg.Policy.MessageThreshold > 0:
		why = fmt.Sprintf("a summary is due from %s without one", Plural(cfg.Policy.MessageThreshold, "message"))
	default:
		why = fmt.Sprintf("%s is due from %s of what is not protected", picked, Percent(from))
	}
	return fmt.Sprintf("%s of %s tokens: %s", Percent(share), Grouped(r.Usage.Window), why)
}

// OtherLevel returns why a round applied another level than the due one, "" if it did not.
func OtherLevel(r tiercompact.Report) string {
	applied := func(name levels.Name) bool {
		return slices.ContainsFunc(r.Applied, func(a tiercompact.Applied) bool { return a.Level == name })
	}
	switch {
	case !r.Compacted() || r.Picked == levels.LayerName || r.Picked == levels.Emergency || applied(levels.LayerName):
		return ""
	case r.Picked == "" || r.Picked == levels.None:
		return fmt.Sprintf("no level was due; the conversation was over the budget of %s tokens", Grouped(r.Usage.Budget))
	case applied(levels.Emergency) && applied(r.Picked):
		return fmt.Sprintf("%s was due, and not enough for the budget of %s tokens", r.Picked, Grouped(r.Usage.Budget))
	case applied(levels.Emergency):
		return fmt.Sprintf("%s was due; one summary freed more", r.Picked)
	case !applied(r.Picked):
		return fmt.Sprintf("%s was due; %s alone was enough", r.Picked, r.Applied[0].Level)
	}
	return ""
}
