package archive

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCloseSaysOnceThatABucketIsGone(t *testing.T) {
	h := newHeap()
	o, err := OpenObjects(t.Context(), h)
	must(t, err)
	for n := range 100 {
		must(t, o.Event(t.Context(), fmt.Sprint("s", n), []byte("{}")))
	}
	gone := errors.New("the server is gone")
	h.fail = func(string, string) error { return gone }
	err = o.Close()
	if !errors.Is(err, gone) || strings.Count(err.Error(), gone.Error()) != 1 || !strings.Contains(err.Error(), "99 more sessions") {
		t.Errorf("Close = %v", err)
	}
}
