package cli

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/evidence"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// writeRecall writes the figures of t.
func (o *benchRecallOptions) writeRecall(w io.Writer, name string, t *evidence.Tally) error {
	if o.json {
		return writeJSON(w, recallFigures(name, t))
	}
	fmt.Fprintf(w, "evidence kept of %s\n", screen.Clip(name, len(name))) // without control characters
	fmt.Fprintf(w, "%s, %s, %s tokens (cl100k), %s\n", screen.Plural(t.Samples, "conversation"), screen.Plural(t.Turns, "turn"),
		screen.Grouped(t.Tokens), screen.Plural(t.Questions, "question"))
	fmt.Fprintf(w, "left out: %s adversarial, %s without evidence\n\n", screen.Grouped(t.LeftOut.Adversarial), screen.Grouped(t.LeftOut.NoEvidence))
	wide := len("of the tokens")
	for _, r := range t.Rankings {
		wide = max(wide, screen.CellsOf(r.Name))
	}
	for _, r := range t.Searches {
		wide = max(wide, screen.CellsOf(r.Name))
	}
	wide = min(wide, 28)
	fmt.Fprintf(w, "%-*s", wide, "of the tokens")
	for _, p := range evidence.Shares() {
		fmt.Fprintf(w, "%13s", screen.Percent(p))
	}
	fmt.Fprintf(w, "%13s", screen.Grouped(evidence.AnswerTokens))
	fmt.Fprintf(w, "\n%-*s", wide, "")
	for range evidence.Shares() {
		fmt.Fprintf(w, "%7s %5s", "any", "all")
	}
	fmt.Fprintf(w, "%7s %5s", "any", "all")
	for i, r := range t.Rankings {
		fmt.Fprintf(w, "\n%-*s", wide, screen.Clip(r.Name, wide))
		for _, at := range append(slices.Clip(t.Recalls(i)), t.Answer(i)) {
			fmt.Fprintf(w, "%7s %5s", shareText(at.Any), shareText(at.All))
		}
	}
	for k, r := range t.Searches {
		at := t.Answered(k)
		fmt.Fprintf(w, "\n%-*s%*s%7s %5s", wide, screen.Clip(r.Name, wide), 13*len(evidence.Shares()), "", shareText(at.Any), shareText(at.All))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// recallFigures returns the figures of t for --json.
func recallFigures(name string, t *evidence.Tally) any {
	type at struct {
		Share  float64  `json:"p,omitempty"`
		Tokens int      `json:"tokens,omitempty"` // in place of a share
		Any    *float64 `json:"any"`              // null without questions
		All    *float64 `json:"all"`
	}
	type ranking struct {
		Name  string `json:"name"`
		About string `json:"about"`
		At    []at   `json:"at"`
	}
	rankings := []ranking{}
	for i, r := range t.Rankings {
		one := ranking{Name: r.Name, About: r.About, At: []at{}}
		for _, k := range t.Recalls(i) {
			one.At = append(one.At, at{k.Share, 0, shareOrNil(k.Any), shareOrNil(k.All)})
		}
		k := t.Answer(i)
		one.At = append(one.At, at{0, evidence.AnswerTokens, shareOrNil(k.Any), shareOrNil(k.All)})
		rankings = append(rankings, one)
	}
	for i, r := range t.Searches {
		k := t.Answered(i)
		rankings = append(rankings, ranking{r.Name, r.About, []at{{0, evidence.AnswerTokens, shareOrNil(k.Any), shareOrNil(k.All)}}})
	}
	return struct {
		Data          string           `json:"data"`
		Conversations int              `json:"conversations"`
		Turns         int              `json:"turns"`
		Tokens        int              `json:"tokens"`
		Questions     int              `json:"questions"`
		LeftOut       evidence.LeftOut `json:"left_out"`
		Rankings      []ranking        `json:"rankings"`
	}{name, t.Samples, t.Turns, t.Tokens, t.Questions, t.LeftOut, rankings}
}

// shareOrNil returns a share, nil if the whole is 0.
func shareOrNil(s bench.Share) *float64 {
	of := s.Of()
	if s.Whole == 0 {
		return nil
	}
	return &of
}

// A recallBar shows the progress of a measurement on a terminal.
type recallBar struct {
	*progress
	questions  int
	read, size int64 // bytes; size is -1 if it is unknown
}

func newRecallBar(cmd *cobra.Command) *recallBar { return &recallBar{progress: newBenchProgress(cmd)} }

// countReader returns a reader that moves the bar; size is -1 if it is unknown.
func (b *recallBar) countReader(r io.Reader, size int64) io.Reader {
	b.size = size
	return io.TeeReader(r, b)
}

// Write counts what was read.
func (b *recallBar) Write(data []byte) (int, error) {
	b.read += int64(len(data))
	b.showShare("reading, "+screen.Plural(b.questions, "question"), b.read, b.size)
	return len(data), nil
}

func (b *recallBar) question() {
	b.questions++
	b.showShare("reading, "+screen.Plural(b.questions, "question"), b.read, b.size)
}

func (b *recallBar) embedded(done, of int) {
	if of > 1 { // a question's own text needs no progress
		b.progress.embedded(done, of)
	}
}

// fileSize returns the size of a file, -1 if it is unknown.
func fileSize(r io.Reader) int64 {
	f, ok := r.(*os.File)
	if !ok {
		return -1
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}
