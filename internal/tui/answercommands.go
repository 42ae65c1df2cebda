package tui

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/markdown"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// temperatureCommand sets how freely the model chooses its words.
func (t *Talk) temperatureCommand(_ context.Context, text string) error {
	switch text {
	case "":
		if t.temperature == nil {
			t.emitNote("the temperature is the server's; /temperature 0.7 sets it")
			return nil
		}
		t.emitNote("the temperature is %g; /temperature off takes the server's", *t.temperature)
		return nil
	case "off":
		t.temperature = nil
		t.emitNote("the temperature is the server's")
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 2) {
		return fmt.Errorf("the temperature is a number from 0 to 2, or off, not %q", screen.Clip(text, 40))
	}
	t.temperature = &n
	t.emitNote("the temperature is %g from the next answer on", n)
	return nil
}

// sampling returns the settings of the next answer, nil for those of the server. An
// answer that is asked for again may be another one.
func (t *Talk) sampling() *model.Sampling {
	if t.temperature == nil {
		return nil
	}
	return &model.Sampling{Temperature: *t.temperature, Seed: int(rand.Int32())}
}

// copyCommand copies the last answer, or one of its blocks of code.
func (t *Talk) copyCommand(_ context.Context, which string) error {
	text := ""
	for _, m := range t.session.Messages() {
		if m.Role == chat.Assistant && m.State == chat.Active && strings.TrimSpace(m.Text()) != "" {
			text = m.Text()
		}
	}
	if text == "" {
		return errors.New("there is no answer to copy yet")
	}
	what := "the last answer"
	if which != "" {
		blocks := markdown.CodeBlocks(text)
		n, err := strconv.Atoi(which)
		if err != nil || n < 1 || n > len(blocks) {
			return fmt.Errorf("the last answer has %s of code; /copy N copies one, counted from 1", screen.Plural(len(blocks), "block"))
		}
		text, what = blocks[n-1], fmt.Sprintf("block %d of code", n)
	}
	if t.o.Clipboard != nil && t.o.Clipboard(text) == nil {
		t.emitNote("%s is in the clipboard, %s bytes", what, screen.Grouped(len(text)))
		return nil
	}
	t.emitEvent(Event{Kind: Copied, Text: text})
	t.emitNote("%s was sent to the terminal's clipboard (OSC 52), %s bytes", what, screen.Grouped(len(text)))
	return nil
}

// A Speed is how long an answer took.
type Speed struct {
	Tokens int // of the answer; 0: not reported
	Took   time.Duration
	Wrote  time.Duration // the part after the prompt; 0: not reported
}

// speedOf returns the speed of an answer that took so long in total.
func speedOf(a model.Answer, total time.Duration) Speed {
	s := Speed{Tokens: a.Tokens, Took: total, Wrote: a.Time}
	if reported := a.PromptTime + a.Time; a.Time > 0 {
		s.Took = reported
	}
	return s
}

// shortest is the shortest time of which a speed says something.
const shortest = 50 * time.Millisecond

// String describes the speed for the status line, "" before the first answer.
func (s Speed) String() string {
	if s.Took == 0 {
		return ""
	}
	text := fmt.Sprintf("%.1f s", s.Took.Seconds())
	if s.Took < shortest {
		text = "under 0.1 s"
	}
	if s.Tokens > 0 {
		text = screen.Plural(s.Tokens, "token") + " in " + text
	}
	if s.Tokens > 0 && s.Wrote >= shortest {
		text += fmt.Sprintf(", %.1f/s", float64(s.Tokens)/s.Wrote.Seconds())
	}
	return "answer: " + text
}
