package summarize

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A summaryRun is one summary in progress.
type summaryRun struct {
	model  *Model
	r      Request // with Count set
	load   int     // window that the model is loaded with
	shared bool    // conversations use the model, too
	window int     // the tokens of it that the server reads
	limit  int     // tokens of the summary
	ratio  float64 // tokens of the model for one of r.Count, rounded up
	most   float64 // the highest ratio that the server has reported; 0: none yet
	call   int     // last call made, from 1
	of     int     // expected calls
	long   int     // requests that the server rejected as too long
	pace   pace    // limits this summary
	speed  speed   // of the model
	broken bool    // a connection broke, and the call was made once more
	given  int     // tokens of messages, in all
	sent   int     // the same, in the current request
	src    sourceWords
}

// The assumed tokens of the model for one token of r.Count: before anything is
// known, and the minimum.
const (
	firstRatio = 1.3
	minRatio   = 1.15
	spread     = 1.1 // between texts
	ratioStep  = 1.5 // after a request that the server rejected as too long
)

const (
	frameTokens = 48  // tokens of a chat template beside the texts
	minRoom     = 96  // minimum room for messages in a request
	minPart     = 48  // tokens of a part's summary
	maxPart     = 400 // the same
	maxLong     = 6   // limit of requests that are too long
	maxTurns    = 16  // limit of condensing steps
)

// runRequests condenses the input until it fits into one request, and returns the
// answer to that.
func (w *summaryRun) runRequests(ctx context.Context) (string, error) {
	former, _, _ := Split(w.r.Previous)
	data := w.shortenedBlocks()
	w.given = blocksSize(data)
	if size := w.r.countTokens(former); size > w.dataRoom(w.limit)/2 {
		head := "[record] of what was before:\n"
		data, former = append([]promptBlock{{head: head, text: former, size: size + w.r.countTokens(head), message: -1}}, data...), ""
	}
	for range maxTurns {
		var text string
		var err error
		if blocksSize(data)+w.r.countTokens(former) <= w.dataRoom(w.limit) {
			w.of = w.call + 1
			text, err = w.requestFinal(ctx, former, data)
		} else {
			data, err = w.condenseBlocks(ctx, data, w.r.countTokens(former))
		}
		if text != "" || err != nil && !w.shortenRequests(err) {
			return text, err
		}
	}
	return "", fmt.Errorf("the summaries of its parts do not get shorter: %w", model.ErrTooLong)
}

// requestFinal requests the summary itself.
func (w *summaryRun) requestFinal(ctx context.Context, former string, data []promptBlock) (string, error) {
	p := w.buildPrompt(data)
	p.former = former
	w.sent = blocksSize(data)
	got, err := w.askModel(ctx, requestStep(data), p.String(), w.limit)
	if err != nil {
		w.reportDone(got, err.Error())
		return "", err
	}
	w.reportDone(got, "")
	return got.text, nil
}

// requestStep returns the step of a request with data.
func requestStep(data []promptBlock) string {
	if isRecords(data) {
		return StepMerge
	}
	return StepChunk
}

func isRecords(data []promptBlock) bool { return len(data) > 0 && data[len(data)-1].record }

// shortenRequests makes the next requests shorter if err says that one was too long
// for the server. It reports whether to try them.
func (w *summaryRun) shortenRequests(err error) bool {
	if !errors.Is(err, model.ErrTooLong) || w.long == maxLong {
		return false
	}
	w.long++
	w.ratio *= ratioStep
	w.most = w.ratio / spread
	return w.dataRoom(minPart) >= minRoom/2
}

// condenseBlocks returns a record for each chunk of data. former is the size of the
// summary beside them.
func (w *summaryRun) condenseBlocks(ctx context.Context, data []promptBlock, former int) ([]promptBlock, error) {
	var records []promptBlock
	var reasons []string
	for len(data) > 0 {
		chunks, room := w.countChunks(data)
		limit := w.partLimit(len(records)+chunks, former)
		w.of = w.call + chunks + 1
		chunk, rest := cutBlocks(data, room, w.r.Count)
		text, rejected, err := w.summarizePart(ctx, chunk, limit)
		if err != nil {
			if w.shortenRequests(err) {
				continue
			}
			return nil, err
		}
		data = rest
		if rejected != "" {
			reasons = append(reasons, rejected)
			text = w.withoutModel(chunk, limit)
		}
		if tooManyRejected(len(reasons), len(records)+1, len(data) == 0) {
			return nil, Rejection(reasons[0])
		}
		head := fmt.Sprintf("part %d:\n", len(records)+1)
		records = append(records, promptBlock{head: head, text: text, size: w.r.countTokens(head) + w.r.countTokens(text), record: true})
	}
	return records, nil
}

