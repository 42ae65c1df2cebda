package archive_test

import (
	"context"
	"fmt"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A round is archived before it is made; the messages that it drops can be
// recalled and restored.
func Example() {
	ctx := context.Background()
	store := archive.NewMemory()
	before := chat.Transcript{
		chat.NewText(chat.User, "The staging database listens on port 5433."),
		chat.NewText(chat.User, "Now write the migration."),
	}
	drop := []edit.Edit{{Start: 0, End: 1}}
	err := store.Put(ctx, archive.Step{
		Session: "s", Number: 1, Before: before,
		Removed: []archive.Entry{{ID: "k3f9", Messages: before[:1]}},
		Edits:   edit.Round{Seen: 2, Sum: edit.Sum(before), Steps: [][]edit.Edit{drop}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	after := before[1:]

	entry, err := store.Recall(ctx, "s", "k3f9")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(entry.ID, entry.Messages[0].Text())

	again, err := archive.Undo(ctx, store, "s", after)
	fmt.Println(len(again.Messages), again.Round.Number, err)
	// Output:
	// k3f9 The staging database listens on port 5433.
	// 2 1 <nil>
}
