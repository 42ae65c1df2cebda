package levels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// hardRound makes one round of hard on in.
func hardRound(t *testing.T, in chat.Transcript, scores func(i int) float64) chat.Transcript {
	t.Helper()
	v := viewOf(in)
	v.Protections, v.Count, v.Size, v.Window = protection.Policy{}.Protections(in), four, sizeOfFour, 100000
	rated := make([]float64, len(in))
	for i, m := range in {
		v.Sizes[i], rated[i] = sizeOfFour(m), scores(i)
	}
	edits, err := edit.Separate(in, levels.Hard{Ledger: 1000}.Plan(v, rated), v.Separator(levels.HardName))
	if err != nil {
		t.Fatal(err)
	}
	after, err := edit.Apply(in, edits, edit.Rules{Locked: func(i int) bool { return v.Protections[i] != 0 }, Size: sizeOfFour})
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// exchange is a request, a call with its result, and what was answered.
func exchange(n int) chat.Transcript {
	id := func(s string) string { return fmt.Sprint(s, n) }
	call := chat.Message{ID: id("c"), Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id("call"), Name: "run", Args: fmt.Sprintf(`{"command":"make step_%d_of_all"}`, n)}}}
	result, asked, said := chat.NewResult(id("call"), strings.Repeat("a line of the log\n", 10)), chat.NewText(chat.User, fmt.Sprintf("Please do step %d of the plan.", n)),
		chat.NewText(chat.Assistant, fmt.Sprintf("Step %d is done. %sAll of its tests pass.", n, strings.Repeat("There is more to say of it. ", 20)))
	result.ID, asked.ID, said.ID = id("r"), id("u"), id("a")
	return chat.Transcript{asked, call, result, said}
}

func TestRoundsLeaveNoRecordInTheVoiceOfTheAssistant(t *testing.T) {
	for name, scores := range map[string]func(m chat.Message, i int) float64{
		"requests stay": func(m chat.Message, i int) float64 { return map[chat.Role]float64{chat.User: 1}[m.Role] },
		"answers stay":  func(m chat.Message, i int) float64 { return map[bool]float64{true: 1}[m.Role == chat.Assistant] },
		"the log stays": func(m chat.Message, i int) float64 { return map[chat.Role]float64{chat.Tool: 1}[m.Role] },
		"any stay":      func(m chat.Message, i int) float64 { return float64(i * 7919 % 13) },
	} {
		var talk chat.Transcript
		for n := range 40 {
			talk = append(talk, exchange(n)...)
			if n%5 != 4 {
				continue
			}
			talk = hardRound(t, talk, func(i int) float64 { return scores(talk[i], i) })
			for i, m := range talk {
				record := strings.HasPrefix(m.Text(), "[marker ")
				switch {
				case record && m.Role == chat.Assistant:
					t.Errorf("%s: after exchange %d the assistant says %q", name, n, m.Text())
				case record && i > 0 && strings.HasPrefix(talk[i-1].Text(), "[marker "):
					t.Errorf("%s: after exchange %d two markers in a row", name, n)
				case m.State == chat.Marked && m.Role == chat.Assistant && !strings.Contains(m.Text(), " is done"):
					t.Errorf("%s: after exchange %d the assistant says %q", name, n, m.Text())
				}
				if m.Role == chat.User && i+1 < len(talk) && talk[i+1].State == chat.Marked && talk[i+1].Role == chat.Assistant {
					var asked, said int
					fmt.Sscanf(m.Text(), "Please do step %d", &asked)
					if fmt.Sscanf(talk[i+1].Text(), "Step %d is done", &said); asked != said && !record {
						t.Errorf("%s: %q is answered by %q", name, m.Text(), talk[i+1].Text())
					}
				}
			}
		}
	}
}

func TestHardKeepsACorrectionWithWhatItCorrectsOrNeither(t *testing.T) {
	in := chat.Transcript{chat.NewText(chat.User, "We build the export service."), chat.NewText(chat.Assistant, "Understood.")}
	for n := range 12 {
		ask := fmt.Sprintf("Write the chapter about subject%d.", n)
		switch n {
		case 3:
			ask = "Store the invoices in Postgres."
		case 6:
			ask = "No, not Postgres, the invoices go to SQLite."
		}
		in = append(in, chat.NewText(chat.User, ask), chat.NewText(chat.Assistant, "Done."))
	}
	for i := range in {
		in[i].ID = fmt.Sprint("m", i)
	}
	for wrong := range 4 { // how well each of the two is rated
		after := hardRound(t, in, func(i int) float64 {
			switch text := in[i].Text(); {
			case strings.HasPrefix(text, "Store"):
				return float64(wrong % 2)
			case strings.HasPrefix(text, "No, not"):
				return float64(wrong / 2)
			}
			return 0.5 + float64(i)/1000
		})
		has := func(text string) bool {
			return chat.Newest(after, func(m chat.Message) bool { return strings.HasPrefix(m.Text(), text) }) >= 0
		}
		if has("Store") && !has("No, not") {
			t.Errorf("case %d: what was corrected stays alone", wrong)
		}
	}
}

// A marker that separates two texts is named after the one that follows it. The
// replacement of that text needs another id after its removal.
func TestWhatStandsForAnAnswerHasAnIDOfItsOwn(t *testing.T) {
	long := strings.Repeat("There is more_to_say of it. ", 60)
	says := func(id string, role chat.Role, text string) chat.Message {
		m := chat.NewText(role, text)
		m.ID = id
		return m
	}
	parting := says("marker-a2", chat.User, "[marker a gap]")
	parting.State = chat.Marked
	in := chat.Transcript{
		says("u0", chat.User, "Build it."), says("a0", chat.Assistant, "Built. "+long), says("u1", chat.User, "And the name_of_tests? "+long),
		says("a1", chat.Assistant, "They are in some_other_place. "+long), parting, says("a2", chat.Assistant, "They pass_in_all_forms. "+long), says("u2", chat.User, "Go on."),
	}
	for n := range 5 {
		in = append(in, says(fmt.Sprint("n", n), []chat.Role{chat.Assistant, chat.User}[n%2], "Next."))
	}
	stay := map[string]bool{"a0": true, "u2": true}
	after := hardRound(t, in, func(i int) float64 { return map[bool]float64{true: 1}[stay[in[i].ID]] })
	said := chat.Newest(after, func(m chat.Message) bool { return m.State == chat.Marked && m.Role == chat.Assistant })
	if said < 0 || !strings.HasPrefix(after[said].Text(), "They pass_in_all_forms.") {
		t.Errorf("the answer before the last request is not said:\n%v", after)
	}
}
