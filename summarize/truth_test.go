package summarize_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/logline"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/wire"
)

// readAllSessions reads the real sessions of all formats that can be read.
func readAllSessions(t *testing.T) map[string][]chat.Message {
	t.Helper()
	sessions := make(map[string][]chat.Message)
	err := filepath.WalkDir(corpus, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") && !strings.HasSuffix(path, ".jsonl") && !strings.HasSuffix(path, ".traj") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		if c, err := wire.DecodeBytes(b, wire.Options{Lenient: true}); err == nil && len(c.Messages) > 2 {
			sessions[strings.TrimPrefix(path, corpus)] = c.Messages
		}
		return nil
	})
	if err != nil || len(sessions) == 0 {
		t.Skip("no real sessions in " + corpus)
	}
	return sessions
}

// A lastRun is how a command ended the last time, by what the format says.
type lastRun struct {
	failed, known bool
}

// plainLine returns a command as it is shown, and whether the exit is that of all of
// it: no other command hides it.
func plainLine(command string) (line string, whole bool) {
	line = strings.TrimSpace(strings.ReplaceAll(command, " 2>&1", ""))
	for strings.HasPrefix(line, "cd ") {
		_, rest, ok := strings.Cut(line, "&&")
		if !ok {
			break
		}
		line = strings.TrimSpace(rest)
	}
	return strings.Join(strings.Fields(line), " "), !strings.ContainsAny(line, "|;\n<") && len(line) < 150
}

// lastRuns returns how each command ended the last time, if the format gives the exit
// or marks failures.
func lastRuns(messages []chat.Message) map[string]lastRun {
	marks := false
	for _, m := range messages {
		for _, p := range m.Parts {
			marks = marks || p.Kind == chat.Result && p.Error
		}
	}
	runs, calls := make(map[string]lastRun), make(map[string]string)
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.Call:
				var args struct {
					Command any
					Cmd     string
				}
				delete(calls, p.ID)
				if json.Unmarshal([]byte(p.Args), &args) == nil {
					if c, ok := args.Command.(string); ok {
						calls[p.ID] = c
					} else if args.Cmd != "" {
						calls[p.ID] = args.Cmd
					}
				}
			case chat.Result:
				command, ok := calls[p.ID]
				if !ok {
					continue
				}
				code, known := logline.ExitCode(p.Text)
				if line, whole := plainLine(command); whole {
					runs[line] = lastRun{p.Error || known && code != 0, known || marks}
				} else {
					delete(runs, line)
				}
			}
		}
	}
	return runs
}

// Over all real sessions whose format gives the exit, no command that failed is
// reported as done, and none that went well as failed.
func TestRealCommandsAreReportedAsTheyEnded(t *testing.T) {
	checked, wrong := 0, 0
	for name, messages := range readAllSessions(t) {
		facts := summarize.FactsOf(messages, "", 1<<20, nil)
		reported := make(map[string]string)
		for line := range strings.SplitSeq(facts, "\n") {
			if call, end, ok := strings.Cut(strings.TrimPrefix(line, "- "), " → "); ok && strings.HasPrefix(line, "- ") {
				reported[call] = end
			}
		}
		for command, run := range lastRuns(messages) {
			end, ok := reported[command]
			if !ok || !run.known {
				continue
			}
			checked++
			if failed := strings.HasPrefix(end, "failed"); failed != run.failed {
				wrong++
				t.Errorf("%s: %q failed: %v, reported: %s", name, command, run.failed, end)
			}
		}
	}
	t.Logf("%d commands checked, %d reported wrongly", checked, wrong)
}
