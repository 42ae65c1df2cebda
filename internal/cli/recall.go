package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/recall"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/tokens"
)

func newRecallCommand() *cobra.Command {
	var o recallOptions
	cmd := &cobra.Command{
		Use:   "recall ID|TEXT --archive DIR",
		Short: "Get back what was removed, by its id, its words or its meaning",
		Long: `recall searches removed text, and prints the passages that fit --tokens, the
best first: by words, and by meaning if there is an embedding model. stderr says
which. A "phrase in quotes", a path and an id find what has them, first.

With the id of an outline, a marker or a summary, or its first four digits, it
prints the messages that the id stands for, or a table of them if they do not
fit; --message N prints one of them, --full prints all.

With --json, the answer is one object: "found" has the hits of a search, the
best first, "entry" the messages of an id.`,
		Example: `  tiercompact recall "connection refused" --archive .compact/archive
  tiercompact recall '"exact phrase" store.go' --archive .compact/archive
  tiercompact recall 3f9a1c2e --message 17 --archive s3://bucket/prefix`,
		Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" && !o.filtered() {
				return usageErrorf("recall needs an id, or words to search for")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.runRecall(cmd, strings.Join(args, " ")) },
	}
	f := cmd.Flags()
	o.place.registerPlace(cmd)
	f.BoolVar(&o.all, "all", false, "every session of the archive, which is the default without --session")
	f.IntVar(&o.query.Tokens, "tokens", recall.DefaultTokens, "max `tokens` (cl100k) of what is printed")
	f.IntVarP(&o.query.Max, "max", "n", 0, "max `hits` of a search (default: as many as fit)")
	f.IntVar(&o.query.Max, "most", 0, "the former name of --max")
	cmd.Flag("most").Hidden = true
	f.IntVar(&o.query.Neighbours, "neighbours", 0, "show so many `passages` before and after each hit")
	f.StringVar(&o.query.File, "file", "", "only text of this file: a `path`, or its end")
	f.StringVar(&o.role, "role", "", "only messages of a `role`: user, assistant, tool or system")
	f.StringVar(&o.query.Tool, "tool", "", "only calls and results of the tool with this `name`")
	f.StringVar(&o.since, "since", "", "only what was removed since a `time`: 2026-11-29, 2026-11-29T10:00:00Z, or 2h ago as 2h")
	f.IntVar(&o.message, "message", 0, "with an id: print the message with this `number`")
	f.BoolVar(&o.full, "full", false, "with an id: print all of it, whatever its length")
	registerSettings(cmd, "engine", "ollama_url", "embed", "deadlines.ranking")
	f.BoolVar(&o.json, "json", false, "as JSON")
	cmd.MarkFlagsMutuallyExclusive("all", "session")
	return cmd
}

// shapeOfID is the form of an id.
var shapeOfID = regexp.MustCompile(`^[0-9a-f]{8}$`)

type recallOptions struct {
	place       archivePlace
	query       recall.Query
	role, since string
	message     int
	all         bool
	full        bool
	json        bool
}

func (o *recallOptions) filtered() bool {
	return o.query.File != "" || o.query.Tool != "" || o.role != "" || o.since != ""
}

// checkFlags reads the flags that are not plain values.
func (o *recallOptions) checkFlags(cmd *cobra.Command, now time.Time) error {
	roles := []chat.Role{chat.User, chat.Assistant, chat.Tool, chat.System, chat.Developer}
	switch o.query.Role = chat.Role(strings.ToLower(o.role)); {
	case o.query.Tokens < 1:
		return usageErrorf("--tokens must be above 0, is %d", o.query.Tokens)
	case o.query.Max < 0 || o.query.Max == 0 && (cmd.Flags().Changed("max") || cmd.Flags().Changed("most")):
		return usageErrorf("--max must be above 0, is %d", o.query.Max)
	case o.query.Neighbours < 0:
		return usageErrorf("--neighbours must not be below 0, is %d", o.query.Neighbours)
	case o.message < 0:
		return usageErrorf("--message must be above 0, is %d", o.message)
	case o.role != "" && !slices.Contains(roles, o.query.Role):
		return usageErrorf("--role must be user, assistant, tool or system, is %q", o.role)
	}
	if o.since == "" {
		return nil
	}
	if ago, err := time.ParseDuration(o.since); err == nil && ago >= 0 {
		o.query.Since = now.Add(-ago)
		return nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339, time.DateTime} {
		if t, err := time.Parse(form, o.since); err == nil {
			o.query.Since = t
			return nil
		}
	}
	return usageErrorf("--since must be a day (2026-11-29), a time (2026-11-29T10:00:00Z) or a length (2h), is %q", o.since)
}

