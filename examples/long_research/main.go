// Command long_research is a long session that reads source after source: far more
// than the window holds. Instructions are pinned, notes are protected by a matcher,
// sources are removed and can be found again. At the end a table shows what is left
// of each source. Events go to the Ariadne server at ARIADNE_ENDPOINT, if that is
// set.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
)

//go:embed sources.txt
var sources string

func main() {
	if err := runResearch(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func runResearch(ctx context.Context) error {
	var events trace.Sink // nil: no events
	if address := os.Getenv("ARIADNE_ENDPOINT"); address != "" {
		sink, err := ariadne.New(ariadne.Config{URL: address})
		if err != nil {
			return err
		}
		defer sink.Close(ctx)
		events = sink.Emit
	}
	compactor, err := tiercompact.New(tiercompact.Config{
		Window:  1400,
		Trace:   events,
		Protect: func(m chat.Message) bool { return m.Role == chat.Assistant && strings.HasPrefix(m.Text(), "NOTE") },
	})
	if err != nil {
		return err
	}
	defer compactor.Close()
	r := research{session: compactor.Session("averil-point")}

	rules := chat.NewText(chat.User, "Find out the history of the light at Averil Point. Name your source for each date and each sum. Do not guess.")
	rules.Protected = true // one message; the notes are recognised by their first word
	if err := r.addMessages(ctx, chat.NewText(chat.System, "You read sources one by one, and write a note of each."), rules); err != nil {
		return err
	}
	all := strings.Split(strings.TrimSpace(sources), "\n\n")
	for i, block := range all {
		if err := r.addSource(ctx, i, block); err != nil {
			return err
		}
		if i == len(all)/2 {
			report, err := r.session.Compact(ctx, "keep what is about the crack in the wall")
			if err != nil {
				return err
			}
			fmt.Print("by hand: ")
			r.printReport(report)
		}
	}
	return r.printSources(ctx)
}

// A research is a session with its notes and sources.
type research struct {
	session *tiercompact.Session
	sources []source
	rounds  int
	freed   int
	tokens  int // of all that was ever added
}

type source struct{ name, text, note string }

// addSource adds a question, if there is one, the call that fetches a source, its
// text, and the note.
func (r *research) addSource(ctx context.Context, i int, block string) error {
	if question, rest, ok := strings.Cut(block, "\n"); ok && strings.HasPrefix(question, "ask: ") {
		block = rest
		if err := r.addMessages(ctx, chat.NewText(chat.User, strings.TrimPrefix(question, "ask: "))); err != nil {
			return err
		}
	}
	head, body, _ := strings.Cut(block, "\n")
	text, note, _ := strings.Cut(body, "\nnote: ")
	s := source{strings.TrimPrefix(head, "source: "), text, note}
	r.sources = append(r.sources, s)
	id := fmt.Sprintf("fetch_%02d", i+1)
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "fetch", Args: fmt.Sprintf(`{"source": %q}`, s.name)}}}
	return r.addMessages(ctx, call, chat.NewResult(id, s.text), chat.NewText(chat.Assistant, "NOTE, "+s.name+": "+s.note))
}

func (r *research) addMessages(ctx context.Context, messages ...chat.Message) error {
	for _, m := range messages {
		before := r.session.Usage().Tokens
		report, err := r.session.AddMessage(ctx, m)
		if err != nil {
			return err
		}
		r.tokens += report.Before - before
		if report.Compacted() {
			r.printReport(report)
		}
	}
	return nil
}

// printReport prints the effect of a round.
func (r *research) printReport(report tiercompact.Report) {
	r.rounds++
	r.freed += report.Freed()
	var did []string
	for _, a := range report.Applied {
		did = append(did, string(a.Level))
	}
	fmt.Printf("round %2d after source %2d: %-9s %4d -> %4d tokens, %2d messages remain\n",
		r.rounds, len(r.sources), strings.Join(did, "+"), report.Before, report.After, len(r.session.Messages()))
}

// printSources prints what is left of each source: in the conversation, as a note,
// and in the archive, by a search with its own words.
func (r *research) printSources(ctx context.Context) error {
	var stands strings.Builder
	for _, m := range r.session.Messages() {
		stands.WriteString(m.Text() + "\n")
		for _, p := range m.Parts {
			stands.WriteString(p.Text + "\n")
		}
	}
	fmt.Printf("\n%-48s %-6s %-5s %s\n", "source", "text", "note", "recall")
	for _, s := range r.sources {
		text, note, recall := "gone", "lost", "-"
		if strings.Contains(stands.String(), s.text) {
			text = "whole"
		}
		if strings.Contains(stands.String(), s.note) {
			note = "kept"
		}
		hits, err := r.session.Search(ctx, s.text[:60], 1)
		if err != nil {
			return err
		}
		if len(hits) > 0 && strings.Contains(hits[0].Text, s.text[:60]) {
			recall = hits[0].ID
		}
		fmt.Printf("%-48s %-6s %-5s %s\n", s.name, text, note, recall)
	}
	u := r.session.Usage()
	fmt.Printf("\n%d tokens came in, %d were freed in %d rounds, %d of a window of %d are in use\n", r.tokens, r.freed, r.rounds, u.Tokens, u.Window)
	return nil
}
