package summarize

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
)

// An answered is the result of a call.
type callResult struct {
	text     string
	prompt   int // tokens that the server counted; 0: not reported
	progress Progress
}

// askModel makes one call, and returns the tidied text of the answer. A [Rejection]
// of an answer that was cut off comes with its complete part.
func (w *summaryRun) askModel(ctx context.Context, step, prompt string, limit int) (callResult, error) {
	w.call++
	w.of = max(w.of, w.call)
	l := &answerListener{tell: w.r.Progress, p: Progress{Step: step, Call: w.call, Of: w.of}, most: maxBytesFor(predictedTokens(limit)), pieces: 2*predictedTokens(limit) + 64}
	l.reportProgress()
	began := time.Now()
	answer, err := w.model.Chat.Chat(ctx, w.modelRequest(prompt, limit), func(d model.Delta) error { return l.takeDelta(ctx, d) })
	l.p.Tokens = max(l.p.Tokens, answer.Tokens)
	got := callResult{prompt: answer.PromptTokens, progress: l.p}
	switch {
	case ctx.Err() != nil:
		if isLate(ctx) {
			w.model.paced(func(p pace) pace { return p.late(w.given, w.sent, limit, l.p.Tokens > 0) })
		}
		return got, ctx.Err()
	case l.looped:
		if got.text, _ = normaliseAnswer(l.text.String()[:l.lines.end]); got.text == "" {
			return got, Rejection(Empty)
		}
		return got, nil
	case l.flooded && strings.TrimSpace(l.text.String()) == "":
		return got, Rejection(Thinks)
	case l.flooded:
		return got, Rejection(TooLong)
	case errors.Is(err, model.ErrBroken) && !w.broken:
		w.broken = true
		w.reportDone(got, err.Error())
		return w.askModel(ctx, step, prompt, limit)
	case err != nil:
		return got, err
	}
	if !answer.Uncut {
		if err := w.cutPrompt(answer.PromptTokens, prompt); err != nil {
			return got, err
		}
	}
	if !l.began.IsZero() {
		w.speed = w.model.noteSpeed(answer, prompt, l.began.Sub(began), time.Since(l.began))
	}
	w.learnRatio(answer.PromptTokens, prompt)
	got.text, err = judgeAnswer(answer, limit, w.r.Count)
	return got, err
}

// modelRequest returns the request to the server.
func (w *summaryRun) modelRequest(prompt string, limit int) model.Request {
	return model.Request{
		Model:     w.model.Name,
		Messages:  []chat.Message{chat.NewText(chat.System, Instructions()), chat.NewText(chat.User, prompt)},
		Window:    w.load,
		MaxTokens: predictedTokens(limit),
		Sampling:  &model.Sampling{Seed: w.model.seedOrDefault()},
		NoThink:   true,
		MayUnload: !w.shared,
	}
}

// The minimum share of the expected tokens that a server counts in a prompt that it
// read whole, whatever its tokenizer; and if the count is that of a window.
const wholeShare, windowShare = 0.6, 0.85

// isWindow reports whether a count looks like a window, or like half of one and two,
// to which newer versions of Ollama cut.
func isWindow(tokens int) bool {
	return tokens >= 1024 && (tokens%256 == 0 || tokens%1000 == 0 || tokens%256 == 2)
}

// cutPrompt returns a rejection if the server counted far too few tokens: it cut the
// prompt silently. From then on, its count is the window.
func (w *summaryRun) cutPrompt(counted int, prompt string) error {
	expected := w.r.countTokens(Instructions()) + w.r.countTokens(prompt)
	share := wholeShare
	if isWindow(counted) {
		share = windowShare
	}
	if counted <= 0 || float64(counted) >= share*float64(expected) {
		return nil
	}
	w.model.mu.Lock()
	w.model.served = counted
	maps.DeleteFunc(w.model.chunks, func(_ [32]byte, p partResult) bool { return p.prompt >= counted }) // they were cut too
	w.model.mu.Unlock()
	return Rejection(fmt.Sprintf("%s: it read %d of about %d tokens", PromptCut, counted, expected))
}

// learnRatio computes, from a prompt that the server has counted, the model's
// tokens for one token of r.Count.
func (w *summaryRun) learnRatio(counted int, prompt string) {
	seen := float64(counted-frameTokens/2) / float64(w.r.countTokens(Instructions())+w.r.countTokens(prompt))
	if counted <= 0 {
		return
	}
	w.most = max(w.most, seen)
	w.ratio = max(minRatio, w.most*spread)
}

// judgeAnswer returns the text of an answer, or why it has none. An answer that was
// cut off comes with its complete part; it is not a rejection if the model only
// repeated itself.
func judgeAnswer(a model.Answer, limit int, count func(string) int) (string, error) {
	if a.Message.HasCalls() {
		return "", Rejection(ToolCall)
	}
	text, repeats := normaliseAnswer(a.Message.Text())
	if text == "" {
		for _, p := range a.Message.Parts {
			if p.Kind == chat.Thinking && p.Text != "" {
				return "", Rejection(Thinks)
			}
		}
		return "", Rejection(Empty)
	}
	if a.Done != model.CutOff && a.Done != model.Looped {
		return text, nil
	}
	text = withoutLastLine(text)
	if repeats && text != "" && count(text) <= limit/2 {
		return text, nil
	}
	return text, Rejection(CutOff)
}

// An answerListener follows an answer as it arrives.
type answerListener struct {
	tell    func(Progress)
	p       Progress
	text    strings.Builder
	most    int // maximum bytes of an answer
	lines   loopDetector
	began   time.Time // arrival of the first piece
	last    time.Time // time of the last report
	looped  bool
	flooded bool
	pieces  int // the maximum of an answer
}

// The reasons for which a listener ends a call.
var (
	errLoops = errors.New("the model repeats itself")
	errFlood = errors.New("the answer is longer than it may be")
)

const reportEvery = 100 * time.Millisecond

// takeDelta adds a piece of the answer. It ends a call in which the model only
// repeats itself.
func (l *answerListener) takeDelta(ctx context.Context, d model.Delta) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	if l.began.IsZero() {
		l.began = now
	}
	l.p.Tokens++
	if spent := now.Sub(l.began).Seconds(); spent > 0 {
		l.p.PerSecond = float64(l.p.Tokens-1) / spent
	}
	if now.Sub(l.last) >= reportEvery {
		l.reportProgress()
	}
	l.text.WriteString(d.Text)
	switch {
	case l.text.Len() > l.most || l.p.Tokens > l.pieces:
		l.flooded = true
		return errFlood
	case l.lines.addDelta(d.Text):
		l.looped = true
		return errLoops
	}
	return nil
}

func (l *answerListener) reportProgress() {
	l.last = time.Now()
	if l.tell != nil {
		l.tell(l.p)
	}
}

// maxBytesFor returns an upper bound of the bytes of the given number of tokens.
func maxBytesFor(tokens int) int { return 64*tokens + 4096 }

// reportDone reports that a call has ended, and why its text is not used.
func (w *summaryRun) reportDone(got callResult, rejected string) {
	p := got.progress
	p.Done, p.Rejected = true, rejected
	if w.r.Progress != nil {
		w.r.Progress(p)
	}
}
