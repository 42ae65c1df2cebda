package tui

// A history holds the earlier inputs. The zero value is empty.
type history struct {
	lines []string
	at    int    // index of the shown line; len(lines) if none is shown
	draft string // the input before the first move up
}

// addLine appends a line.
func (h *history) addLine(line string) {
	if n := len(h.lines); n == 0 || h.lines[n-1] != line {
		h.lines = append(h.lines, line)
	}
	h.at, h.draft = len(h.lines), ""
}

// moveInHistory returns the line before or after the shown one; now is the current
// input. After the last line comes the draft.
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
