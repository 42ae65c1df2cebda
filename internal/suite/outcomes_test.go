package suite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/wire"
)

// In real sessions whose format gives the exit of a command, a summary tells no command as
// done whose last run failed, and none as failed whose last run went well. The exits are
// read from the file, without the readers of the product. Each session is cut at several
// places; a second summary is made from the first one's record.
func TestSummariesTellHowTheLastRunEnded(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpus, "*", "*"))
	if len(files) == 0 {
		t.Skipf("no sessions in %s", corpus)
	}
	var read, lines, wrong atomic.Int64
	t.Run("session", func(t *testing.T) {
		for _, file := range files {
			t.Run(strings.TrimPrefix(file, corpus+"/"), func(t *testing.T) {
				t.Parallel()
				n, problems := checkOutcomes(t, file)
				if n > 0 {
					read.Add(1)
				}
				lines.Add(int64(n))
				wrong.Add(int64(len(problems)))
				for _, p := range problems {
					t.Error(p)
				}
			})
		}
	})
	t.Logf("%d sessions, %d command lines, %d differences", read.Load(), lines.Load(), wrong.Load())
	if read.Load() < 60 || lines.Load() < 1000 {
		t.Errorf("%d sessions with %d command lines: this tests next to nothing", read.Load(), lines.Load())
	}
}

// checkOutcomes returns the number of lines about commands in the summaries of a file,
// and the differences from the runs in it.
func checkOutcomes(t *testing.T, file string) (lines int, problems []string) {
	data := readFile(t, file)
	for _, share := range []int{25, 50, 75, 100} {
		part := firstShare(data, share)
		runs := runsOf(part)
		c, err := wire.DecodeBytes(part, wire.Options{Name: file, Chat: 1})
		if len(runs) == 0 || err != nil {
			continue
		}
		for _, half := range []int{0, len(c.Messages) / 2} {
			for _, told := range toldCommands(summaryOf(t, c.Messages, half)) {
				run, ok := lastRunOf(runs, told.command)
				if !ok {
					continue
				}
				lines++
				if problem := told.problem(run); problem != "" {
					problems = append(problems, fmt.Sprintf("at %d %%: %s\n\tsummary: %s\n\tcommand: %.300s\n\toutput: %.300q", share, problem, told.line, run.command, run.output))
				}
			}
		}
	}
	return lines, problems
}

// summaryOf returns the built-in summary of messages. If half is not 0, the record of
// the first half messages is written and read again in between.
func summaryOf(t *testing.T, messages []chat.Message, half int) string {
	t.Helper()
	work := summarize.NewRecord("")
	for i, m := range messages {
		if half > 0 && i == half {
			work = summarize.NewRecord(work.Text())
		}
		work.Add(m)
	}
	facts := work.Facts(messages, func(string) bool { return false }, 20_000, nil)
	text, err := summarize.Extractive{}.Summarize(t.Context(), summarize.Request{Messages: messages, MaxTokens: 30_000, Facts: facts, Work: work})
	if err != nil {
		t.Fatal(err)
	}
	return text + "\n\n" + facts
}