func (o *recallOptions) runRecall(cmd *cobra.Command, text string) (err error) {
	if err := o.checkFlags(cmd, time.Now()); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // the memory of one search; collecting it takes a tenth of its time
	}
	count := loadCounter()
	plain, sessions, err := o.place.openArchive(cmd.Context(), archiveOptions{read: true})
	if err != nil {
		return err
	}
	store := recall.Indexed(plain, "")
	defer func() { err = errors.Join(err, store.Close()) }()
	o.query.Text, o.query.Count = text, count
	if text, err = wholeID(cmd.Context(), store, sessions, strings.TrimSpace(text)); err != nil {
		return err
	}
	if shapeOfID.MatchString(text) || len(text) < 40 && !strings.ContainsAny(text, " \"/") {
		e, session, err := recalled(cmd.Context(), store, sessions, text)
		if err == nil {
			return o.writeEntry(cmd, store, session, e)
		}
		if !errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrDamaged) && shapeOfID.MatchString(text) {
			return err // a search for similar words would not answer a request for an id
		}
	}
	if o.message > 0 || o.full {
		return usageErrorf("--message and --full need a recall id; the archive has no %q", screen.Clip(text, 40))
	}
	name, err := o.setEmbedder(cmd.Context())
	if err != nil {
		return err
	}
	return o.search(cmd, store, sessions, name)
}

// beginningOfID is the form of a part of an id.
var beginningOfID = regexp.MustCompile(`^[0-9a-f]{4,7}$`)

// wholeID returns the id that a text is the beginning of, else the text.
func wholeID(ctx context.Context, store *recall.IndexedStore, sessions []string, text string) (string, error) {
	if !beginningOfID.MatchString(text) {
		return text, nil
	}
	ids, err := store.IDsWith(ctx, sessions, text)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) > 1:
		return "", usageErrorf("%d recall ids begin with %s: %s", len(ids), text, joinFirst(ids))
	}
	return text, nil
}

// loadCounter returns the count of tokens in cl100k, which is loaded in the background.
func loadCounter() func(string) int {
	load := sync.OnceValues(func() (*tokens.Encoding, error) { return tokens.Load(tokens.CL100K) })
	go load()
	return func(text string) int {
		cl100k, err := load()
		if err != nil {
			return len(text) // a token has at least one byte
		}
		return cl100k.Count(text)
	}
}

// A recallResult is the result of recall as JSON: the messages of an id, or hits.
type recallResult struct {
	Query    string       `json:"query"`
	By       string       `json:"by"` // id, words, or words and a model
	Total    int          `json:"total"`
	Passages int          `json:"passages"`
	Verbatim bool         `json:"verbatim"`
	Entry    *shownEntry  `json:"entry,omitempty"`
	Found    []recall.Hit `json:"found"`
}

// A shownEntry is what an id stands for, as JSON.
type shownEntry struct {
	ID       string         `json:"id"`
	Session  string         `json:"session"`
	Messages []shownMessage `json:"messages"`
	Below    []string       `json:"below,omitempty"`
	Text     string         `json:"text,omitempty"`
}

type shownMessage struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	chat.Message
}

