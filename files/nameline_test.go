package files

import (
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func TestListedNamesAreDecodedAndNothingElse(t *testing.T) {
	for _, test := range []struct{ text, args, want string }{
		{args: `{"file_path":"src/a.go","new_string":"\n\tstopCmd := run()\nThis"}`, want: "src/a.go stopCmd"},
		{args: `{"x":"a\\nStderr b"}`},
		{text: `printed "\nStderr" and \tSessionID`},
		{text: "see docs/removal.md.", want: "docs/removal.md"},
		{text: "removal/uninstall. of the name/email", want: ""},
		{text: `import "net/http"`, want: "net/http"},
		{text: "in entire/sessions_dir...is it?", want: "entire/sessions_dir"},
		{text: "dfba5083..5934e029 were pushed", want: "5934e029 dfba5083"},
		{text: "cmd/cli/resume_test.go-194-\tfoo", want: "cmd/cli/resume_test.go"},
		{text: "\x1b[33mrepoRoot\x1b[0m and \x1b[1;31mmy_name", want: "my_name repoRoot"},
		{text: `\u001b[33mrepoRoot`, want: "repoRoot"},
		{text: "see /srv/app/main.go", want: "/srv/app/main.go"},
		{text: "see ../app/main_test.go", want: "../app/main_test.go"},
		{text: "https://host.example/a/b_c?q=my_name GitHub JavaScript"},
		{text: "newCursor in page_size", want: "newCursor page_size"},
	} {
		m := chat.NewText(chat.User, test.text)
		if test.args != "" {
			m = chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "edit_file", Args: test.args}}}
		}
		got := NamesOf([]chat.Message{m}, nil).List(1000, countBytes)
		slices.Sort(got)
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%q%s: %q, want %q", test.text, test.args, s, test.want)
		}
	}
}

func TestLinesOfNames(t *testing.T) {
	edit := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "edit",
		Args: `{"old_string":"func openStore(path string) error {","new_string":"func openStore(ctx, path string) error {"}`}}}
	messages := []chat.Message{
		chat.NewText(chat.User, "func openStore(path string) error {\n\treturn readIndex(path, maxPages)"), edit,
	}
	names := NamesOf(messages, nil)
	got := strings.Join(names.Lines(1000, countBytes), "|")
	if want := "return readIndex(path, maxPages)|func openStore(ctx, path string) error {"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := names.Lines(14, countBytes); len(got) != 1 || countBytes(got[0]) > 14 {
		t.Error(got)
	}
}

// A list of names does not say what they are: a name that only a list still has is shown
// on its line, one that a kept line has is not.
func TestLinesAreForNamesOutOfTheirPlace(t *testing.T) {
	removed := []chat.Message{chat.NewText(chat.User, "func openStore(path string) error {\n\treturn readIndex(path, maxPages)\n"+
		"The long description of the work says that internal/store/index_file.go has the index, and much more about it.")}
	list := chat.NewText(chat.Assistant, "also: openStore readIndex maxPages pageSize rootNode")
	list.State = chat.Outlined
	names := NamesOf(removed, []chat.Message{list, chat.NewText(chat.User, "we call readIndex(path, maxPages) here")})
	got := strings.Join(names.Lines(1000, countBytes), "|")
	if want := "func openStore(path string) error {|…work says that internal/store/index_file.go has the index, and…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if listed := names.List(1000, countBytes); len(listed) != 1 || listed[0] != "internal/store/index_file.go" {
		t.Error(listed)
	}
	if names.MarkShown("- read index_file.go: openStore, readIndex, maxPages, pageSize", false); len(names.Lines(1000, countBytes)) != 2 {
		t.Error("a list of the summary is taken for lines")
	}
	names.MarkShown("func openStore(path string) error {", true)
	if got := names.Lines(1000, countBytes); len(got) != 1 {
		t.Error(got)
	}
}

// A line of a list in an earlier summary is not shown as a line of the conversation.
func TestListsAreNoLines(t *testing.T) {
	summary := chat.Message{Role: chat.Assistant, State: chat.Summarized, Parts: []chat.Part{{Kind: chat.Summary,
		Text: "openStore, readIndex, maxPages, pageSize, rootNode\nopenStore is called by rootNode"}}}
	got := NamesOf([]chat.Message{summary}, nil).Lines(1000, countBytes)
	if len(got) != 1 || got[0] != "openStore is called by rootNode" {
		t.Error(got)
	}
}

// A line pays for its length once: that of its names does not count again.
func TestLengthOfANameCountsOnce(t *testing.T) {
	const path = "edit internal/storage/checkpoints/committed/attribution_writer.go now"
	const long = "the value of maxPages is what we had said before it was changed again in the end of all of it"
	got := NamesOf([]chat.Message{chat.NewText(chat.User, path+"\n"+long)}, nil).Lines(countBytes(long)+1, countBytes)
	if len(got) != 1 || got[0] != path {
		t.Errorf("%q", got)
	}
}
