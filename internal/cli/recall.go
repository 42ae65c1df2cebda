package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newRecallCommand() *cobra.Command {
	var o recallOptions
	cmd := &cobra.Command{
		Use:   "recall ID|TEXT --archive DIR",
		Short: "Get removed messages back by id, words or meaning",
		Long: `recall prints the text that an outline, a marker or a summary replaced. They
show its id after "recall". Anything else is searched for: by its words, and by
its meaning if there is an embedding model. stderr reports which.

With --json, the answer is an object: "entry" is the entry of an id, "found" is
the list of hits of a search, the best first.`,
		Example: `  tiercompact recall 3f9a1c2e --archive .compact/archive
  tiercompact recall "connection refused" --archive .compact/archive -n 3
  tiercompact recall why postgres --archive s3://bucket/prefix --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usageErrorf("recall needs an id, or words to search for")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.runRecall(cmd, strings.Join(args, " ")) },
	}
	f := cmd.Flags()
	o.place.registerPlace(cmd)
	f.IntVarP(&o.most, "most", "n", 5, "the maximum number of `hits` of a search")
	registerSettings(cmd, "engine", "ollama_url", "embed", "deadlines.ranking")
	f.BoolVar(&o.json, "json", false, "as JSON")
	return cmd
}

// shapeOfID is the form of an id.
var shapeOfID = regexp.MustCompile(`^[0-9a-f]{8}$`)

type recallOptions struct {
	place archivePlace
	most  int
	json  bool
}

func (o *recallOptions) runRecall(cmd *cobra.Command, text string) (err error) {
	if o.most < 1 {
		return usageErrorf("--most must be above 0, is %d", o.most)
	}
	store, sessions, err := o.place.openArchive(cmd.Context(), archiveOptions{read: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e, err := recalled(cmd.Context(), store, sessions, text)
	if err == nil {
		return buffered(cmd.OutOrStdout(), func(w io.Writer) error { return o.writeEntry(w, e) })
	}
	if !errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrDamaged) && shapeOfID.MatchString(text) {
		return err // a search for similar words would not answer a request for an id
	}
	by, name, err := o.meaningRanker(cmd.Context())
	if err != nil {
		return err
	}
	r := searched{most: o.most}
	if err := r.searchSessions(cmd.Context(), store, sessions, text, by); err != nil {
		return err
	}
	if r.failed != nil {
		name = fmt.Sprintf("words alone: %s: %v", name, r.failed)
	}
	printNote(cmd, "compared by %s", name)
	return r.writeHits(cmd, o.json)
}

// A recallResult is the result of recall as JSON: an entry or hits.
type recallResult struct {
	Entry *shownEntry  `json:"entry,omitempty"`
	Found []sessionHit `json:"found,omitempty"`
}

func (o *recallOptions) writeEntry(w io.Writer, e archive.Entry) error {
	if o.json {
		entry := shownEntry(e)
		return writeJSON(w, recallResult{Entry: &entry})
	}
	_, err := io.WriteString(w, screen.Entry(e))
	return err
}

// A shownEntry is an entry as JSON.
type shownEntry struct {
	ID       string         `json:"id"`
	Messages []chat.Message `json:"messages"`
	Below    []string       `json:"below,omitempty"`
	Text     string         `json:"text,omitempty"`
}
