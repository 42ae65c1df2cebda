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
		{text: "see docs/removal.", want: "docs/removal"},
		{text: "https://host.example/a/b_c?q=my_name GitHub JavaScript"},
		{text: "newCursor in page_size", want: "newCursor page_size"},
	} {
		m := chat.NewText(chat.User, test.text)
		if test.args != "" {
			m = chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "edit_file", Args: test.args}}}
		}
		got := LedgerOf([]chat.Message{m}, nil, 1000, countBytes)
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
	if got := names.Lines(34, countBytes); countBytes(strings.Join(got, "\n")) > 34 || len(got) != 1 {
		t.Error(got)
	}
}
