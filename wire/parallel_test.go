package wire

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// TestLongListsAreReadTheSameOnSeveralCores: the messages, the bytes that are written
// again, and the first of several errors.
func TestLongListsAreReadTheSameOnSeveralCores(t *testing.T) {
	text := session(300)
	if len(text) < 4*parallelBytes {
		t.Fatalf("the session has %d bytes", len(text))
	}
	broken := strings.ReplaceAll(text, `"role":"user","content":"please read file2`, `"role":"user","content":7,"was":"please read file2`)
	read := func(cores int, text string) (Conversation, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		return DecodeString(text, Options{Format: "openai"})
	}
	alone, err := read(1, text)
	if err != nil {
		t.Fatal(err)
	}
	_, wrong := read(1, broken)
	if wrong == nil || !strings.Contains(wrong.Error(), "messages[9].content") {
		t.Fatalf("the broken session: %v", wrong)
	}
	for _, cores := range []int{2, 4} {
		together, err := read(cores, text)
		if err != nil || !reflect.DeepEqual(together, alone) {
			t.Errorf("%d cores: %v, %d messages, want %d", cores, err, len(together.Messages), len(alone.Messages))
		}
		var out strings.Builder
		if err := Encode(&out, together, ""); err != nil || out.String() != text {
			t.Errorf("%d cores: %v, other bytes", cores, err)
		}
		if _, err := read(cores, broken); err == nil || err.Error() != wrong.Error() {
			t.Errorf("%d cores: %v, want %v", cores, err, wrong)
		}
	}
}

// A panic on another core ends the caller's goroutine, in which a server recovers, not
// the process.
func TestAPanicOnAnotherCoreIsTheCallers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	spans := make([]span, 1000)
	text := "{}" + strings.Repeat(" ", 8*parallelBytes) + "{}"
	for i := range spans {
		spans[i] = span{0, 2}
	}
	spans[len(spans)-1] = span{len(text) - 2, len(text)}
	d := dialect{read: func(jsonObject) ([]chat.Message, error) { panic(errors.New("a fault")) }}
	defer func() {
		if p := recover(); p != "a fault" {
			t.Errorf("recovered %v", p)
		}
	}()
	readObjects(d, text, spans)
	t.Error("no panic")
}
