package files

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// lined returns lines from to, inclusive, of a file, each with its number in a
// format before it.
func lined(from, to int, number string) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		if number != "" {
			fmt.Fprintf(&b, number, n)
		}
		fmt.Fprintf(&b, "int value_%d = compute(%d);\n", n, n*7)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func shell(command string) *chat.Part { return call("Bash", args{"command": command}) }

// A read covers the lines that it shows, not those that the call asked for.
func TestRangesAreThoseOfTheLinesShown(t *testing.T) {
	tests := []struct {
		name  string
		call  *chat.Part
		text  string
		lines [2]int
		whole bool
	}{
		{"numbers from another line than asked", call("Read", args{"file_path": "a.c", "offset": 10, "limit": 50}), lined(12, 61, "%6d\t"), [2]int{12, 61}, false},
		{"fewer lines than asked", call("read", args{"path": "a.c", "offset": 10, "limit": 50}), lined(10, 29, ""), [2]int{10, 29}, false},
		{"a footer", call("read", args{"path": "a.c"}), lined(1, 30, "") + "\n\n[Showing lines 1-30 of 349 (50.0KB limit). Use offset=31 to continue]", [2]int{1, 30}, false},
		{"a footer in brackets", call("read", args{"path": "a.c"}), lined(1, 30, "%d: ") + "\n\n(Showing lines 1-30 of 349. Use offset=31 to continue.)", [2]int{1, 30}, false},
		{"a footer without a total", call("read", args{"path": "a.c"}), lined(1, 30, "%d: ") + "\n\n(Output capped at 50 KB. Showing lines 1-30. Use offset=31 to continue.)", [2]int{1, 30}, false},
		{"a footer for all", call("read", args{"path": "a.c"}), lined(1, 30, "") + "\n\n[Showing lines 1-30 of 30]", [2]int{1, 30}, true},
		{"cut at its end", call("read", args{"path": "a.c", "offset": 1, "limit": 2000}), lined(1, 30, "") + "\n[... 319 lines truncated ...]", [2]int{}, false},
		{"cut in its middle", shell("cat a.c"), lined(1, 30, "") + "\n…1234 tokens truncated…\n" + lined(300, 330, ""), [2]int{}, false},
		{"numbers with a hole", call("Read", args{"file_path": "a.c"}), lined(1, 30, "%6d\t") + "\n" + lined(300, 330, "%6d\t"), [2]int{}, false},
		{"view_range to the end", call("view", args{"path": "a.c", "view_range": []int{20, -1}}), lined(20, 49, "%6d\t"), [2]int{20, 49}, false},
		{"tail", shell("tail -50 a.c"), lined(300, 349, ""), [2]int{}, false},
		{"tail -n", shell("tail -n 50 a.c"), lined(300, 349, ""), [2]int{}, false},
		{"tail from a line", shell("tail -n +300 a.c"), lined(300, 349, ""), [2]int{300, 349}, false},
		{"tail from a line, the old way", shell("tail +300 a.c"), lined(300, 349, ""), [2]int{300, 349}, false},
		{"tail and head", shell("tail -n +300 a.c | head -20"), lined(300, 319, ""), [2]int{300, 319}, false},
		{"head of a tail", shell("tail -50 a.c | head -20"), lined(300, 319, ""), [2]int{}, false},
		{"tail of a head", shell("head -50 a.c | tail -20"), lined(31, 50, ""), [2]int{}, false},
		{"head", shell("head a.c"), lined(1, 10, ""), [2]int{1, 10}, false},
		{"head of more than there is", shell("head -n 400 a.c"), lined(1, 30, ""), [2]int{1, 30}, true},
		{"all but the last", shell("head -n -5 a.c"), lined(1, 30, ""), [2]int{1, 30}, false},
		{"sed to the end", shell("sed -n '300,$p' a.c"), lined(300, 349, ""), [2]int{300, 349}, false},
		{"sed that stops", shell("sed -n '10,39p;40q' a.c"), lined(10, 39, ""), [2]int{10, 39}, false},
		{"sed with a count", shell("sed -n '10,+29p' a.c"), lined(10, 39, ""), [2]int{10, 39}, false},
		{"sed of fewer than asked", shell("sed -n '10,400p' a.c"), lined(10, 39, ""), [2]int{10, 39}, false},
		{"sed with numbers of its own", shell("sed -n '10,39p' a.c | cat -n"), lined(1, 30, "%6d\t"), [2]int{10, 39}, false},
		{"cat -n", shell("cat -n a.c"), lined(1, 30, "%6d\t"), [2]int{1, 30}, true},
		{"cat -n and sed", shell("cat -n a.c | sed -n '10,39p'"), lined(10, 39, "%6d\t"), [2]int{10, 39}, false},
		{"nl counts no blank lines", shell("nl a.c | sed -n '40,69p'"), lined(30, 59, "%6d\t"), [2]int{40, 69}, false},
		{"nl -ba", shell("nl -ba a.c | sed -n '40,69p'"), lined(40, 69, "%6d\t"), [2]int{40, 69}, false},
		{"awk", shell("awk 'NR>=10 && NR<=39' a.c"), lined(10, 39, ""), [2]int{10, 39}, false},
		{"awk with an action", shell("awk 'NR>9 && NR<40 {print}' a.c"), lined(10, 39, ""), [2]int{10, 39}, false},
		{"awk of a range", shell("awk 'NR==10,NR==39' a.c"), lined(10, 39, ""), [2]int{10, 39}, false},
		{"Get-Content -Head", shell("Get-Content -Path a.c -Head 30"), lined(1, 30, ""), [2]int{1, 30}, false},
		{"Get-Content -TotalCount", shell("gc a.c -TotalCount 30"), lined(1, 30, ""), [2]int{1, 30}, false},
		{"Get-Content -Tail", shell("Get-Content a.c -Tail 30"), lined(320, 349, ""), [2]int{}, false},
		{"Select-Object", shell("Get-Content a.c | Select-Object -Skip 9 -First 30"), lined(10, 39, ""), [2]int{10, 39}, false},
		{"bat", shell("bat -r 10:39 a.c"), lined(10, 39, ""), [2]int{10, 39}, false},
	}
	for _, test := range tests {
		c := ScanMessage(result(test.text), test.call).Copies[0]
		if c.Kind != Read || c.Path != "a.c" || [2]int{c.First, c.Last} != test.lines || c.Whole != test.whole {
			t.Errorf("%s: kind %d, %s, lines %d to %d, whole %v", test.name, c.Kind, c.Path, c.First, c.Last, c.Whole)
		}
	}
	for _, command := range []string{"head -c 4000 a.c", "awk '/x/' a.c", "sed -n '/a/,/b/p' a.c", "cat a.c b.c", "cat a.c | grep x", "sed '1,5d' a.c", "cat -s a.c", "awk 'NR%2' a.c", "head -5 a.c b.c"} {
		if c := ScanMessage(result(lined(1, 30, "")), shell(command)).Copies[0]; c.Kind != Output {
			t.Errorf("%s: %+v", command, c)
		}
	}
}

