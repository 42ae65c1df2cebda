package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/wire"
)

// runBenchEdits measures whether recall brings back the old text of edits.
func (o *benchRecallOptions) runBenchEdits(cmd *cobra.Command, args []string) error {
	if o.tokens < 1 {
		return usageErrorf("--tokens must be above 0, is %d", o.tokens)
	}
	cl100k, err := tokens.Load(tokens.CL100K)
	if err != nil {
		return err
	}
	count := bench.Counted(cl100k.Count)
	r := bench.Recalled{Tokens: o.tokens}
	bar := newProgress(cmd)
	for i, name := range args {
		bar.showLine(true, fmt.Sprintf("measuring %d of %d: %s", i+1, len(args), screen.Clip(name, 40)))
		if err := o.addSession(cmd, &r, name, count); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	bar.showLine(false, "")
	return buffered(cmd.OutOrStdout(), func(w io.Writer) error { return o.writeEdits(w, len(args), r) })
}

func (o *benchRecallOptions) addSession(cmd *cobra.Command, r *bench.Recalled, name string, count func(string) int) error {
	in, err := openInput(cmd, name)
	if err != nil {
		return err
	}
	defer in.Close()
	t, err := wire.Decode(in, wire.Options{Lenient: true, Name: name})
	if err != nil {
		return err
	}
	return r.Add(cmd.Context(), bench.Plain(t.Messages), count)
}

func (o *benchRecallOptions) writeEdits(w io.Writer, sessions int, r bench.Recalled) error {
	if o.json {
		return writeJSON(w, struct {
			Sessions int `json:"sessions"`
			Tokens   int `json:"tokens"`
			Lost     int `json:"lost"`
			Recall   int `json:"recall"`
			BM25     int `json:"bm25"`
			Newest   int `json:"newest"`
		}{sessions, r.Tokens, r.Lost, r.Recall, r.BM25, r.Newest})
	}
	fmt.Fprintf(w, "%s, %s whose old text was removed; brought back whole in %s tokens:\n\n", screen.Plural(sessions, "session"), screen.Plural(r.Lost, "edit"), screen.Grouped(r.Tokens))
	for _, row := range []struct {
		name string
		n    int
	}{{"recall", r.Recall}, {"bm25 over the removed messages", r.BM25}, {"the newest removed messages", r.Newest}} {
		fmt.Fprintf(w, "%-31s %5.3f  (%d)\n", row.name, bench.Share{Part: row.n, Whole: r.Lost}.Of(), row.n)
	}
	return nil
}
