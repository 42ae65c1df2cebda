package levels_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

var update = flag.Bool("update", false, "write the plans and what they leave into testdata")

// TestPlans has one file for each case: the level and its numbers, the
// conversation before it, the plan, and the conversation after. A message is a
// line: id, role, options, text. The options are
//
//	call=ID for=ID        a call to run; a result
//	protected machine summary marker outlined   what the message is
//	score=0.5             how relevant it is
//	pad=N                 N words behind the text, 4 bytes each
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data := must(os.ReadFile(file))
			a := txtar.Parse(data)
			c := readCase(t, a)
			edits, after := c.run(t)
			set(a, "plan", showPlan(edits))
			set(a, "after", show(after))
			if got := txtar.Format(a); *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal(got, data) {
				t.Errorf("got (-update writes it)\n%s", got)
			}
		})
	}
}

func set(a *txtar.Archive, name, data string) {
	for i, f := range a.Files {
		if f.Name == name {
			a.Files[i].Data = []byte(data)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(data)})
}

// A planCase is a golden file as read.
type planCase struct {
	level   string
	options map[string]string
	view    levels.View
	scores  []float64
	policy  protection.Policy
}

func readCase(t *testing.T, a *txtar.Archive) planCase {
	t.Helper()
	c := planCase{options: make(map[string]string), policy: protection.Policy{Roles: []chat.Role{chat.System}}}
	for _, f := range a.Files {
		lines := strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		switch f.Name {
		case "level":
			fields := strings.Fields(lines[0])
			c.level = fields[0]
			for _, o := range fields[1:] {
				name, value, _ := strings.Cut(o, "=")
				c.options[name] = value
			}
		case "before":
			c.policy.NoPinFirst = c.options["pin"] == "off"
			c.read(lines)
		}
	}
	if len(c.view.Messages) == 0 {
		t.Fatal("a case needs the sections level and before, in this order")
	}
	return c
}

func (c *planCase) read(lines []string) {
	var in chat.Transcript
	for _, line := range lines {
		m, score := readMessage(line)
		in, c.scores = append(in, m), append(c.scores, score)
	}
	c.view = viewOf(in)
	c.view.Protections = c.policy.Protections(in)
	c.view.Count, c.view.Size = four, sizeOfFour
	c.view.Was = make(map[string]chat.Message)
	for i, m := range in {
		c.view.Sizes[i] = sizeOfFour(m)
		if m.State == chat.Outlined {
			c.view.Was[m.ID] = m
		}
	}
}

// four counts four bytes as a token.
func four(s string) int { return (len(s) + 3) / 4 }

func sizeOfFour(m chat.Message) int {
	n := 4
	for _, p := range m.Parts {
		n += four(p.Text) + four(p.Args)
	}
	return n
}

func readMessage(line string) (m chat.Message, score float64) {
	fields := strings.SplitN(line, " ", 3)
	m.ID, m.Role = fields[0], chat.Role(fields[1])
	rest := fields[2]
	part := chat.Part{Kind: chat.Text}
	pad, call := 0, ""
	for {
		word, after, _ := strings.Cut(rest, " ")
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "call":
			call = value
		case "for":
			part.Kind, part.ID = chat.Result, value
		case "score":
			score = must(strconv.ParseFloat(value, 64))
		case "pad":
			pad = must(strconv.Atoi(value))
		case "protected":
			m.Protected = true
		case "machine":
			m.Machine = true
		case "summary":
			m.State, m.Recall, part.Kind = chat.Summarized, "00000000", chat.Summary
		case "marker":
			m.State, m.Recall = chat.Marked, "00000001"
		case "outlined":
			m.State, m.Recall = chat.Outlined, "00000002"
		default:
			text := strings.ReplaceAll(rest, `\n`, "\n") + strings.Repeat(" pad", pad)
			m.Parts = partsOf(part, call, strings.TrimSpace(text))
			return m, score
		}
		rest = after
	}
}

// partsOf returns the parts of a message; of a call the text is the command.
func partsOf(p chat.Part, call, text string) []chat.Part {
	if call == "" {
		p.Text = text
		return []chat.Part{p}
	}
	return []chat.Part{{Kind: chat.Call, ID: call, Name: "run", Args: fmt.Sprintf(`{"command":%s}`, strconv.Quote(text))}}
}

