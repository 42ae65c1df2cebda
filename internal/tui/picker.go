package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// A picker lets the user pick one of several names.
type picker struct {
	screen screen.Screen
	title  string
	names  []string
	at     int // the marked one
	height int // lines of the screen
	done   bool
	picked bool
}

// Pick returns the name that the user picks with the keys. The error is [ErrQuit] if
// the user picks none.
func Pick(ctx context.Context, s screen.Screen, title string, names []string, in io.Reader, out io.Writer) (string, error) {
	p := &picker{screen: s, title: title, names: names, height: 24}
	_, err := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out)).Run()
	switch {
	case err != nil && !errors.Is(err, tea.ErrInterrupted):
		return "", err
	case !p.picked:
		return "", fmt.Errorf("no model was picked: %w", ErrQuit)
	}
	return p.names[p.at], nil
}

// Init implements [tea.Model].
func (p *picker) Init() tea.Cmd { return nil }

// Update implements [tea.Model].
func (p *picker) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.screen.Width, p.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return p, p.handleKey(msg.String())
	}
	return p, nil
}

func (p *picker) handleKey(key string) tea.Cmd {
	last := len(p.names) - 1
	switch key {
	case "up", "k":
		p.at = max(0, p.at-1)
	case "down", "j", "tab":
		p.at = min(last, p.at+1)
	case "home", "pgup":
		p.at = 0
	case "end", "pgdown":
		p.at = last
	case "enter":
		p.done, p.picked = true, true
		return tea.Quit
	case "ctrl+c", "ctrl+d", "esc", "q":
		p.done = true
		return tea.Quit
	}
	return nil
}

// View implements [tea.Model].
func (p *picker) View() tea.View {
	if p.done {
		return tea.NewView("")
	}
	s := p.screen
	lines := []string{s.Clip(p.title, s.Width)}
	room := max(1, p.height-3)
	first := max(0, min(p.at-room/2, len(p.names)-room))
	for i, name := range p.names[first:min(len(p.names), first+room)] {
		line := s.Clip(safeForTerminal(name), s.Width-2)
		if first+i == p.at {
			line = s.Paint(screen.Bold, "> "+line)
		} else {
			line = "  " + line
		}
		lines = append(lines, line)
	}
	lines = append(lines, s.Paint(screen.Dim, s.Clip("up and down, Enter; Esc leaves", s.Width)))
	return tea.NewView(strings.Join(lines, "\n"))
}
