package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/archivetest"
	"github.com/tiercompact/tiercompact/internal/redacttest"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// A quoting model fails, and quotes its input in the error, as servers do.
type quoting struct{ seen *bytes.Buffer }

func (q quoting) Summarize(_ context.Context, r summarize.Request) (string, error) {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			fmt.Fprintln(&b, p.Text, p.Args)
		}
	}
	fmt.Fprintln(&b, r.Previous, r.Note, r.Facts)
	q.seen.WriteString(b.String())
	return "", errors.New("cannot write a summary of: " + b.String())
}

func (q quoting) Embed(_ context.Context, texts []string) ([][]float32, error) {
	all := strings.Join(texts, "\n")
	q.seen.WriteString(all)
	return nil, errors.New("cannot embed: " + all)
}

// A refusing archive stores nothing, and quotes its input.
type refusing struct{ *archive.Memory }

func (refusing) Put(_ context.Context, s archive.Step) error {
	return fmt.Errorf("no room for %v, %s", s.Before, s.Note)
}

// spilled is all output of a session with secrets, except its messages.
type spilled struct {
	dir            string
	console, jsonl bytes.Buffer
	errs           []error
	reports        bytes.Buffer
	seen           bytes.Buffer // by models
	made           bytes.Buffer // markers and summaries
}

// noteMade records the texts that a round has put into replacement messages.
func (o *spilled) noteMade(messages chat.Transcript) {
	for _, m := range messages {
		if m.State == chat.Marked || m.IsSummary() {
			fmt.Fprintln(&o.made, m.Text())
		}
	}
}

func (o *spilled) note(r tiercompact.Report, err error) {
	if err != nil {
		o.errs = append(o.errs, err)
	}
	_ = json.NewEncoder(&o.reports).Encode(r)
}

// all returns every text of the output.
func (o *spilled) all(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{
		"console": o.console.String(), "jsonl": o.jsonl.String(), "reports": o.reports.String(), "markers and summaries": o.made.String(),
		"errors": fmt.Sprintf("%v %+v %q", o.errs, o.errs, o.errs),
	}
	files, err := archivetest.Texts(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(out, files)
	return out
}

// spill compacts a session with secrets in every way, and returns its output.
func spill(t *testing.T, secrets []string, cfg tiercompact.Config) (*spilled, chat.Transcript, *tiercompact.Session) {
	t.Helper()
	o := &spilled{dir: t.TempDir()}
	store, err := archive.OpenDir(o.dir, archive.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	model := quoting{&o.seen}
	cfg.Window, cfg.Trigger, cfg.Archive = 1<<20, tiercompact.Manual, store
	cfg.Trace = trace.Join(trace.Console(&o.console), trace.JSONL(&o.jsonl))
	cfg.Embed.Embedder, cfg.Embed.Name, cfg.Summary.Summarizer, cfg.Summary.Name = model, "quoting", model, "quoting"
	s := start(t, cfg)
	if err := s.Load(holding(secrets)); err != nil {
		t.Fatal(err)
	}
	was := slices.Clone(s.Messages())
	for _, level := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency} {
		o.note(s.CompactLevel(t.Context(), level))
		o.noteMade(s.Messages())
		o.note(s.Undo(t.Context()))
	}
	o.note(s.Compact(t.Context(), strings.Join(secrets, "\n")))
	o.noteMade(s.Messages())
	cfg.Archive = refusing{archive.NewMemory()}
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := c.Compact(t.Context(), "y", holding(secrets), strings.Join(secrets, "\n"))
	o.note(r, err)
	if len(o.errs) == 0 {
		t.Fatal("the archive that refuses has not been asked")
	}
	return o, was, s
}

// holding returns messages that hold texts: said, in a call, and in its result.
func holding(texts []string) chat.Transcript {
	out := chat.Transcript{chat.NewText(chat.User, "Set the service up.")}
	for i, text := range texts {
		id := fmt.Sprint("c", i)
		args, err := json.Marshal(map[string]string{"path": fmt.Sprintf("conf/f%d.txt", i), "content": text})
		if err != nil {
			panic(err) // a map of strings
		}
		out = append(out,
			chat.NewText(chat.User, text),
			chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "write", Args: string(args)}}},
			chat.NewResult(id, "wrote:\n"+text),
			chat.NewText(chat.Assistant, fmt.Sprintf("File %d is there.", i)))
	}
	return append(out, chat.NewText(chat.User, "Go on."))
}