func (c planCase) number(t *testing.T, name string) int {
	t.Helper()
	if c.options[name] == "" {
		return 0
	}
	return must(strconv.Atoi(c.options[name]))
}

const allHolds = protection.Protected | protection.First | protection.Session | protection.Open | protection.Unread | protection.Latest | protection.Correction

// run plans and applies as a round does.
func (c planCase) run(t *testing.T) (edits []edit.Edit, after chat.Transcript) {
	t.Helper()
	mask, rules := allHolds, edit.Rules{Size: sizeOfFour}
	switch c.level {
	case "hard":
		edits = levels.Hard{Target: c.number(t, "target"), Ledger: c.number(t, "ledger"), Keep: c.number(t, "keep")}.Plan(c.view, c.scores)
	case "cut":
		mask &^= protection.Session
		if c.number(t, "keep") == 0 {
			mask &^= protection.First | protection.Correction
			if c.options["role"] == "system" {
				mask &^= protection.Latest
				rules.NoUser = true
			}
		}
		edits = c.fold(t, levels.EmergencyCut(c.view, c.number(t, "keep"), chat.Role(c.options["role"])))
	case "layers":
		mask &^= protection.Session
		cut := levels.LayersCut(c.view, c.number(t, "turns"), c.number(t, "pairs"))
		rules.Moved = func(i int) bool { return cut.Front[i] }
		edits = c.fold(t, cut)
	case "fit":
		mask = protection.Protected
		edits = levels.Truncate(c.view, c.number(t, "limit"))
		t.Logf("floor %d", levels.Floor(c.view, c.number(t, "limit")))
	default:
		t.Fatalf("no level %q", c.level)
	}
	rules.Locked = func(i int) bool { return c.view.Protections[i]&mask != 0 }
	edits = must(edit.Separate(c.view.Messages, edits, c.view.Separator(levels.Name(c.level))))
	after, err := edit.Apply(c.view.Messages, edits, rules)
	if err != nil {
		t.Fatalf("%v\n%s", err, showPlan(edits))
	}
	return edits, after
}

func (c planCase) fold(t *testing.T, cut levels.Cut) []edit.Edit {
	if cut.Empty(c.view.Messages) {
		return nil
	}
	if c.options["summary"] == "none" {
		return levels.SummaryEdits(c.view, cut, nil, "dropped")
	}
	told, previous := cut.Summarised(c.view)
	content := "told of:"
	for _, m := range told {
		content += " " + m.ID
	}
	if previous != "" {
		content += "; before: " + previous
	}
	if names, _ := cut.Names(c.view, content, "", c.number(t, "ledger"), 0); len(names) > 0 {
		content += "; names: " + strings.Join(names, " ")
	}
	m := protection.NewSummary(2, chat.Role(c.options["role"]), content, "")
	return levels.SummaryEdits(c.view, cut, &m, "summarised")
}

func showPlan(edits []edit.Edit) string {
	var b strings.Builder
	for _, e := range edits {
		fmt.Fprintf(&b, "%d-%d by %d: %s\n", e.Start, e.End, len(e.New), e.Why)
	}
	return b.String()
}

func show(t chat.Transcript) string {
	var b strings.Builder
	for _, m := range t {
		text := strings.TrimSpace(m.TextWithCalls())
		if short := text[:len(text)-len(padding(text))]; short != text {
			text = fmt.Sprintf("%s pad*%d", short, strings.Count(text[len(short):], "pad"))
		}
		if runes := []rune(text); len(runes) > 300 {
			text = string(runes[:300]) + "…"
		}
		state := ""
		if m.State != chat.Active {
			state = " [" + string(m.State) + "]"
		}
		fmt.Fprintf(&b, "%s %s%s %d: %s\n", m.ID, m.Role, state, sizeOfFour(m), strings.ReplaceAll(text, "\n", `\n`))
	}
	fmt.Fprintf(&b, "%d tokens\n", totalOfFour(t))
	return b.String()
}

// padding returns what pad has put behind a text.
func padding(text string) string {
	end := len(text)
	for strings.HasSuffix(text[:end], " pad") {
		end -= len(" pad")
	}
	return text[end:]
}

func totalOfFour(t chat.Transcript) (n int) {
	for _, m := range t {
		n += sizeOfFour(m)
	}
	return n
}
