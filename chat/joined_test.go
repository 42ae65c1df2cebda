package chat

import (
	"fmt"
	"testing"
)

// Transcripts that an API would not produce must not break a conversation either.
func TestGroupsOfOddMessages(t *testing.T) {
	call := func(id string) Part { return Part{Kind: Call, ID: id} }
	result := func(id string) Part { return Part{Kind: Result, ID: id} }
	tests := []struct {
		name string
		t    Transcript
		want string
	}{
		{"a call with its own result", Transcript{{Parts: []Part{call("a"), result("a")}}}, "[[0]]"},
		{"one message answers two", Transcript{
			{Parts: []Part{call("a")}}, {Parts: []Part{call("b")}}, {Parts: []Part{result("a"), result("b")}}, {},
		}, "[[0 1 2] [3]]"},
		{"a result far behind its call", Transcript{{Parts: []Part{call("a")}}, {}, {Parts: []Part{result("a")}}}, "[[0 2] [1]]"},
		{"two results of one id", Transcript{{Parts: []Part{call("a")}}, {Parts: []Part{result("a")}}, {Parts: []Part{result("a")}}}, "[[0 1] [2]]"},
	}
	for _, test := range tests {
		groups, _ := Groups(test.t)
		if got := fmt.Sprint(groups); got != test.want {
			t.Errorf("%s: groups %s, want %s", test.name, got, test.want)
		}
	}
}
