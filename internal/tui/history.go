package tui

// A history is what was typed before. The zero value is empty.
type history struct {
	lines []string
	at    int    // of lines; their number where none of them is shown
	draft string // what was typed before the first move up
}

// addLine puts a line at its end.
func (h *history) addLine(line string) {
	if n := len(h.lines); n == 0 || h.lines[n-1] != line {
		h.lines = append(h.lines, line)
	}
	h.at, h.draft = len(h.lines), ""
}

// moveInHistory returns the line before or after the one that is shown, now being what
// stands in the input. Behind the last is what was typed before.
func (h *history) moveInHistory(up bool, now string) (string, bool) {
	switch {
	case up && h.at == 0, !up && h.at == len(h.lines):
		return "", false
	case up:
		if h.at == len(h.lines) {
			h.draft = now
		}
		h.at--
	default:
		h.at++
	}
	if h.at == len(h.lines) {
		return h.draft, true
	}
	return h.lines[h.at], true
}
