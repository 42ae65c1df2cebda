package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/wire"
)

// A desk is the folder of one undo test.
type desk struct {
	*testing.T
	dir string
}

func (d desk) path(name string) string { return filepath.Join(d.dir, name) }

// formatFlags returns the flag for a format, none for "".
func formatFlags(to string) []string {
	if to == "" {
		return nil
	}
	return []string{"--to", to}
}

// run runs a command line that must succeed, and returns its output.
func (d desk) run(args ...string) string {
	d.Helper()
	out, errs, err := runLine(d.T, args...)
	if err != nil {
		d.Fatalf("tiercompact %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out + errs
}

// compact compacts one file into another, and returns the number of rounds in the
// archive afterwards.
func (d desk) compact(file, out, level, to string) int {
	d.Helper()
	d.run(append([]string{"compact", d.path(file), "--engine", "built-in", "--archive", d.path("kept"), "--out", d.path(out), "-q", "-w", "4000", "--level", level}, formatFlags(to)...)...)
	steps, err := filepath.Glob(d.path("kept/*/steps-*.pack"))
	if err != nil {
		d.Fatal(err)
	}
	return len(steps)
}

func (d desk) undo(file, out, to string) {
	d.Helper()
	d.run(append([]string{"undo", d.path(file), "--archive", d.path("kept"), "--out", d.path(out)}, formatFlags(to)...)...)
}

// converted writes a file in another format without compaction.
func (d desk) converted(file, out, to string) {
	d.Helper()
	d.run(append([]string{"compact", d.path(file), "--engine", "built-in", "-w", "100000000", "--out", d.path(out), "-q"}, formatFlags(to)...)...)
}

func (d desk) read(name string) []byte {
	d.Helper()
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		d.Fatal(err)
	}
	return text
}

func (d desk) write(name, text string) {
	d.Helper()
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
}

// conversation returns the conversation that a reader of a file gets.
func (d desk) conversation(name string) chat.Transcript {
	d.Helper()
	c, err := wire.DecodeBytes(d.read(name), wire.Options{Name: name})
	if err != nil {
		d.Fatal(err)
	}
	return c.Messages
}

// same fails if two files do not read as the same conversation.
func (d desk) same(got, want string) {
	d.Helper()
	known := func(t chat.Transcript) archive.Written {
		return archive.NewWritten([]archive.Reading{{Messages: t}}, nil)[0]
	}
	g, w := d.conversation(got), d.conversation(want)
	if gs, ws := known(g).Sums, known(w).Sums; !slices.Equal(gs, ws) {
		at := 0
		for at < min(len(gs), len(ws)) && gs[at] == ws[at] {
			at++
		}
		d.Errorf("%s has %d messages, and %s has %d; message %d is\n%+v\nnot\n%+v", got, len(g), want, len(w), at+1, g[min(at, len(g)-1)].Parts, w[min(at, len(w)-1)].Parts)
	}
}

// goOn writes a file with two more messages, in the form of an assistant.
func (d desk) goOn(in, out string) {
	d.Helper()
	text := d.read(in)
	added := array{object{"role": "user", "content": "Now the appendix, please."}, object{"role": "assistant", "content": strings.Repeat("The appendix says what the report says. ", 60)},
		object{"role": "user", "content": "Thanks."}}
	var body map[string]json.RawMessage
	var messages []json.RawMessage
	switch {
	case json.Unmarshal(text, &messages) == nil:
		d.write(out, inline(append(asList(messages), added...)))
	case json.Unmarshal(text, &body) == nil && body["messages"] != nil:
		if err := json.Unmarshal(body["messages"], &messages); err != nil {
			d.Fatal(err)
		}
		body["messages"] = json.RawMessage(inline(append(asList(messages), added...)))
		d.write(out, inline(body))
	default:
		d.write(out, string(text)+lines(added...))
	}
}

func asList(raw []json.RawMessage) (all array) {
	for _, r := range raw {
		all = append(all, r)
	}
	return all
}

// sound fails if the archive was changed, if an id in small recalls nothing, or if
// small has a fault that big does not have.
func (d desk) sound(small, big string) {
	d.Helper()
	d.run("archive", "verify", "--archive", d.path("kept"))
	for _, id := range regexp.MustCompile(`\brecall ([0-9a-f]{8})\b`).FindAllSubmatch(d.read(small), -1) {
		d.run("recall", string(id[1]), "--archive", d.path("kept"))
	}
	d.run("check", d.path(small), "--against", d.path(big))
}

// eachSession runs f for each readable format, each level and each writable format;
// "" is the format that compact chooses.
func eachSession(t *testing.T, f func(d desk, level, to string)) {
	all := sessions()
	written := append([]string{""}, strings.Split(formatNames(true), ", ")...)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for i, to := range written {
			level := []string{"emergency", "hard"}[i%2]
			t.Run(name+" to "+to+" by "+level, func(t *testing.T) {
				t.Parallel()
				d := desk{t, t.TempDir()}
				d.write("file", all[name])
				f(d, level, to)
			})
		}
	}
}

