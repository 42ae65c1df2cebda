package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newArchiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Inspect the removed messages: list, show, verify, prune",
		Long: `archive inspects an archive: a folder that compact, replay or chat wrote, or a
bucket, with credentials from the standard chain (AWS_ACCESS_KEY_ID and so on,
AWS_PROFILE, the role of the machine).`,
		Example: `  tiercompact archive list --archive .compact/archive
  tiercompact archive verify --archive s3://bucket/prefix
  tiercompact archive prune --archive .compact/archive --keep 5 --dry-run`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newArchiveListCommand(), newArchiveShowCommand(), newArchiveSearchCommand(), newArchiveVerifyCommand(), newArchivePruneCommand())
	return cmd
}

func newArchiveListCommand() *cobra.Command {
	var o archiveListOptions
	cmd := &cobra.Command{
		Use:   "list --archive DIR",
		Short: "List the sessions of an archive and their steps",
		Example: `  tiercompact archive list --archive .compact/archive
  tiercompact archive list --archive s3://bucket/prefix --session talk --json`,
		Args: atMostArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.runArchiveList(cmd) },
	}
	o.place.registerPlace(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "as JSON")
	return cmd
}

type archiveListOptions struct {
	place archivePlace
	json  bool
}

// A listed session is one with its steps.
type listed struct {
	Session string       `json:"session"`
	Steps   []listedStep `json:"steps"`
}

type listedStep struct {
	archive.StepInfo
	Damaged string `json:"damaged,omitempty"`
}

func (o *archiveListOptions) runArchiveList(cmd *cobra.Command) (err error) {
	store, sessions, err := o.place.openArchive(cmd.Context(), archiveOptions{read: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	all, err := listSteps(cmd.Context(), store, sessions)
	if err != nil {
		return err
	}
	return buffered(cmd.OutOrStdout(), func(w io.Writer) error {
		if o.json {
			return writeJSON(w, all)
		}
		return writeList(w, all)
	})
}

func listSteps(ctx context.Context, store archive.Store, sessions []string) ([]listed, error) {
	all := []listed{}
	for _, id := range sessions {
		infos, err := store.Steps(ctx, id)
		if err != nil {
			return nil, err
		}
		l := listed{Session: id, Steps: []listedStep{}}
		for _, info := range infos {
			s := listedStep{StepInfo: info}
			if info.Damaged != nil {
				s.Damaged = info.Damaged.Error()
			}
			l.Steps = append(l.Steps, s)
		}
		all = append(all, l)
	}
	return all, nil
}

func writeList(w io.Writer, all []listed) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no session is in this archive")
		return err
	}
	for i, l := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "session %s: %s\n", printableLine(l.Session), screen.Plural(len(l.Steps), "step"))
		if err := writeSteps(w, l.Steps); err != nil {
			return err
		}
	}
	return nil
}

// writeSteps writes the table of a session's steps, at most 80 columns wide. The
// reasons are in archive show.
func writeSteps(w io.Writer, steps []listedStep) error {
	if len(steps) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\ttime (UTC)\tlevel\tbefore\tentries\tsummary\tredacted")
	for _, s := range steps {
		fmt.Fprintln(t, strings.Join(append([]string{strconv.Itoa(s.Number)}, s.tableCells()...), "\t"))
	}
	return t.Flush()
}

// tableCells returns the cells of a step after its number.
func (s listedStep) tableCells() []string {
	if s.Damaged != "" {
		return []string{printableLine(s.Damaged)}
	}
	level := cmp.Or(s.Level, "-")
	if s.Undoes > 0 {
		level = fmt.Sprintf("undo of %d", s.Undoes)
	}
	summary := "-"
	if s.Summary {
		summary = "yes"
	}
	return []string{
		s.Time.UTC().Format(time.DateTime), printableLine(level),
		strconv.Itoa(s.Messages), strconv.Itoa(len(s.Entries)), summary, strconv.Itoa(len(s.Redacted)),
	}
}
