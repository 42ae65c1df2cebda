package tui

import (
	"fmt"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// statusLines returns the two lines of a chat's status: how full the window is and
// what was done about it, then the model, or the current action.
func statusLines(s screen.Screen, st Status, doing string) [2]string {
	share := st.Usage.Share
	percent := fmt.Sprintf(" %3.0f %%", 100*share)
	gauge := s.Paint(screen.PaintOf(st.Thresholds, share), percent)
	if room := s.Width - lipgloss.Width(percent); room > 0 {
		gauge = s.Bar(min(max(s.Width*3/10, 8), 30, room), st.Thresholds, share, share) + gauge
	}
	parts := []string{gauge}
	if st.Level != "" {
		parts = append(parts, st.Level)
	}
	if st.Cooldown > 0 {
		parts = append(parts, s.Paint(screen.Yellow, fmt.Sprintf("cooldown %d of %d", st.Cooldown, st.Skipped)))
	}
	if st.Freed > 0 {
		parts = append(parts, screen.Grouped(st.Freed)+" freed")
	}
	name := s.Clip(st.Model.Name, s.Width) // servers choose the names
	who := []string{name, screen.Grouped(st.Model.Window) + " tokens"}
	if speed := st.Speed.String(); speed != "" {
		who = append(who, speed)
	}
	if st.Model.Source != "" {
		who = append(who, "("+st.Model.Source+")")
	}
	if doing != "" {
		who = []string{doing, name}
	}
	return [2]string{joinFitting(s, parts), s.Paint(screen.Dim, joinFitting(s, who))}
}

// joinFitting joins as many parts as fit on a line, beginning with the first.
func joinFitting(s screen.Screen, parts []string) string {
	line := ""
	for i, p := range parts {
		sep := "  "
		switch {
		case i == 0 && lipgloss.Width(p) > s.Width:
			return ansi.Truncate(p, s.Width, s.Sign("…", "")) // it may have colours
		case i == 0:
			sep = ""
		case lipgloss.Width(line)+len(sep)+lipgloss.Width(p) > s.Width:
			return line
		}
		line += sep + p
	}
	return line
}