func TestSessionsAreOfEveryReadableFormat(t *testing.T) {
	seen := make(map[string]bool)
	for name, text := range sessions() {
		c, err := wire.DecodeBytes([]byte(text), wire.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		seen[c.Format] = true
		if format, _, _ := strings.Cut(name, " "); c.Format != format && name != "anthropic plain" && format != "cassette" {
			t.Errorf("%s is read as %s", name, c.Format)
		}
		seen[strings.Split(name, " ")[0]] = true
	}
	for _, f := range wire.Formats() {
		if !seen[f.Name] {
			t.Errorf("no session is of the format %s", f.Name)
		}
	}
}

// The output of compact is undone from the file, in any format, even if the
// conversation continued in it.
func TestUndoKnowsWhatCompactWroteInEveryFormat(t *testing.T) {
	eachSession(t, func(d desk, level, to string) {
		if d.compact("file", "small", level, to) != 1 {
			d.Fatal("nothing was compacted")
		}
		d.sound("small", "file")
		d.undo("small", "back", "")
		d.converted("file", "whole", to)
		if !bytes.Equal(bytes.TrimSpace(d.read("back")), bytes.TrimSpace(d.read("whole"))) {
			d.Errorf("back is %d bytes, and the file written anew %d", len(d.read("back")), len(d.read("whole")))
		}
		d.goOn("small", "grown")
		d.undo("grown", "grown back", "")
		d.goOn("whole", "whole grown")
		d.same("grown back", "whole grown")
	})
}

// Rounds are undone one after the other, the newest first, even if each wrote
// another format.
func TestUndoTakesBackRoundAfterRoundInEveryFormat(t *testing.T) {
	next := map[string]string{"": "", "openai": "anthropic", "anthropic": "ollama", "ollama": "jsonl", "jsonl": "openai"}
	eachSession(t, func(d desk, level, to string) {
		d.compact("file", "small", level, to)
		d.goOn("small", "grown")
		if d.compact("grown", "smaller", "emergency", next[to]) != 2 {
			d.Fatal("the second time nothing was compacted")
		}
		d.sound("smaller", "grown")
		d.undo("smaller", "once", next[to])
		d.converted("grown", "whole once", next[to])
		d.same("once", "whole once")
		d.undo("once", "twice", next[to])
		d.converted("file", "whole", next[to])
		d.goOn("whole", "whole grown")
		d.same("twice", "whole grown")
	})
}

// A file that was converted after its compaction is recognized too.
func TestUndoKnowsAConvertedFile(t *testing.T) {
	all, formats := sessions(), strings.Split(formatNames(true), ", ")
	for i, name := range slices.Sorted(maps.Keys(all)) {
		to := formats[i%len(formats)]
		t.Run(name+" to "+to, func(t *testing.T) {
			t.Parallel()
			d := desk{t, t.TempDir()}
			d.write("file", all[name])
			d.compact("file", "small", "emergency", to)
			d.converted("small", "other", formats[(i+i/4+1)%len(formats)])
			d.undo("other", "back", "openai")
			d.converted("file", "whole", "openai")
			d.same("back", "whole")
		})
	}
}

// A replay makes many rounds on a conversation that continues; they are undone back
// to the first, and the file equals the session.
func TestUndoTakesBackAWholeReplay(t *testing.T) {
	all, formats := sessions(), append(strings.Split(formatNames(true), ", "), "")
	for i, name := range slices.Sorted(maps.Keys(all)) {
		to := formats[i%len(formats)]
		t.Run(name+" to "+to, func(t *testing.T) {
			t.Parallel()
			d := desk{t, t.TempDir()}
			d.write("file", all[name])
			d.run(append([]string{"replay", d.path("file"), "--engine", "built-in", "-w", "2500", "--archive", d.path("kept"), "--out", d.path("now")}, formatFlags(to)...)...)
			steps, err := filepath.Glob(d.path("kept/*/steps-*.pack"))
			if err != nil || len(steps) < 2 {
				t.Fatalf("%d rounds, %v", len(steps), err)
			}
			for range steps {
				d.undo("now", "now", "")
			}
			d.converted("file", "whole", to)
			if !bytes.Equal(d.read("now"), d.read("whole")) {
				d.same("now", "whole")
				t.Errorf("%d bytes come back, and the file written anew has %d", len(d.read("now")), len(d.read("whole")))
			}
		})
	}
}
