package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/tokens"
)

func newBenchScoreCommand() *cobra.Command {
	var o scoreOptions
	cmd := &cobra.Command{
		Use:   "score BEFORE AFTER",
		Short: "Measure the result of any compactor",
		Long: `score compares a transcript before and after any compactor, each in its own
format. It measures the freed tokens; the identifiers (paths, names in
snake_case and camelCase, hashes, tickets) that are kept or invented; the
messages that are unchanged, changed, removed or new; whether the system message
and the first and latest message of the user are kept; calls and results without
their partner; and the tokens after the first difference, which a prompt cache
must read again for the next request.

What is worth keeping depends on the work that follows. Give the messages that
came next with --next, or the whole session, which begins with BEFORE, with
--full. Then score also measures the kept share of the identifiers needed next,
and of the edits that can continue without another read. Beside each share is
what the newest tokens of BEFORE keep at the same size.

BEFORE and AFTER may be folders: files of equal names are pairs. Thinking and
the line numbers of file reads are ignored on both sides; images count nothing.`,
		Example: `  tiercompact compact session.jsonl -w 16384 > small.jsonl
  tiercompact bench score session.jsonl small.jsonl

  # another tool's output for the first 120 messages of a session
  head -n 120 session.jsonl > before.jsonl
  other-tool < before.jsonl > after.json
  tiercompact bench score before.jsonl after.json --full session.jsonl

  # many sessions at once
  tiercompact bench score before/ after/ --full sessions/ --json > scores.json`,
		Args: exactArgs(2, "BEFORE and AFTER"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.runScore(cmd, args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.next, "next", "", "messages that came after BEFORE: a `file`, or a folder for folders")
	f.StringVar(&o.full, "full", "", "session that begins with BEFORE and continues: a `file`, or a folder for folders")
	f.IntVar(&o.cut, "cut", 0, "with --full: what came next begins after this `message` (default: after the last of BEFORE)")
	f.StringVar(&o.model, "model", "", "count tokens as this model does (default: cl100k_base)")
	f.StringVar(&o.from, "from", "", "`format` of BEFORE, and of what came next (default: detected)")
	f.StringVar(&o.to, "to", "", "`format` of AFTER (default: detected)")
	f.BoolVar(&o.lenient, "lenient", false, "skip broken records, read bytes that are not UTF-8 as U+FFFD, and report how many")
	f.BoolVar(&o.json, "json", false, "all figures as JSON")
	o.look.registerLook(cmd)
	f.SortFlags = false
	complete(cmd, "from", formatNames(false))
	complete(cmd, "to", formatNames(false))
	return cmd
}

// exactArgs refuses any other number of arguments.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageErrorf("%s takes %s, got %s", cmd.Name(), what, screen.Plural(len(args), "argument"))
		}
		return nil
	}
}

type scoreOptions struct {
	next, full, model, from, to string
	cut                         int
	lenient, json               bool
	look                        screenOptions
}

// A score has the measures of each pair, and of all that could be read.
type score struct {
	Pairs  []bench.Comparison `json:"pairs"`
	Total  bench.Total        `json:"total"`
	Failed []failure          `json:"failed"`

	known bool // whether next is known
}

// A failure is a pair that could not be measured.
type failure struct {
	Name  string `json:"name"`
	Error string `json:"error"`

	err error
}

func (o *scoreOptions) runScore(cmd *cobra.Command, before, after string) error {
	if err := o.validateScore(cmd, before, after); err != nil {
		return err
	}
	counter, err := tokens.ForModel(o.model)
	if err != nil {
		return err
	}
	pairs, err := o.filePairs(cmd, before, after)
	if err != nil {
		return err
	}
	s := score{Pairs: []bench.Comparison{}, Failed: []failure{}, known: o.next != "" || o.full != ""}
	p := newBenchProgress(cmd)
	for i, pair := range pairs {
		p.showLine(len(pairs) > 1, fmt.Sprintf("scoring %d of %d: %s", i+1, len(pairs), screen.Clip(pair.name, 40)))
		c, err := o.scorePair(cmd, pair, counter.Text)
		if errors.Is(err, cmd.Context().Err()) && err != nil {
			return err
		}
		if err != nil {
			s.Failed = append(s.Failed, failure{pair.name, printableLine(err.Error()), err})
			continue
		}
		s.Pairs = append(s.Pairs, c)
		s.Total.Add(c)
	}
	p.showLine(false, "")
	return o.writeScore(cmd, s, len(pairs))
}

