package tui

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// firstWait is the silence of a server after which the user sees what the chat
// waits for. It doubles each time.
const firstWait = 10 * time.Second

// streamAnswer asks the model, and calls each with the pieces of its answer. It
// emits Waiting while the server is silent. Silence in the middle of an answer ends
// the call after the time in the options. Before the answer begins there is no
// limit, because the server may still read the prompt.
func (t *Talk) streamAnswer(ctx context.Context, r model.Request, each func(model.Delta)) (a model.Answer, err error) {
	call, stop := context.WithCancel(ctx)
	defer stop()
	deltas, done := make(chan model.Delta), make(chan struct{})
	go func() {
		defer close(done)
		a, err = t.o.Chat.Chat(call, r, func(d model.Delta) error {
			deltas <- d // the loop below takes all there are: what came before a stop is kept
			return call.Err()
		})
	}()
	began, silent, next := false, time.Duration(0), firstWait
	var stalled error
	for {
		wait := next - silent
		if bound := t.o.Silence; began && bound > 0 {
			wait = min(wait, bound-silent)
		}
		timer := time.NewTimer(wait)
		select {
		case d := <-deltas:
			timer.Stop()
			began, silent, next = true, 0, firstWait
			each(d)
		case <-timer.C:
			silent += wait
			if began && t.o.Silence > 0 && silent >= t.o.Silence && call.Err() == nil {
				stalled = fmt.Errorf("%s said nothing for %s in the middle of its answer; the server may hang: /retry asks again (--summary-deadline sets the time)", r.Model, silent)
				stop()
			}
			if silent >= next {
				next *= 2
				t.emitEvent(Event{Kind: Waiting, Text: waitingText(r.Model, silent, began), Silent: silent})
			}
		case <-done:
			timer.Stop()
			if stalled != nil {
				return a, stalled
			}
			return a, err
		}
	}
}

func waitingText(name string, silent time.Duration, began bool) string {
	state := "to begin its answer; the server may still load the model or read the prompt"
	if began {
		state = "to continue its answer"
	}
	return fmt.Sprintf("waiting for %s %s; %s so far, ^C stops it", name, state, screen.Plural(int(silent.Seconds()), "second"))
}

// minColumn is the minimum width of a last column beside the others.
const minColumn = 26

// wrapColumns breaks a line whose columns have two blanks or more between them: the last
// column continues below its beginning or, if it would be narrow, on lines of its own.
func wrapColumns(line string, width int) []string {
	if ansi.StringWidth(line) <= width {
		return []string{line}
	}
	before, last := line, ""
	if at := strings.LastIndex(strings.TrimRight(line, " "), "  "); at >= 0 && strings.TrimSpace(line[:at]) != "" {
		before, last = line[:at+2], line[at+2:]
	}
	if last == "" {
		return wrapLine(line, width)
	}
	var lines []string
	indent := ansi.StringWidth(before)
	if width-indent < minColumn {
		lines = wrapLine(gaps.ReplaceAllString(strings.TrimSpace(before), "  "), width)
		before, indent = "", min(4, width/8)
	}
	for _, l := range wrapLine(last, width-indent) {
		if before == "" {
			before = strings.Repeat(" ", indent)
		}
		lines = append(lines, before+l)
		before = ""
	}
	return lines
}

// gaps matches what separates columns.
var gaps = regexp.MustCompile(`  +`)

// wrapLine breaks a line into lines of at most width columns: after the last blank
// that fits, which is removed, or between two characters if there is none. Blanks
// at its beginning stay, so that code keeps its indentation. Text appended later
// changes only the last line.
func wrapLine(line string, width int) []string {
	var lines []string
	start, used := 0, 0  // of the line in progress
	blank, after := 0, 0 // the end of its last blank, and the columns after that
	for i := 0; i < len(line); {
		cluster, cells := ansi.FirstGraphemeCluster(line[i:], ansi.GraphemeWidth)
		cells = max(cells, ansi.StringWidthWc(cluster)) // of a terminal that draws the parts of an emoji side by side
		used, after = used+cells, after+cells
		end := i + len(cluster)
		switch {
		case cluster == " " && strings.Trim(line[start:i], " ") != "":
			blank, after = end, 0
		case used <= width || i == start:
		case blank > start:
			lines = append(lines, strings.TrimRight(line[start:blank], " "))
			start, used = blank, after
		default:
			lines = append(lines, line[start:i])
			start, used, after = i, cells, cells
		}
		i = end
	}
	return append(lines, line[start:])
}
