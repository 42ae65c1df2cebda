package bench

import (
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func TestPlacedIgnoresListsOfNames(t *testing.T) {
	before := chat.Transcript{
		chat.NewText(chat.Assistant, "The method openStore reads pkg/store.go once"),
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "write", Args: `{"content":"x\n\tstopCmd := startProcess(ctx)\n"}`}}},
	}
	need := map[string]bool{"openStore": true, "pkg/store.go": true, "stopCmd": true}
	for _, test := range []struct {
		after string
		want  int
	}{
		{"openStore, stopCmd, a/b.go, c/d.go, e/f.go", 0},
		{"pkg/store.go, a/b.go", 1},
		{"openStore: the method reads it once", 1},
		{"stopCmd := startProcess(ctx)", 1},
		{"", 0},
	} {
		if got := Placed(need, before, chat.Transcript{chat.NewText(chat.User, test.after)}); got != test.want {
			t.Errorf("%q: %d placed, want %d", test.after, got, test.want)
		}
	}
	if !identifiersOf(before)["stopCmd"] {
		t.Error("the name begins with an escape")
	}
}