// tooManyRejected reports whether so many parts were rejected that the summary
// would not be the model's.
func tooManyRejected(rejected, parts int, all bool) bool {
	return 2*rejected >= parts && (rejected > 1 || rejected > 0 && all)
}

// countChunks returns the number of chunks in data, and the room of the first: they
// have about the same size.
func (w *summaryRun) countChunks(data []promptBlock) (n, room int) {
	total, most := blocksSize(data), max(w.dataRoom(maxPartOf(w.window)), minRoom/2)
	n = (total + most - 1) / most
	return n, min(most, total/n+total/n/8+1)
}

// maxPartOf returns the maximum tokens of a part's summary in a window.
func maxPartOf(window int) int { return max(minPart, min(maxPart, window/8)) }

// partLimit returns the tokens for the summary of one of n parts, so that all fit
// into one request. It does not depend on the length of the summary, so that a
// second, shorter summary uses the same parts.
func (w *summaryRun) partLimit(n, former int) int {
	room := w.dataRoom(w.window/4) - former
	return max(minPart, min(maxPartOf(w.window), room/n*9/10))
}

// summarizePart returns the verified summary of a chunk, or why the model's text
// cannot be used.
func (w *summaryRun) summarizePart(ctx context.Context, chunk []promptBlock, limit int) (text, rejected string, err error) {
	p := w.buildPrompt(chunk)
	p.partial, p.tokens = true, limit
	asked := p.String()
	key := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", limit, asked))
	if former, ok := w.model.formerPart(key); ok {
		w.learnRatio(former.prompt, asked)
		return former.text, former.rejected, nil
	}
	w.sent = blocksSize(chunk)
	got, err := w.askModel(ctx, requestStep(chunk), asked, limit)
	var r Rejection
	if err != nil && !errors.As(err, &r) || strings.HasPrefix(string(r), PromptCut) {
		w.reportDone(got, err.Error())
		return "", "", err
	}
	if rejected = string(r); rejected == "" || rejected == CutOff && got.text != "" {
		text, rejected = w.vettedPart(got.text)
	}
	w.reportDone(got, rejected)
	w.model.rememberPart(key, partResult{text, rejected, got.prompt})
	return text, rejected, nil
}

// vettedPart returns the lines of a part's summary that the source supports, or why
// it cannot be used. A missing end does not matter.
func (w *summaryRun) vettedPart(text string) (clean, rejected string) {
	rejected = Accept(text, Request{Messages: w.r.Messages, Count: w.r.Count, Note: w.r.Note, Strategy: w.r.Strategy}, math.MaxInt)
	if rejected != "" && rejected != CutOff {
		return "", rejected
	}
	clean, _, rejected = w.src.vetText(text, w.r.Count)
	return clean, rejected
}

// withoutModel returns a record of a chunk without a model.
func (w *summaryRun) withoutModel(chunk []promptBlock, limit int) string {
	if isRecords(chunk) || chunk[0].message < 0 {
		return limitLines(blocksText(chunk), limit, w.r.Count)
	}
	from, to := chunk[0].message, chunk[len(chunk)-1].message+1
	e := extraction{itemList: collectItems(w.r.Messages[from:to], "")}
	text, _ := w.src.removeUnfounded(e.writeSections(w.r.Strategy, Request{Count: w.r.Count}, limit))
	if text == "" {
		return nothingFound
	}
	return text
}

// buildPrompt returns the request for a summary of data.
func (w *summaryRun) buildPrompt(data []promptBlock) prompt {
	return prompt{
		strategy: w.r.Strategy, note: w.r.Note, data: blocksText(data), records: isRecords(data),
		brief: w.window < briefBelow, tokens: w.limit,
	}
}

// briefBelow is the window below which forms have no example.
const briefBelow = 2560

// dataRoom returns the tokens, of r.Count, for data in a request beside the
// instructions and an answer of the given number of tokens.
func (w *summaryRun) dataRoom(answer int) int {
	p := w.buildPrompt(nil)
	p.records, p.former = true, "-" // the longest form
	free := float64(w.window - frameTokens - predictedTokens(answer))
	return within(int(free/w.ratio)-w.r.countTokens(Instructions())-w.r.countTokens(p.String()), w.pace.request)
}

// promptTokens returns the tokens, of r.Count, of a request without its data.
func (w *summaryRun) promptTokens() int {
	return w.r.countTokens(Instructions()) + w.r.countTokens(w.buildPrompt(nil).String()) + frameTokens
}

// predictedTokens returns how many tokens a model may write for a text of the given
// number.
func predictedTokens(limit int) int { return limit + limit/overMaxShare }

// minWindow returns a window with at least minRoom, for an error about too
// little room.
func (w *summaryRun) minWindow(room int) int {
	need := float64(w.window) + float64(minRoom-room)*w.ratio*4/3 // a quarter of it is for the answer
	return (int(need) + 255) / 256 * 256
}