func (o *scoreOptions) validateScore(cmd *cobra.Command, before, after string) error {
	switch {
	case o.next != "" && o.full != "":
		return usageErrorf("--next and --full both say what came next; give one")
	case cmd.Flags().Changed("cut") && o.full == "":
		return usageErrorf("--cut is a place in the session of --full; give that too")
	case cmd.Flags().Changed("cut") && o.cut < 1:
		return usageErrorf("--cut takes the number of a message, from 1, not %d", o.cut)
	case before == "-" && after == "-":
		return usageErrorf("BEFORE and AFTER are both stdin; give a file for one of them")
	}
	formats := formatNames(false)
	return checkChoices([]choice{{"from", &o.from, formats}, {"to", &o.to, formats}})
}

// scorePair measures one pair.
func (o *scoreOptions) scorePair(cmd *cobra.Command, p pair, count func(string) int) (bench.Comparison, error) {
	from := source{from: o.from, lenient: o.lenient}
	before, err := from.readSource(cmd, p.before)
	if err != nil {
		return bench.Comparison{}, err
	}
	after, err := source{from: o.to, lenient: o.lenient}.readSource(cmd, p.after)
	if err != nil {
		return bench.Comparison{}, err
	}
	var next chat.Transcript
	if p.next != "" {
		in, err := from.readSource(cmd, p.next)
		if err != nil {
			return bench.Comparison{}, err
		}
		if next = in.Messages; o.full != "" {
			if next, err = o.following(in, before); err != nil {
				return bench.Comparison{}, err
			}
		}
	}
	c := bench.Compare(before.Messages, after.Messages, next, bench.Counted(count))
	c.Name = p.name
	return c, nil
}

// following returns what comes after BEFORE in the session of --full.
func (o *scoreOptions) following(session, before input) (chat.Transcript, error) {
	if o.cut > 0 {
		if n := len(session.Messages); o.cut > n {
			return nil, usageErrorf("--cut %d is after the end of %s, which has %s", o.cut, session.name, screen.Plural(n, "message"))
		}
		return session.Messages[o.cut:], nil
	}
	next, same := bench.Following(session.Messages, before.Messages)
	if next == nil {
		return nil, fmt.Errorf("%s does not begin with %s: message %d differs; give --cut N, the number of messages that BEFORE has of it, or --next with what came next",
			session.name, before.name, same+1)
	}
	return next, nil
}

// writeScore shows the figures, and fails if a pair failed.
func (o *scoreOptions) writeScore(cmd *cobra.Command, s score, pairs int) error {
	if pairs == 1 && len(s.Failed) == 1 {
		return s.Failed[0].err
	}
	err := buffered(cmd.OutOrStdout(), func(w io.Writer) error {
		if o.json {
			return writeJSON(w, s)
		}
		on, err := o.look.screenFor(cmd.OutOrStdout())
		if err != nil {
			return err
		}
		sheet := &scoreSheet{doctorSheet{w: w, screen: on}, s}
		if pairs == 1 {
			sheet.writeSingle()
		} else {
			sheet.writeMany()
		}
		return sheet.failed
	})
	if err != nil {
		return err
	}
	for _, f := range s.Failed {
		printNote(cmd, "%s: %s", f.Name, f.Error)
	}
	if len(s.Failed) > 0 {
		return fmt.Errorf("%d of %s could not be scored; the figures are those of the others", len(s.Failed), screen.Plural(pairs, "pair"))
	}
	return nil
}
