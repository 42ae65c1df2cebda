package summarize

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"

	"github.com/tiercompact/tiercompact/model"
)

// A writing is one summary while it is written.
type writing struct {
	model  *Model
	r      Request // with Count set
	window int
	limit  int     // tokens of the summary
	ratio  float64 // tokens of the model for one of r.Count, on the safe side
	most   float64 // the highest ratio that the server has counted; 0: none yet
	call   int     // that was made last, from 1
	of     int     // calls that are foreseen
	long   int     // requests that the server found too long
	pace   pace    // that bounds this summary
	given  int     // tokens of messages, in all
	sent   int     // the same, in the request that is made
	src    source
}

// What the model's tokenizer may count for one token of r.Count: before
// anything is known of it, and at least.
const (
	firstRatio = 1.3
	leastRatio = 1.15
	spread     = 1.1 // between one text and another
	ratioStep  = 1.5 // where the server finds a request too long
)

const (
	frame     = 48  // tokens of a chat template beside the texts
	leastRoom = 96  // tokens of messages that a request must have room for
	leastPart = 48  // tokens of a part's summary
	mostPart  = 400 // the same
	mostLong  = 6   // requests that the server may find too long
	mostTurns = 16  // of condensing
)

// write condenses what is to be summarised until it fits into one request, and
// returns the answer to that.
func (w *writing) write(ctx context.Context) (string, error) {
	former, _, _ := Split(w.r.Previous)
	data := w.shortened()
	w.given = sizeOf(data)
	if size := w.r.count(former); size > w.room(w.limit)/2 {
		head := "[record] of what was before:\n"
		data, former = append([]piece{{head: head, text: former, size: size + w.r.count(head), message: -1}}, data...), ""
	}
	for range mostTurns {
		var text string
		var err error
		if sizeOf(data)+w.r.count(former) <= w.room(w.limit) {
			w.of = w.call + 1
			text, err = w.final(ctx, former, data)
		} else {
			data, err = w.condense(ctx, data, w.r.count(former))
		}
		if text != "" || err != nil && !w.shorter(err) {
			return text, err
		}
	}
	return "", fmt.Errorf("the summaries of its parts do not get shorter: %w", model.ErrTooLong)
}

// final asks for the summary itself.
func (w *writing) final(ctx context.Context, former string, data []piece) (string, error) {
	p := w.prompt(data)
	p.former = former
	w.sent = sizeOf(data)
	got, err := w.ask(ctx, stepOf(data), p.String(), w.limit)
	if err != nil {
		w.done(got, err.Error())
		return "", err
	}
	w.done(got, "")
	return got.text, nil
}

// stepOf returns what a request with data does.
func stepOf(data []piece) string {
	if isRecords(data) {
		return StepMerge
	}
	return StepChunk
}

func isRecords(data []piece) bool { return len(data) > 0 && data[len(data)-1].record }

// shorter makes the next requests shorter, where err says that one was too
// long for the server. It reports whether they may be tried.
func (w *writing) shorter(err error) bool {
	if !errors.Is(err, model.ErrTooLong) || w.long == mostLong {
		return false
	}
	w.long++
	w.ratio *= ratioStep
	w.most = w.ratio / spread
	return w.room(leastPart) >= leastRoom/2
}

// condense returns a record for each chunk of data. former is the size of the
// summary that will stand beside them.
func (w *writing) condense(ctx context.Context, data []piece, former int) ([]piece, error) {
	var records []piece
	var reasons []string
	for len(data) > 0 {
		chunks, room := w.chunks(data)
		limit := w.partLimit(len(records)+chunks, former)
		w.of = w.call + chunks + 1
		chunk, rest := cut(data, room, w.r.Count)
		text, rejected, err := w.part(ctx, chunk, limit)
		if err != nil {
			if w.shorter(err) {
				continue
			}
			return nil, err
		}
		data = rest
		if rejected != "" {
			reasons = append(reasons, rejected)
			text = w.withoutModel(chunk, limit)
		}
		if tooMany(len(reasons), len(records)+1, len(data) == 0) {
			return nil, Rejection(reasons[0])
		}
		head := fmt.Sprintf("part %d:\n", len(records)+1)
		records = append(records, piece{head: head, text: text, size: w.r.count(head) + w.r.count(text), record: true})
	}
	return records, nil
}

