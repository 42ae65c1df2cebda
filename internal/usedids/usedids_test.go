package usedids

import (
	"fmt"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

func TestSetContainsWhatWasAdded(t *testing.T) {
	var s Set
	added := []string{"m1", "m64", "m65", "m0", "m01", "m", "", "call_1", "m-1", "m1x", "m999999999", "m9999999999", "é"}
	for _, id := range added {
		if s.Contains(id) {
			t.Errorf("%q is there before it is added", id)
		}
		s.Add(id)
		if !s.Contains(id) {
			t.Errorf("%q is not there after it was added", id)
		}
	}
	for _, id := range []string{"m2", "m63", "m001", "M1", "call_2"} {
		if s.Contains(id) {
			t.Errorf("%q is there, and was not added", id)
		}
	}
}

func TestUnusedSkipsIDsOfTheClient(t *testing.T) {
	var s Set
	for _, id := range []string{"m1", "m3"} {
		s.Add(id)
	}
	for _, want := range []string{"m2", "m4", "m5"} {
		if got := s.Unused(1); got != want {
			t.Fatalf("Unused(1) = %s, want %s", got, want)
		}
		s.Add(want)
	}
	if got := s.Unused(200); got != "m200" {
		t.Errorf("Unused(200) = %s", got)
	}
}

func TestRecallsKnowHexadecimalIDs(t *testing.T) {
	var r Recalls
	r.Add("3f9a1c2e")
	r.Add("no id")
	r.AddShown(chat.NewText(chat.User, "[marker 4 messages were left out; recall 0badcafe]"))
	for id, want := range map[string]bool{"3f9a1c2e": true, "3f9a1c2f": false, "no id": false, "": false} {
		if r.Has(id) != want {
			t.Errorf("Has(%q) = %t", id, !want)
		}
	}
}

func TestSyncSetAddsEachIDOnce(t *testing.T) {
	var s SyncSet
	results := make(chan bool)
	for i := range 40 {
		go func() { results <- s.Add(fmt.Sprint("m", i%10)) }()
	}
	added := 0
	for range 40 {
		if <-results {
			added++
		}
	}
	if added != 10 {
		t.Errorf("%d of 40 calls added one of 10 ids", added)
	}
}