func (o *recallOptions) writeEntry(cmd *cobra.Command, store *recall.IndexedStore, session string, kept archive.Entry) error {
	e, err := store.Entry(cmd.Context(), session, kept.ID)
	if err != nil {
		return err
	}
	if len(e.Missing) > 0 {
		printNote(cmd, "warning: text of %s cannot be read; archive verify says why", joinFirst(e.Missing))
	}
	if o.json {
		return o.writeEntryJSON(cmd, session, kept, e)
	}
	text, more, err := o.entryText(e)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	err = buffered(out, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err = errors.Join(err, flushGuard(out)); err == nil && more != "" {
		printNote(cmd, "%s", more)
	}
	return err
}

// entryText returns what is printed of an id, and how to get more, "" if that is all.
func (o *recallOptions) entryText(e recall.Entry) (text, more string, err error) {
	switch {
	case o.message > 0:
		if text, more, err = e.PrintMessage(o.message, o.query, o.full); more != "" {
			more += fmt.Sprintf("; --tokens %d prints more, --full all", 4*o.query.Tokens)
		}
	case o.full:
		text = e.FullText()
	default:
		if text, more = e.Print(o.query); more != "" {
			more += fmt.Sprintf("; recall %s --message N prints one of them, --full all, --tokens more", e.ID)
		}
	}
	return text, more, err
}

func (o *recallOptions) writeEntryJSON(cmd *cobra.Command, session string, kept archive.Entry, e recall.Entry) error {
	shown := &shownEntry{ID: e.ID, Session: session, Text: e.Text, Below: kept.Below}
	for i, m := range e.Messages {
		m.Number = cmp.Or(m.Number, i+1)
		if o.message == 0 || m.Number == o.message {
			shown.Messages = append(shown.Messages, shownMessage{m.Number, m.Title, m.Message})
		}
	}
	if o.message > 0 && len(shown.Messages) == 0 {
		_, _, err := e.PrintMessage(o.message, o.query, true)
		return err
	}
	return buffered(cmd.OutOrStdout(), func(w io.Writer) error {
		return writeJSON(w, recallResult{Query: o.query.Text, By: "id", Total: len(shown.Messages), Entry: shown})
	})
}

func (o *recallOptions) search(cmd *cobra.Command, store *recall.IndexedStore, sessions []string, name string) error {
	r, err := store.Search(cmd.Context(), sessions, o.query)
	if err != nil {
		return err
	}
	if r.Failed != nil {
		name = fmt.Sprintf("words alone: %s: %v", name, r.Failed)
	}
	if r.Damaged != nil {
		printNote(cmd, "warning: not all could be searched: %v", r.Damaged)
	}
	if len(r.Hits) == 0 {
		none := fmt.Errorf("recall %q: %w: no such id, and no removed text has these words", o.query.Text, archive.ErrNotFound)
		if o.filtered() {
			none = fmt.Errorf("recall %q: %w: no removed text passes the filters and has these words", o.query.Text, archive.ErrNotFound)
		}
		return errors.Join(none, r.Damaged)
	}
	if o.json {
		return buffered(cmd.OutOrStdout(), func(w io.Writer) error {
			return writeJSON(w, recallResult{Query: o.query.Text, By: name, Total: r.Total, Passages: r.Passages, Verbatim: r.Verbatim, Found: r.Hits})
		})
	}
	out := cmd.OutOrStdout()
	err = buffered(out, func(w io.Writer) error {
		_, err := io.WriteString(w, fitTitles(r.Text(), plainScreen(out).Width))
		return err
	})
	if err == nil {
		err = flushGuard(out)
	}
	if err != nil {
		return err
	}
	o.noteSearch(cmd, r, name)
	return nil
}

// noteSearch says how the hits were found, and how to get more: below them, where a
// terminal shows it.
func (o *recallOptions) noteSearch(cmd *cobra.Command, r recall.Result, name string) {
	printNote(cmd, "%s of %s removed passages, compared by %s", screen.Grouped(len(r.Hits)), screen.Grouped(r.Passages), name)
	if strings.ContainsAny(o.query.Text, "\"“") && !r.Verbatim {
		printNote(cmd, "no removed text has the exact phrase; these are the nearest")
	}
	if r.Total <= len(r.Hits) {
		return
	}
	whole := "recall ID --message N prints a message whole"
	if h := r.Hits[0]; h.Message > 0 {
		whole = fmt.Sprintf("recall %s --message %d prints the first hit's message whole", h.ID, h.Message)
	}
	printNote(cmd, "--tokens %d prints more; %s", 2*o.query.Tokens, whole)
}

// endOfTitle is what a title says last of a passage.
var endOfTitle = regexp.MustCompile(`(?:, failed)?(?:, lines? [0-9-]+)?$`)

// fitTitles puts a blank line before each passage with a title, and cuts the title to the
// width of a terminal. Other text of a width of 0 stays as it is.
func fitTitles(text string, width int) string {
	if width == 0 {
		return text
	}
	var b strings.Builder
	above := true // a heading or a blank line
	for line := range strings.Lines(text) {
		if title, ok := strings.CutSuffix(line, "\n"); ok && strings.HasPrefix(line, "== ") {
			if !above {
				b.WriteString("\n")
			}
			if screen.CellsOf(title) > width {
				end := endOfTitle.FindString(title)
				title = screen.Clip(strings.TrimSuffix(title, end), width-len(end)) + end
			}
			line = title + "\n"
		}
		above = line == "\n" || strings.HasPrefix(line, "recall ")
		b.WriteString(line)
	}
	return b.String()
}
