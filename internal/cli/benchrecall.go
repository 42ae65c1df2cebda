package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/bench/evidence"
	"github.com/tiercompact/tiercompact/tokens"
)

func newBenchRecallCommand() *cobra.Command {
	var o benchRecallOptions
	cmd := &cobra.Command{
		Use:   "recall [DATA|-]",
		Short: "Measure how often a ranking keeps what an answer needs",
		Long: `recall takes long dialogues with questions about them, ranks the turns of each
dialogue by each question, keeps the best that fill 5, 10, 25 and 50 % of its
tokens, and counts the questions whose evidence is among them: any of it, all of
it. DATA is a file of LoCoMo or of LongMemEval, which you have to get yourself.
Without DATA, it measures generated dialogues. The last column is what
fits into 1,000 tokens; the row recall is what the command recall prints.

With --edits it takes coding sessions, in any format. It compacts each with the
preset steady in a window of 31 % of its tokens, and searches for the old text
of each edit that comes next and was removed, by what the assistant said before.

A model is used only if you name one; then the turns are ranked by its vectors
alone, and by vectors and words together.`,
		Example: `  tiercompact bench recall
  tiercompact bench recall locomo10.json --embed-model all-minilm
  tiercompact bench recall longmemeval_s.json --json --detail kept.jsonl
  tiercompact bench recall --generate dialogues.json --seed 7
  tiercompact bench recall --edits sessions/*.jsonl --tokens 2000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.edits {
				return cobra.MinimumNArgs(1)(cmd, args)
			}
			return atMostArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.edits {
				return o.runBenchEdits(cmd, args)
			}
			return o.runBenchRecall(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.embedders, "embed-model", nil, "rank by this `model` too; may be given several times")
	o.models.registerModels(cmd, "engine", "ollama_url", "embed.url", "embed.cache")
	f.StringVar(&o.detail, "detail", "", "write what was kept for each question to this `file`, as JSON lines")
	f.StringVar(&o.generate, "generate", "", "write the dialogues of --seed to this `file` (- for stdout), and measure nothing")
	f.Uint64Var(&o.seed, "seed", 42, "`number` that dialogues are made from")
	f.BoolVar(&o.edits, "edits", false, "measure the old texts of edits in coding sessions")
	f.IntVar(&o.tokens, "tokens", 2000, "with --edits: maximum `tokens` of an answer")
	f.BoolVar(&o.json, "json", false, "as JSON")
	return cmd
}

type benchRecallOptions struct {
	models           models
	engine           engine.Options
	embedders        []string
	detail, generate string
	seed             uint64
	json, edits      bool
	tokens           int
}

func (o *benchRecallOptions) runBenchRecall(cmd *cobra.Command, args []string) error {
	if err := o.validateRecall(cmd, args); err != nil {
		return err
	}
	if o.generate != "" {
		return writeOutput(cmd, o.generate, func(w io.Writer) error { return evidence.Generate(w, o.seed) })
	}
	bar := newRecallBar(cmd)
	defer bar.clearLine()
	t := &evidence.Tally{Progress: bar.question}
	var err error
	if t.Rankings, t.Searches, err = o.rankings(cmd, bar); err != nil {
		return err
	}
	cl100k, err := tokens.Load(tokens.CL100K)
	if err != nil {
		return err
	}
	t.Count = cl100k.Count
	name, err := o.measureRecall(cmd, args, t, bar)
	if err != nil {
		return err
	}
	bar.clearLine()
	if t.Questions == 0 {
		printNote(cmd, "%s: no question has its evidence in the conversation; nothing was measured", name)
	}
	return buffered(cmd.OutOrStdout(), func(w io.Writer) error { return o.writeRecall(w, name, t) })
}

func (o *benchRecallOptions) validateRecall(cmd *cobra.Command, args []string) error {
	e, err := o.models.engineOptions(cmd, len(o.embedders) > 0)
	if err != nil {
		return err
	}
	switch o.engine = e; {
	case o.generate != "" && (len(args) > 0 || o.detail != "" || o.json || len(o.embedders) > 0 || e.EmbedURL != ""):
		return usageErrorf("--generate only writes dialogues; leave out DATA, and all other flags except --seed")
	case o.detail == "-":
		return usageErrorf("--detail - is not a file; give the name of one")
	}
	return checkDistinct(fileOrStdin(args), target{"--generate", o.generate}, target{"--detail", o.detail})
}

// rankings returns those without a model, and those of each model.
func (o *benchRecallOptions) rankings(cmd *cobra.Command, bar *recallBar) ([]evidence.Ranking, []evidence.Search, error) {
	names := o.embedders
	if len(names) == 0 && (o.engine.Kind != engine.BuiltIn) {
		names = []string{""} // the engine's choice
	}
	all, searches := evidence.Rankings(), []evidence.Search{evidence.WordSearch()}
	for _, name := range names {
		options := o.engine
		options.Embedder, options.Summarizer, options.Embedded = name, engine.Extractive, bar.embedded
		e, err := engine.Open(cmd.Context(), options)
		if err != nil {
			return nil, nil, err
		}
		if e.Warning != "" {
			printNote(cmd, "warning: %s", e.Warning)
		}
		if e.Ranking.BuiltIn() {
			printNote(cmd, "no model ranks: %s", e.Ranking.Why)
			continue
		}
		var cfg tiercompact.Config
		e.Into(&cfg)
		all = append(all, evidence.ModelRankings(cfg.Embed.Embedder, e.Ranking.Model)...)
		searches = append(searches, evidence.ModelSearch(cfg.Embed.Embedder, e.Ranking.Model))
	}
	return all, searches, nil
}

// addSamples adds samples to t, until the first error.
func addSamples(ctx context.Context, t *evidence.Tally, samples iter.Seq2[evidence.Sample, error]) error {
	for s, err := range samples {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = t.Add(ctx, &s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measureRecall adds up the samples of DATA, or of the seed, and returns their name.
func (o *benchRecallOptions) measureRecall(cmd *cobra.Command, args []string, t *evidence.Tally, bar *recallBar) (string, error) {
	if len(args) == 0 {
		var b bytes.Buffer
		if err := evidence.Generate(&b, o.seed); err != nil {
			return "", err
		}
		name := fmt.Sprintf("dialogues of seed %d", o.seed)
		return name, o.detailed(cmd, t, evidence.Read(bar.countReader(&b, int64(b.Len())), name))
	}
	name := args[0]
	if name == "-" {
		name = "stdin"
	}
	ctx := cmd.Context()
	r, size, err := openForReading(cmd, args[0])
	if err != nil {
		return "", err
	}
	defer r.Close()
	err = o.detailed(cmd, t, evidence.Read(bar.countReader(r, size), name))
	if ctx.Err() != nil {
		err = ctx.Err() // other errors follow from it
	}
	return name, err
}

// openForReading opens a file, and returns its size. An interrupt ends a read or an
// open that would wait forever, as on a pipe without a writer.
func openForReading(cmd *cobra.Command, path string) (*io.PipeReader, int64, error) {
	ctx := cmd.Context()
	type opened struct {
		f   io.ReadCloser
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := openInput(cmd, path)
		done <- opened{f, err}
	}()
	var in opened
	select {
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case in = <-done:
	}
	if in.err != nil {
		return nil, 0, in.err
	}
	size := fileSize(in.f)
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { r.CloseWithError(ctx.Err()) })
	go func() {
		defer stop()
		_, err := io.Copy(w, in.f)
		w.CloseWithError(errors.Join(err, in.f.Close()))
	}()
	return r, size, nil
}

// detailed adds samples to t, and writes down the kept evidence.
func (o *benchRecallOptions) detailed(cmd *cobra.Command, t *evidence.Tally, samples iter.Seq2[evidence.Sample, error]) error {
	if o.detail == "" {
		return addSamples(cmd.Context(), t, samples)
	}
	return writeOutput(cmd, o.detail, func(w io.Writer) error {
		t.Detail = func(c evidence.Choice) error { return writeJSONLine(w, c) }
		return addSamples(cmd.Context(), t, samples)
	})
}
