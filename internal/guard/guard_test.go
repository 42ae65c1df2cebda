package guard

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiercompact/tiercompact/tokens"
)

func TestCallReturnsAnErrorForEachFailure(t *testing.T) {
	cause := errors.New("cause")
	for _, test := range []struct {
		name, want string
		call       func(context.Context) (int, error)
	}{
		{"an error stays", "cause", func(context.Context) (int, error) { return 0, cause }},
		{"a panic with a value", "Count panicked: boom", func(context.Context) (int, error) { panic("boom") }},
		{"a panic with an error", "Count panicked: cause", func(context.Context) (int, error) { panic(cause) }},
		{"the end of the goroutine", "Count ended its goroutine", func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }},
		{"a panic of another callback keeps its name", "Redact late", func(context.Context) (int, error) { panic(&Error{Callback: "Redact", Reason: "late"}) }},
	} {
		_, err := Call(t.Context(), &Guard{Name: "Count"}, test.call)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestALateCallIsLeftOutUntilItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Guard{Name: "Trace", Within: time.Second}
		release := make(chan struct{})
		_, err := Do(g, func() int { <-release; return 1 })
		if e, ok := errors.AsType[*Error](err); !ok || !e.Late() || e.Error() != "Trace did not return within 1s" || !g.Hanging() {
			t.Fatalf("a call that hangs: %v", err)
		}
		if _, err = Do(g, func() int { return 2 }); !errors.Is(err, ErrLeftOut) {
			t.Errorf("while a call hangs: %v", err)
		}
		close(release)
		synctest.Wait()
		if n, err := Do(g, func() int { return 3 }); n != 3 || err != nil || g.Hanging() {
			t.Errorf("after it has returned: %d, %v", n, err)
		}
	})
}

func TestAGuardThatBacksSkipsMoreCallsEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Guard{Name: "Trace", Within: time.Second, Backs: true}
		for _, want := range []int{64, 128, 256} {
			if _, err := Do(g, func() int { time.Sleep(10 * time.Second); return 1 }); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // the late call returns
			skipped := 0
			for errors.Is(g.Enter(), ErrLeftOut) {
				skipped++
			}
			if skipped != want {
				t.Errorf("%d calls are skipped, want %d", skipped, want)
			}
		}
	})
}

func TestFaultsReportEachErrorOnce(t *testing.T) {
	var f Faults
	for _, err := range []error{nil, errors.New("a"), errors.New("a"), ErrLeftOut, errors.New("b")} {
		f.Add(err)
	}
	if got := f.Take(); len(got) != 2 || len(f.Take()) != 0 {
		t.Errorf("%v", got)
	}
	for i := range 100 {
		f.Add(errors.New(strings.Repeat("x", i+1)))
	}
	if got := f.Take(); len(got) != maxFaults {
		t.Errorf("%d errors in a report", len(got))
	}
}

func TestCounterFallsBackForImpossibleCounts(t *testing.T) {
	builtIn, err := tokens.ForModel("")
	if err != nil {
		t.Fatal(err)
	}
	const text = "four words of text"
	for _, test := range []struct {
		name   string
		count  func(string) int
		want   int
		faults int
	}{
		{"a count", func(string) int { return 7 }, 7, 0},
		{"a negative count", func(string) int { return -1 }, builtIn.Text(text), 1},
		{"more tokens than bytes allow", func(string) int { return 1 << 20 }, builtIn.Text(text), 1},
		{"a panic", func(string) int { panic("boom") }, builtIn.Text(text), 1},
	} {
		var faults Faults
		c := NewCounter(&Guard{Name: "Count"}, test.count, builtIn, &faults)
		got, err := Watch(c, func() (int, error) { return c.Text(text), nil })
		if got != test.want || err != nil || len(faults.Take()) != test.faults {
			t.Errorf("%s: %d, %v; want %d, and %d faults", test.name, got, err, test.want, test.faults)
		}
	}
	if n := BuiltIn(builtIn).Text(text); n != builtIn.Text(text) {
		t.Errorf("BuiltIn counts %d", n)
	}
}
