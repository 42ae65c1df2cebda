package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/wire"
)

func newCheckCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [FILE|-]",
		Short: "Find the problems of a transcript",
		Long: `check lists what servers and chat templates refuse: calls without results and
results without calls, even those of tools that run on the server, calls without
a name, repeated ids, empty messages, arguments that are not JSON, and messages
of one role in a row, if no tool call is between them. Real logs have such
faults, so they are warnings. With --against, the transcript before the
compaction, new faults and added copies of a message are errors, and --chat is
about that file.`,
		Example: `  tiercompact check session.jsonl
  tiercompact check session.jsonl --strict
  tiercompact check small.jsonl --against session.jsonl`,
		Args: fileOrPipe,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runCheck(cmd, fileOrStdin(args)) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.strict, "strict", false, "warnings are errors")
	f.StringVar(&o.against, "against", "", "this `file` is the transcript before the compaction")
	f.BoolVar(&o.json, "json", false, "the problems as JSON")
	o.source.registerSource(cmd)
	return cmd
}

type checkOptions struct {
	source       source
	against      string
	strict, json bool
}

// checked is what a check found.
type checked struct {
	Format   string         `json:"format"`
	Messages int            `json:"messages"`
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
	Problems []chat.Problem `json:"problems"`
}

func (o *checkOptions) runCheck(cmd *cobra.Command, path string) error {
	src := o.source
	if o.against != "" {
		src.chat = 0 // it belongs to the other file
	}
	in, err := src.readSource(cmd, path)
	if err != nil {
		return err
	}
	problems, err := o.problems(cmd, in)
	if err != nil {
		return err
	}
	c := checked{Format: in.Format, Messages: len(in.Messages), Problems: problems}
	for _, p := range problems {
		if p.Severity == chat.SeverityError {
			c.Errors++
		} else {
			c.Warnings++
		}
	}
	if err := buffered(cmd.OutOrStdout(), func(w io.Writer) error { return o.writeCheck(w, in, c) }); err != nil {
		return err
	}
	if c.Errors > 0 {
		return fmt.Errorf("%s: %w: %s", in.name, errInvalid, screen.Plural(c.Errors, "error"))
	}
	return nil
}

// problems returns the problems of a transcript. With --against, the problems that
// the other file does not have are errors. Notes are left out.
func (o *checkOptions) problems(cmd *cobra.Command, in input) ([]chat.Problem, error) {
	found := chat.Check(in.Messages)
	if o.against != "" {
		before := source{lenient: o.source.lenient, chat: o.source.chat}
		was, err := before.readSource(cmd, o.against)
		if err != nil {
			return nil, err
		}
		fresh := make(map[chat.Problem]int)
		for _, p := range chat.New(faultsIn(was.Conversation, in.Format), found) {
			fresh[p]++
		}
		for i, p := range found {
			if p.Severity = chat.SeverityError; fresh[p] > 0 {
				fresh[p]--
				found[i] = p
			}
		}
		found = append(found, chat.AddedCopies(was.Messages, in.Messages)...)
		slices.SortStableFunc(found, func(a, b chat.Problem) int { return cmp.Compare(a.Index, b.Index) })
	}
	problems := []chat.Problem{}
	for _, p := range found {
		if p.Severity == chat.SeverityNote {
			continue
		}
		if o.strict {
			p.Severity = chat.SeverityError
		}
		problems = append(problems, p)
	}
	return problems, nil
}

// faultsIn returns the problems of c. If the given format is not c's, it adds the
// problems that conversions cause, because compaction is not to blame for them:
// without a developer role, for example, developer messages become late system messages.
func faultsIn(c wire.Conversation, format string) []chat.Problem {
	all := chat.Check(c.Messages)
	if format == c.Format {
		return all
	}
	for to := range strings.SplitSeq(formatNames(true), ", ") {
		for _, file := range rereadAs(c, to) {
			all = append(all, chat.New(all, chat.Check(file.Messages))...)
		}
	}
	return all
}

func (o *checkOptions) writeCheck(w io.Writer, in input, c checked) error {
	if o.json {
		return writeJSON(w, c)
	}
	for _, p := range c.Problems {
		where := "transcript"
		if p.Index >= 0 {
			where = fmt.Sprintf("message %d (%s)", p.Index+1, in.Messages[p.Index].Role)
		}
		id := ""
		if p.ID != "" {
			id = " (" + screen.Clip(p.ID, 60) + ")"
		}
		fmt.Fprintf(w, "%s: %s: %s: %s%s\n", p.Severity, where, p.Kind, screen.Clip(p.Text, 200), id)
	}
	_, err := fmt.Fprintf(w, "%s, %s, %s, %s\n", c.Format, screen.Plural(c.Messages, "message"), screen.Plural(c.Errors, "error"), screen.Plural(c.Warnings, "warning"))
	return err
}