// tooMany reports whether so many of the parts were rejected that the summary
// would not be the model's.
func tooMany(rejected, parts int, all bool) bool {
	return 2*rejected >= parts && (rejected > 1 || rejected > 0 && all)
}

// chunks returns how many chunks data makes, and the room of the first: they
// are to be of about one size.
func (w *writing) chunks(data []piece) (n, room int) {
	total, most := sizeOf(data), max(w.room(mostPartOf(w.window)), leastRoom/2)
	n = (total + most - 1) / most
	return n, min(most, total/n+total/n/8+1)
}

// mostPartOf returns the most tokens of a part's summary in a window.
func mostPartOf(window int) int { return max(leastPart, min(mostPart, window/8)) }

// partLimit returns the tokens of the summary of one of n parts: so many that
// all fit into one request. It does not depend on the length of the summary, so
// that one which is asked for again, shorter, is made of the same parts.
func (w *writing) partLimit(n, former int) int {
	room := w.room(w.window/4) - former
	return max(leastPart, min(mostPartOf(w.window), room/n*9/10))
}

// part returns the summary of a chunk without what the source does not bear
// out, or why the model's text may not be used.
func (w *writing) part(ctx context.Context, chunk []piece, limit int) (text, rejected string, err error) {
	p := w.prompt(chunk)
	p.partial, p.tokens = true, limit
	asked := p.String()
	key := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", limit, asked))
	if former, ok := w.model.former(key); ok {
		w.learn(former.prompt, asked)
		return former.text, former.rejected, nil
	}
	w.sent = sizeOf(chunk)
	got, err := w.ask(ctx, stepOf(chunk), asked, limit)
	var r Rejection
	if err != nil && !errors.As(err, &r) {
		w.done(got, err.Error())
		return "", "", err
	}
	if rejected = string(r); rejected == "" || rejected == CutOff && got.text != "" {
		text, rejected = w.vetted(got.text)
	}
	w.done(got, rejected)
	w.model.keep(key, part{text, rejected, got.prompt})
	return text, rejected, nil
}

// vetted returns what the source bears out of the summary of a part, or why it
// may not be used. That it lost its end does not matter.
func (w *writing) vetted(text string) (clean, rejected string) {
	rejected = Accept(text, Request{Messages: w.r.Messages, Count: w.r.Count}, math.MaxInt)
	if rejected != "" && rejected != CutOff {
		return "", rejected
	}
	clean, _, rejected = w.src.vet(text, w.r.Count)
	return clean, rejected
}

// withoutModel returns a record of a chunk that no model has written.
func (w *writing) withoutModel(chunk []piece, limit int) string {
	if isRecords(chunk) || chunk[0].message < 0 {
		return fitLines(dataOf(chunk), limit, w.r.Count)
	}
	from, to := chunk[0].message, chunk[len(chunk)-1].message+1
	e := extract{notes: notesOf(w.r.Messages[from:to])}
	text, _ := w.src.clean(e.write(w.r.Strategy, Request{Count: w.r.Count}, limit))
	if text == "" {
		return nothing
	}
	return text
}

// prompt returns the request for a summary of data.
func (w *writing) prompt(data []piece) prompt {
	return prompt{
		strategy: w.r.Strategy, note: w.r.Note, data: dataOf(data), records: isRecords(data),
		brief: w.window < briefBelow, tokens: w.limit,
	}
}

// briefBelow is the window under which forms are given without an example.
const briefBelow = 2560

// room returns the tokens, of r.Count, that a request has for data beside the
// instructions and an answer of so many tokens.
func (w *writing) room(answer int) int {
	p := w.prompt(nil)
	p.records, p.former = true, "-" // the longest form
	free := float64(w.window - frame - predicted(answer))
	return within(int(free/w.ratio)-w.r.count(Instructions())-w.r.count(p.String()), w.pace.request)
}

// predicted returns how many tokens a model may write for a text of so many.
func predicted(limit int) int { return limit + limit/overMaxShare }

// leastWindow returns a window which gives leastRoom, where room is too little.
func (w *writing) leastWindow(room int) int {
	need := float64(w.window) + float64(leastRoom-room)*w.ratio*4/3 // a quarter of it goes to the answer
	return (int(need) + 255) / 256 * 256
}
