package bench

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
)

// A runner measures ways on sessions.
type runner struct {
	Options
	sessions []*subject

	told struct {
		sync.Mutex // guards the fields below; held during Told, so that calls are not concurrent
		done, of   int
	}
}

// A subject is a session with the data that every way needs.
type subject struct {
	name     string
	messages chat.Transcript
	facts    []corpus.Fact
	queries  []string // sampled questions of facts
	size     int      // tokens
	cuts     []cutting
	orphans  int
}

// longSession is the number of messages from which a session is cut only once if no
// cuts are given.
const longSession = 2000

func newRunner(o Options, sessions []corpus.Session) *runner {
	r := &runner{Options: o}
	for _, s := range sessions {
		r.sessions = append(r.sessions, &subject{name: s.Name, messages: Plain(s.Messages), facts: s.Facts})
	}
	return r
}

// prepareCuts computes the needs after each cut.
func (r *runner) prepareCuts(ctx context.Context) error {
	return r.eachParallel(ctx, len(r.sessions), r.longestFirst(), func(i int) error {
		s := r.sessions[i]
		s.size = Size(s.messages, r.Config.Count)
		s.cuts = cuttings(s.messages, r.Cuts, r.Config.Count)
		s.orphans = countOrphans(s.messages)
		s.queries = sampleQuestions(s.facts, maxQueries(len(s.messages)))
		return nil
	})
}

// longestFirst returns the indices of sessions, so that no core ends with a long
// one.
func (r *runner) longestFirst() []int {
	order := make([]int, len(r.sessions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(len(r.sessions[b].messages), len(r.sessions[a].messages))
	})
	return order
}

// eachParallel runs n tasks on all cores, in an order, and returns the error of the
// first failed one.
func (r *runner) eachParallel(ctx context.Context, n int, order []int, do func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for !failed.Load() && ctx.Err() == nil {
				k := int(next.Add(1)) - 1
				if k >= n {
					return
				}
				if errs[order[k]] = do(order[k]); errs[order[k]] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

// measureWays measures ways on all sessions.
func (r *runner) measureWays(ctx context.Context, ways []*way) ([]Row, error) {
	sessions := len(r.sessions)
	parts := make([]part, len(ways)*sessions)
	var order []int
	for _, s := range r.longestFirst() {
		for w := range ways {
			order = append(order, w*sessions+s)
		}
	}
	r.expectTasks(len(order))
	err := r.eachParallel(ctx, len(order), order, func(i int) (err error) {
		s, w := r.sessions[i%sessions], ways[i/sessions]
		if parts[i], err = r.measurePart(ctx, w, s); err != nil {
			err = fmt.Errorf("%s, %s: %w", s.name, w.row.Name, err)
		}
		r.reportProgress()
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(ways))
	for i, w := range ways {
		rows[i] = sumRow(w.row, parts[i*sessions:(i+1)*sessions])
	}
	return rows, nil
}

// expectTasks adds n to the number of expected tasks.
func (r *runner) expectTasks(n int) {
	r.told.Lock()
	defer r.told.Unlock()
	r.told.of += n
}

func (r *runner) reportProgress() {
	r.told.Lock()
	defer r.told.Unlock()
	r.told.done++
	if r.Told != nil {
		r.Told(r.told.done, r.told.of)
	}
}
