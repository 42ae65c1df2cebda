package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tiercompact/tiercompact/internal/screen"
)

func TestPicker(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("model-%d\x1b[2J", i))
	}
	p := &picker{screen: screen.Screen{Width: 80}, title: "Which model?", names: names, height: 24}
	p.Update(tea.WindowSizeMsg{Width: 30, Height: 8})
	for _, k := range []rune{tea.KeyUp, tea.KeyDown, tea.KeyDown, tea.KeyUp, tea.KeyEnd, tea.KeyDown, tea.KeyUp, 'k'} {
		p.Update(tea.KeyPressMsg{Code: k, Text: map[bool]string{true: "k"}[k == 'k']})
	}
	if p.at != 27 {
		t.Errorf("marked is %d", p.at)
	}
	view := p.View().Content
	if want := "Which model?\n  model-25[2J\n  model-26[2J\n> model-27[2J\n  model-28[2J\n  model-29[2J\nup and down, Enter; Esc leaves"; view != want {
		t.Errorf("shown is\n%s\nwant\n%s", view, want)
	}
	if _, cmd := p.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); cmd == nil || !p.picked {
		t.Error("Enter does not pick")
	}
	q := &picker{names: names, height: 24}
	if _, cmd := q.Update(tea.KeyPressMsg{Code: tea.KeyEscape}); cmd == nil || q.picked || strings.TrimSpace(q.View().Content) != "" {
		t.Error("Esc does not leave")
	}
}
