package loss_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiercompact/tiercompact/trace/internal/loss"
)

func TestLossesAreReportedAtOnceThenOnceAMinuteThenInTotal(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var w strings.Builder
		r := loss.NewReport(&w, "Sink")
		r.End(0)
		r.Add(1, "down")
		for range 90 {
			time.Sleep(time.Second)
			r.Add(2, "still\ndown")
		}
		r.End(3)
		r.End(3)
		want := `[Sink] down; 1 event is lost so far, the session goes on
[Sink] still down; 121 events are lost so far, the session goes on
[Sink] 184 events are lost in all, 3 of them for want of room in the queue
`
		if w.String() != want || r.Events() != 181 {
			t.Errorf("%d\n%s", r.Events(), w.String())
		}
	})
}

func TestALongProblemIsCutInItsMiddle(t *testing.T) {
	var w strings.Builder
	loss.NewReport(&w, "S").Add(1, strings.Repeat("é", 1<<20)+"end")
	if n := len([]rune(w.String())); n > 420 || !strings.Contains(w.String(), "end; 1 event") {
		t.Errorf("%d characters, %s", n, w.String())
	}
}