// firstShare returns the first records of a transcript, share percent of them.
func firstShare(data []byte, share int) []byte {
	cut := func(n int) int { return (n*share + 99) / 100 }
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil {
		part, _ := json.Marshal(list[:cut(len(list))])
		return part
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) == nil {
		if json.Unmarshal(object["messages"], &list) != nil {
			return nil
		}
		object["messages"], _ = json.Marshal(list[:cut(len(list))])
		part, _ := json.Marshal(object)
		return part
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	return bytes.Join(lines[:cut(len(lines))], nil)
}

// An exitRun is a run of a command with its exit, as the client wrote it.
type exitRun struct {
	command, output string
	failed          bool
	stopped         bool // by the user, after it did not end
	code            int  // 0 if it is not known, or if the command went well; -1 if it goes on
}

// runsOf returns the runs whose exit is in a transcript, in order.
func runsOf(data []byte) (runs []exitRun) {
	calls := make(map[string]string) // commands by the id of their call
	var records []map[string]any
	var object map[string]any
	if json.Unmarshal(data, &records) != nil {
		if json.Unmarshal(data, &object) == nil {
			for _, m := range listOf(object["messages"]) {
				records = append(records, mapOf(m))
			}
		} else {
			decoder := json.NewDecoder(bytes.NewReader(data))
			for {
				var r map[string]any
				if decoder.Decode(&r) != nil {
					break
				}
				records = append(records, r)
			}
		}
	}
	asked := "" // the command in the text of the last message
	for _, r := range records {
		for _, m := range []map[string]any{r, mapOf(r["message"]), mapOf(r["payload"])} {
			if m["isSidechain"] == true || r["isSidechain"] == true && len(records) > 0 && records[0]["isSidechain"] != true {
				continue
			}
			collectCalls(m, calls)
			for _, run := range resultsIn(m, calls) {
				if strings.Contains(run.output, "CTRL+C was sent") {
					for i := range runs {
						runs[i].stopped = runs[i].stopped || runs[i].code < 0
					}
				}
				runs = append(runs, run)
			}
			text := joinedText(m["content"])
			if _, rest, ok := strings.Cut(text, "```mswea_bash_command\n"); ok && m["role"] == "assistant" {
				asked, _, _ = strings.Cut(rest, "\n```")
			} else if code := returnCode.FindStringSubmatch(text); code != nil && m["role"] == "user" && asked != "" {
				runs = append(runs, exitRun{command: asked, output: text, failed: code[1] != "0", code: number(code[1])})
				asked = ""
			}
		}
	}
	return runs
}

// collectCalls adds the commands that a record calls.
func collectCalls(m map[string]any, calls map[string]string) {
	add := func(id, args any) {
		fields := mapOf(args)
		if text, ok := args.(string); ok {
			_ = json.Unmarshal([]byte(text), &fields)
		}
		command, _ := fields["command"].(string)
		if list := listOf(fields["command"]); len(list) == 3 {
			command, _ = list[2].(string)
		}
		if key, ok := id.(string); ok {
			delete(calls, key) // ids may be used again
			if command != "" {
				calls[key] = command
			}
		}
	}
	for _, e := range append(listOf(m["content"]), m) {
		switch p := mapOf(e); p["type"] {
		case "tool_use":
			add(p["id"], p["input"])
		case "toolCall":
			add(p["id"], p["arguments"])
		case "function_call":
			add(p["call_id"], p["arguments"])
		}
	}
	for _, e := range listOf(m["tool_calls"]) {
		add(mapOf(e)["id"], mapOf(mapOf(e)["function"])["arguments"])
	}
	if id, ok := m["id"].(float64); ok && m["action"] == "run" {
		calls[fmt.Sprint(id)], _ = mapOf(m["args"])["command"].(string)
	}
}

var (
	returnCode = regexp.MustCompile(`<returncode>(-?\d+)</returncode>`)
	exitInText = regexp.MustCompile(`(?m)^(?:Error: )?Exit code (\d+)|[Cc]ommand exited with code (\d+)\s*$|^Exit Code: (\d+)$|^Exit code: (\d+)$|Process exited with code (\d+)|completed with exit code (-?\d+)`)
)

// resultsIn returns the runs whose results are in a record.
func resultsIn(m map[string]any, calls map[string]string) (runs []exitRun) {
	add := func(id any, output string, failed bool) {
		command := calls[fmt.Sprint(id)]
		if command == "" {
			return
		}
		run := exitRun{command: command, output: output, failed: failed}
		for _, code := range exitInText.FindAllStringSubmatch(output, -1) {
			run.code = number(strings.Join(code[1:], ""))
		}
		run.failed = failed || run.code != 0
		runs = append(runs, run)
	}
	for _, e := range listOf(m["content"]) {
		if p := mapOf(e); p["type"] == "tool_result" {
			add(p["tool_use_id"], joinedText(p["content"]), p["is_error"] == true)
		}
	}
	switch {
	case m["role"] == "toolResult":
		add(m["toolCallId"], joinedText(m["content"]), m["isError"] == true)
	case m["role"] == "tool":
		text := joinedText(m["content"])
		add(m["tool_call_id"], text, strings.HasPrefix(text, "<tool_use_error>") || strings.HasPrefix(text, "The user doesn't want"))
	case m["type"] == "function_call_output":
		if text := joinedText(m["output"]); exitInText.MatchString(text) {
			add(m["call_id"], text, false)
		}
	case m["observation"] == "run":
		if code, ok := mapOf(mapOf(m["extras"])["metadata"])["exit_code"].(float64); ok {
			calls["run"] = calls[fmt.Sprint(m["cause"])]
			add("run", joinedText(m["content"])+fmt.Sprint(mapOf(mapOf(m["extras"])["metadata"])["suffix"]), code != 0)
			if len(runs) > 0 {
				runs[0].code = int(code)
			}
		}
	}
	for _, e := range listOf(m["toolCalls"]) {
		c := mapOf(e)
		command, _ := mapOf(c["args"])["command"].(string)
		calls["call"] = command
		for _, r := range listOf(c["result"]) {
			output, _ := mapOf(mapOf(mapOf(r)["functionResponse"])["response"])["output"].(string)
			add("call", output, c["status"] == "error")
		}
	}
	return runs
}

func listOf(v any) []any         { list, _ := v.([]any); return list }
func mapOf(v any) map[string]any { m, _ := v.(map[string]any); return m }
func number(s string) int        { n, _ := strconv.Atoi(s); return n }

// joinedText returns a text, or the joined texts of parts.
func joinedText(v any) string {
	text, _ := v.(string)
	for _, e := range listOf(v) {
		part, _ := mapOf(e)["text"].(string)
		text += part
	}
	return text
}

// A toldCommand is a line of a summary about a command.
type toldCommand struct {
	line, command, end string
	failed             bool
}

// toldCommands returns what a summary tells of commands.
func toldCommands(summary string) (told []toldCommand) {
	section := ""
	for line := range strings.SplitSeq(summary, "\n") {
		item, isItem := strings.CutPrefix(line, "- ")
		if !isItem {
			section = cmp.Or(line, section)
			continue
		}
		pieces := []string{item}
		switch last, isLast := strings.CutPrefix(item, "last done: "); {
		case isLast:
			pieces = slices.DeleteFunc(strings.Split(last, "; "), func(s string) bool { return !strings.Contains(s, " → ") })
		case !slices.Contains([]string{"Commands and how they ended:", "Last errors:", "## Actions", "## Outstanding"}, section):
			continue
		}
		for _, piece := range pieces {
			command, end, _ := strings.Cut(piece, " → ")
			if end == "no result" {
				continue
			}
			told = append(told, toldCommand{line, command, end, strings.HasPrefix(end, "failed") || section == "Last errors:"})
		}
	}
	return told
}

// commandWord is what two spellings of a command have in common.
var commandWord = regexp.MustCompile(`[\pL\d_./-]+`)

// spelling returns a command without spaces, quotes, redirections, a change of folder
// before it, comments, and filters of its output after it.
func spelling(command string) string {
	command = regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(command, "")
	command = strings.ReplaceAll(strings.TrimSpace(command), " 2>&1", "")
	for strings.HasPrefix(command, "cd ") && strings.Contains(command, "&&") {
		_, command, _ = strings.Cut(command, "&&")
		command = strings.TrimSpace(command)
	}
	command = regexp.MustCompile(`(?: \| (?:head|tail|grep|rg|awk|sed|cut|sort|uniq|less|tee|cat|wc)\b[^|]*)+$`).ReplaceAllString(command, "")
	return strings.Join(commandWord.FindAllString(command, -1), "")
}

// lastRunOf returns the last run of a command that a summary tells of, perhaps cut.
func lastRunOf(runs []exitRun, told string) (exitRun, bool) {
	start, cut := strings.CutSuffix(told, "…")
	want := spelling(start)
	if len(want) < 4 {
		return exitRun{}, false
	}
	for _, run := range slices.Backward(runs) {
		body, _, here := strings.Cut(run.command, "<<")
		if s := spelling(run.command); s == want || cut && strings.HasPrefix(s, want) || here && spelling(strings.TrimSuffix(strings.TrimRight(body, ` $("'`), "$(cat")) == want {
			return run, true
		}
	}
	return exitRun{}, false
}

var (
	severalCommands = regexp.MustCompile(`[|;&\n]`)
	searchesLast    = regexp.MustCompile(`(?:^|[|;&(\n])\s*(?:z?e?grep|rg|diff|cmp|test|\[|which|command -v|git (?:diff|grep|check-ignore)|pgrep|ls)\b[^|;&\n]*$`)
	troubleInOutput = regexp.MustCompile(`(?i)fail|error|fatal|panic|exception|denied|not found|no such|cannot|missing|✗|✖|×|exit: ?[1-9]`)
	notRun          = regexp.MustCompile(`is NOT executed`)
)

// problem returns what is wrong with a line about a command whose last run is given, ""
// if nothing is. The exit of the last of several commands says nothing about the others:
// then a line may say that one failed, if its output does.
func (c toldCommand) problem(last exitRun) string {
	switch {
	case last.code < 0 && notRun.MatchString(last.output):
		if !c.failed {
			return "a command that was not executed is told as done"
		}
	case last.code < 0:
		if want := map[bool]string{false: "still running", true: "stopped by Ctrl-C"}[last.stopped]; c.end != want {
			return "a command that is " + want + " is told as ended"
		}
	case last.failed && !c.failed && !(last.code <= 1 && searchesLast.MatchString(strings.TrimSpace(last.command))):
		return "a command that failed is told as done"
	case !last.failed && c.failed && !severalCommands.MatchString(strings.ReplaceAll(last.command, "2>&1", "")):
		return "a command that went well is told as failed"
	case !last.failed && c.failed && !troubleInOutput.MatchString(last.output):
		return "a command whose output shows no failure is told as failed"
	}
	return ""
}
