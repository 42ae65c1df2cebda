package files

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// Lines of a listing are as they were while they fit; else they share one with the
// directory, and a list does not name them again.
func TestLinesOfAListingShareOneIfTheyDoNotFit(t *testing.T) {
	const all = "M work/sprints/one/PLAN.md\nM work/sprints/one/PROGRESS.md\nM work/sprints/one/REVIEW.md\nM work/sprints/one/RESULT.json\nM work/sprints/one/INDEX.md"
	const shared = "M work/sprints/one/{PLAN.md,PROGRESS.md,REVIEW.md,RESULT.json,INDEX.md}"
	in := []chat.Message{chat.NewText(chat.User, all)}
	if got := strings.Join(NamesOf(in, nil).Lines(1000, countBytes), "\n"); got != all {
		t.Errorf("with room:\n%s", got)
	}
	names := NamesOf(in, nil)
	if got := strings.Join(names.Lines(countBytes(shared)+1, countBytes), "\n"); got != shared {
		t.Errorf("without room:\n%s", got)
	}
	if got := names.List(1000, countBytes); len(got) > 0 {
		t.Errorf("listed again: %q", got)
	}
	if got := names.Lines(countBytes(shared), countBytes); slices.Contains(got, shared) || len(got) == 0 {
		t.Errorf("with too little room even for a shared line: %q", got)
	}
}

// Of a listing that does not fit even a shared line, that line has a part.
func TestSharedLineHasWhatFits(t *testing.T) {
	var listing strings.Builder
	for i := range 300 {
		fmt.Fprintf(&listing, "M work/sprints/one/part_%d.go\n", i)
	}
	got := NamesOf([]chat.Message{chat.NewText(chat.User, listing.String())}, nil).Lines(60, countBytes)
	size, files := 0, 0
	for _, line := range got {
		size += countBytes(line) + 1
		files += strings.Count(line, ".go")
	}
	if size > 60 || files < 9 {
		t.Errorf("%d files in %d tokens: %q", files, size, got)
	}
}

// A file of which a line of a listing has a longer path has no line of its own in another
// listing, but the line that says something about it stays.
func TestLongerPathOfAListingIsEnough(t *testing.T) {
	in := []chat.Message{chat.NewText(chat.User, "deleted:    one/two/store.go\nM work/one/two/store.go\none/two/store.go has the index of it all")}
	got := NamesOf(in, nil).Lines(1000, countBytes)
	if want := []string{"M work/one/two/store.go", "one/two/store.go has the index of it all"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The directory of what ls -l prints is in its call.
func TestLinesOfLsShareTheirDirectory(t *testing.T) {
	const mode = "-rw-r--r-- 1 me me 1011 Jun  5 14:32 "
	output := mode + "PLAN-SUMMARY.json\n" + mode + "CODE_REVIEW.md\n" + mode + "open_store.go\ndrwxr-xr-x 2 me me 4096 Jun  5 14:32 sub_dir"
	for _, test := range []struct{ command, want string }{
		{"ls -la work/one", "work/one/{PLAN-SUMMARY.json,CODE_REVIEW.md,open_store.go,sub_dir}"},
		{"ls -la work/one/", "work/one/{PLAN-SUMMARY.json,CODE_REVIEW.md,open_store.go,sub_dir}"},
		{"ls -la work/one work/two", ""},
		{"cd work && ls -l one", ""},
	} {
		in := []chat.Message{
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: "bash", Args: `{"command":"` + test.command + `"}`}}},
			{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: "c", Text: output}}},
		}
		shared := ""
		for _, line := range NamesOf(in, nil).Lines(25, countBytes) {
			if strings.Contains(line, "{") {
				shared = line
			}
		}
		if shared != test.want {
			t.Errorf("%s: %q, want %q", test.command, shared, test.want)
		}
	}
}

func TestEntries(t *testing.T) {
	for _, test := range []struct{ line, head, base string }{
		{"a/b/c.go", "a/b/", "c.go"},
		{"?? a/b/c.go", "?? a/b/", "c.go"},
		{"modified:   a/b/c.go", "modified: a/b/", "c.go"},
		{"see a/b/c.go", "", ""},
		{"a/b/", "", ""},
		{"a/b.go:12:func", "", ""},
		{`"a/b.go",`, "", ""},
		{"c.go", "", ""},
		{"", "", ""},
	} {
		if head, base, _ := entryOf(test.line, ""); head != test.head || base != test.base {
			t.Errorf("%q: %q and %q, want %q and %q", test.line, head, base, test.head, test.base)
		}
	}
}