func TestNoSecretLeavesASession(t *testing.T) {
	secrets := redacttest.Secrets()
	if len(secrets) < 200 {
		t.Fatalf("%d secrets, want 200", len(secrets))
	}
	var texts []string
	for _, x := range secrets {
		texts = append(texts, x.Text)
	}
	o, was, s := spill(t, texts, tiercompact.Config{Redact: tiercompact.RedactConfig{Prompts: true}})
	left := o.all(t)
	left["prompts"] = o.seen.String()
	for where, text := range left {
		for _, x := range secrets {
			for _, part := range append(x.Parts, x.Value) {
				if len(part) >= 8 && strings.Contains(text, part) {
					t.Errorf("%s: a secret of kind %s stands there (%s)", where, x.Kind, x.Form)
				}
			}
		}
	}
	if _, err := s.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameAs(t, s.Messages(), was) // the conversation itself keeps them
}

// No eight characters of a secret leave a session in any context, or are in a marker or a
// summary: names are taken from redacted texts.
func TestNoPartOfASecretLeavesASession(t *testing.T) {
	for seed := range uint64(2) {
		var texts []string
		secrets := redacttest.Surrounded(seed + 1)
		for _, x := range secrets {
			texts = append(texts, x.Text)
		}
		prompts := seed%2 == 0
		o, _, _ := spill(t, texts, tiercompact.Config{Redact: tiercompact.RedactConfig{Prompts: prompts}})
		left := o.all(t)
		if prompts {
			left["prompts"] = o.seen.String()
		}
		if o.made.Len() == 0 {
			t.Fatal("no marker and no summary was made")
		}
		find := redacttest.NewFinder(secrets)
		for where, text := range left {
			if part, x := find.Leak(text); part != "" {
				i := strings.Index(text, part)
				t.Errorf("seed %d: %s has %q of %s in %s: …%q…", seed+1, where, part, x.Kind, x.Form, text[max(0, i-60):min(len(text), i+60)])
			}
		}
	}
}

func TestLookAlikesOfSecretsStay(t *testing.T) {
	alike := slices.DeleteFunc(redacttest.LookAlikes(), func(s string) bool { return strings.Contains(s, "REDACTED") })
	if len(alike) < 190 {
		t.Fatalf("%d texts, want about 200", len(alike))
	}
	o, _, s := spill(t, alike, tiercompact.Config{})
	for where, text := range o.all(t) {
		if strings.Contains(text, "REDACTED") {
			i := strings.Index(text, "REDACTED")
			t.Errorf("%s: something is redacted: …%q…", where, text[max(0, i-80):min(len(text), i+40)])
		}
	}
	back, err := archive.Undo(t.Context(), archiveOf(t, o.dir), s.ID(), s.Messages())
	if err != nil || len(back.Round.Redacted) > 0 {
		t.Errorf("messages %v come back other than they were, %v", back.Round.Redacted, err)
	}
	if len(back.Messages) != len(holding(alike)) {
		t.Errorf("%d messages come back", len(back.Messages))
	}
}

// What is changed is reported with its path, and archived with the name of the
// tool and the address of an image.
func TestASecretInAPathAToolOrAnAddressLeavesNoSession(t *testing.T) {
	secret := "gh" + "p_" + strings.Repeat("aB3dE6gH9", 4)
	c, dir := newArchived(t)
	args, err := json.Marshal(map[string]string{"path": "/srv/" + secret + "/main.go"})
	if err != nil {
		t.Fatal(err)
	}
	text := prose(1500, 1)
	s := c.Session("x")
	var reports bytes.Buffer
	messages := append(chat.Transcript{
		chat.NewText(chat.User, "Read it."),
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: "read_" + secret, Args: string(args)}}},
		{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: "c", Text: "package main\n" + text}}},
		{Role: chat.User, Parts: []chat.Part{{Kind: chat.Image, Image: &chat.Picture{URL: "https://example.org/a.png?X-Signature=" + secret, Detail: secret}}}},
	}, working(12, 200)...)
	if err := s.Load(messages); err != nil {
		t.Fatal(err)
	}
	for _, level := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency} {
		r, err := s.CompactLevel(t.Context(), level)
		if err != nil || !r.Compacted() {
			t.Fatalf("%s: %q, %v", level, r.Reason, err)
		}
		if err := json.NewEncoder(&reports).Encode(r); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	o := spilled{dir: dir, reports: reports}
	for where, text := range o.all(t) {
		if strings.Contains(text, secret) {
			t.Errorf("%s: the secret stands there", where)
		}
	}
}

