package files_test

import (
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
)

// A list of names has names only, and short ids: no values, long hashes, fractions or
// versions.
func TestOnlyNamesAreListed(t *testing.T) {
	removed := []chat.Message{chat.NewText(chat.Assistant, "Of 10/14 cases in v1.2.3-rc1 and 0.9.12 of 2026-11-29, 7aacb5eb took 250ms and 2000000 bytes; "+
		"e6a3f1b2-90cd-4e11-8a3b-0123456789ab and 309f2e8c0a1b77d2e43f are gone, IDLE/ENDED and Top/bottom and Cmd/Ctrl stay. "+
		"See loadSnapshot in store/snapshot.go with max_age, `net/http` and parseV2; committer/author is prose.")}
	got := files.NamesOf(removed, nil).List(1000, func(s string) int { return len(s) })
	for _, name := range []string{"loadSnapshot", "store/snapshot.go", "max_age", "net/http", "parseV2", "7aacb5eb"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if len(got) != 6 {
		t.Errorf("listed: %q", got)
	}
}

// Each request has the parameters of its tools, and their values, in the list of tools.
func TestParametersAreNotListed(t *testing.T) {
	call := func(args string) chat.Message {
		return chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "grep", Args: args}}}
	}
	said := chat.NewText(chat.Tool, "output_mode files_with_matches in_progress path_pattern store_index load_pages")
	removed := []chat.Message{call(`{"output_mode":"files_with_matches","path_pattern":"store_index"}`), said}
	kept := []chat.Message{call(`{"output_mode":"files_with_matches","path_pattern":"Load.*"}`),
		call(`{"todos":[{"status":"in_progress","task":"a"},{"status":"in_progress","task":"b"}]}`)}
	got := files.NamesOf(removed, kept).List(1000, func(s string) int { return len(s) })
	slices.Sort(got)
	if want := []string{"load_pages", "store_index"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
