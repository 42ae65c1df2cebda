package edit

import (
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// KeepProtection returns t with the protection of messages in now, under whatever
// text: a round to be undone may be older than the protection.
func KeepProtection(t, now chat.Transcript) chat.Transcript {
	protected := make(map[string]bool)
	for _, m := range now {
		if m.Protected {
			protected[m.ID] = true
		}
	}
	if len(protected) == 0 {
		return t
	}
	t = slices.Clone(t)
	for i := range t {
		t[i].Protected = t[i].Protected || protected[t[i].ID]
	}
	return t
}