// A client may leave out the message that identified the secret.
func TestPreflightsOfOneIDRememberSecrets(t *testing.T) {
	secret := "Xk29" + "dkfj39fk" + "LLq2Zw8"
	c, dir := newArchived(t)
	for _, said := range []string{"password=" + secret, "Hello."} {
		messages := append(chat.Transcript{chat.NewText(chat.User, said), chat.NewText(chat.Assistant, "I take "+secret+" then. "+said[:5])}, working(12, 200)...)
		_, r, err := c.Compact(t.Context(), "x", messages, "")
		if err != nil || !r.Compacted() {
			t.Fatalf("%q, %v", r.Reason, err)
		}
	}
	o := spilled{dir: dir}
	for where, text := range o.all(t) {
		if strings.Contains(text, secret) {
			t.Errorf("%s: the secret stands there", where)
		}
	}
}

// newArchived returns a compactor with an archive in a folder.
func newArchived(t *testing.T) (*tiercompact.Compactor, string) {
	t.Helper()
	dir := t.TempDir()
	store, err := archive.OpenDir(dir, archive.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tiercompact.New(tiercompact.Config{Window: 1 << 20, Trigger: tiercompact.Manual, Archive: store})
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// archiveOf opens an archive that is in use for reading.
func archiveOf(t *testing.T, dir string) archive.Store {
	t.Helper()
	store, err := archive.OpenDir(dir, archive.DirOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestRedactionThatIsOffIsAWarning(t *testing.T) {
	var events []trace.Event
	cfg := tiercompact.Config{Window: 1000, Redact: tiercompact.RedactConfig{Off: true}, Trace: func(e trace.Event) { events = append(events, e) }}
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "a"} {
		if _, err := c.Session(id).AddMessage(t.Context(), chat.NewText(chat.User, "password = hunter2")); err != nil {
			t.Fatal(err)
		}
	}
	var warnings []trace.Warning
	for _, e := range events {
		if w, ok := e.Data.(trace.Warning); ok {
			warnings = append(warnings, w)
		}
	}
	if len(warnings) != 1 || warnings[0].Severity != "high" || warnings[0].Remedy == "" {
		t.Errorf("warnings %+v, want one of high severity", warnings)
	}
}

// Text that an active round removed is returned unchanged; from the archive it is returned
// redacted.
func TestRecallGivesBackWhatWasThereInTheSameProcess(t *testing.T) {
	k := keep(t, append(holding([]string{"the key is password = hunter2, see conf " + prose(500, 1)}), working(10, 500)...))
	r, err := k.Compact(t.Context(), "")
	if err != nil || len(r.Edits) == 0 {
		t.Fatalf("%q, %v", r.Reason, err)
	}
	id := r.Edits[0].Recall
	has := func() bool {
		e, err := k.Recall(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(fmt.Sprint(e), "hunter2")
	}
	if !has() {
		t.Error("the process has forgotten it")
	}
	k.restart()
	if has() {
		t.Error("it stands in the archive")
	}
}

// A summary is made of messages: their secrets are not in it, by value. Contact addresses stay.
func TestNoSecretIsInASummary(t *testing.T) {
	first, second := "Winter"+"2031Kx7", "Herbst"+"2030Qm42"
	ask := chat.NewText(chat.User, `the queue is amqp://app:`+first+`@mq.internal:5672/v and the login is {"pass":"`+second+`"}; tell ops@example.com`)
	messages := chat.Transcript{chat.NewText(chat.User, "Fix the migration."), ask}
	for i := range 12 {
		messages = append(messages, chat.NewText(chat.Assistant, fmt.Sprintf("Part %d. %s", i, prose(600, i))), chat.NewText(chat.User, fmt.Sprintf("Go on with part %d, as %s says.", i+1, second)))
	}
	for _, off := range []bool{false, true} {
		s := start(t, tiercompact.Config{Window: 4000, Trigger: tiercompact.Manual, Redact: tiercompact.RedactConfig{Off: off}})
		if err := s.Load(messages); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CompactLevel(t.Context(), levels.Emergency); err != nil {
			t.Fatal(err)
		}
		var summary strings.Builder
		for _, m := range s.Messages() {
			if m.IsSummary() {
				summary.WriteString(m.Text())
			}
		}
		if n := strings.Count(summary.String(), first) + strings.Count(summary.String(), second); summary.String() == "" || off != (n > 0) || !strings.Contains(summary.String(), "ops@example.com") {
			t.Errorf("redaction off: %v; a secret stands %d times in\n%s", off, n, summary.String())
		}
		if _, err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all := s.Messages(); !strings.Contains(all[1].Text(), first) {
			t.Errorf("what comes back is %s", all[1].Text())
		}
	}
}