// A newer read replaces an older one if it shows its lines.
func TestSupersededByANewerRead(t *testing.T) {
	read := func(text string, a args) (*chat.Part, string) { a["file_path"] = "a.c"; return call("Read", a), text }
	edit := call("Edit", args{"file_path": "a.c", "old_string": "x", "new_string": strings.Repeat("a line that an edit put in\n", 9)})
	part := args{"offset": 250, "limit": 100}
	for _, test := range []struct {
		name   string
		first  string
		second string
		args   args
		edited bool
		want   bool
	}{
		{"all of the file", lined(250, 349, "%6d\t"), lined(1, 349, "%6d\t"), args{}, false, true},
		{"all, without a word that it was cut at 300", lined(250, 349, "%6d\t"), lined(1, 300, "%6d\t"), args{}, false, false},
		{"all, and said to be", lined(250, 349, "%6d\t"), lined(1, 300, "%d: ") + "\n\n(End of file - total 300 lines)", args{}, false, true},
		{"all of a file that was edited", lined(250, 349, "%6d\t"), lined(1, 300, "%6d\t"), args{}, true, true},
		{"the same lines", lined(250, 349, "%6d\t"), lined(250, 349, "%6d\t"), part, false, true},
		{"asked for, and not shown", lined(250, 349, "%6d\t"), lined(250, 300, "%6d\t"), part, false, false},
		{"a hole", lined(250, 349, "%6d\t"), lined(1, 200, "%6d\t") + "\n[... 100 lines omitted ...]\n" + lined(301, 349, "%6d\t"), args{}, false, false},
	} {
		c1, t1 := read(test.first, args{"offset": 250, "limit": 100})
		c2, t2 := read(test.second, test.args)
		messages := chat.Transcript{result(t1), result(t2)}
		facts := []Scan{ScanMessage(messages[0], c1), ScanMessage(messages[1], c2)}
		if test.edited {
			m := chat.Message{Role: chat.Assistant, Parts: []chat.Part{*edit}}
			messages = chat.Transcript{messages[0], m, messages[1]}
			facts = []Scan{facts[0], ScanMessage(m, nil), facts[1]}
		}
		if got := NewIndex(messages, facts).Superseded(0, facts[0].Copies[0]) > 0; got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
