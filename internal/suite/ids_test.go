package suite

import (
	"fmt"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// A client may name its messages as the session would, out of order and twice.
func TestIDsAreUnique(t *testing.T) {
	given := []string{"m2", "", "m1", "m1", "m01", "m", "m0", "m999999999", "m99999999999", "x", "x", "", "m64", "m128", "", "m12"}
	for k := range 30000 { // a search from the start for each would be quadratic
		given = append(given, fmt.Sprint("m", 40000+k))
	}
	for range 30000 {
		given = append(given, "")
	}
	c, err := tiercompact.New(tiercompact.Config{Window: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("ids")
	var messages []chat.Message
	for _, id := range given {
		m := chat.NewText(chat.User, "hello")
		m.ID = id
		messages = append(messages, m)
	}
	if err := s.Load(messages); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for i, m := range s.Messages() {
		if m.ID == "" || seen[m.ID] {
			t.Fatalf("message %d has the id %q, which is empty or another's", i, m.ID)
		}
		if id := given[i]; id != "" && !seen[id] && id != m.ID {
			t.Errorf("message %d, given the free id %q, has %q", i, id, m.ID)
		}
		seen[m.ID] = true
	}
}
