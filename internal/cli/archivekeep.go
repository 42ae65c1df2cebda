package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newArchiveVerifyCommand() *cobra.Command {
	var o archiveVerifyOptions
	cmd := &cobra.Command{
		Use:   "verify [SESSION-FILE...] --archive DIR",
		Short: "Read everything, and report what has changed or is lost",
		Long: `verify reads all files of an archive and compares them with their hashes. It
finds lost steps, and recall ids of the conversation that no step has: in the
result of the newest step, and in the session file of a chat, if there is one.
For each damage it prints the session, step, entry, file and line, and exits 1.
It also reads session files: those that you name, or else those of the chats
beside the folder. For each damaged record it reports whether the archive has
its content; chat --resume --lenient continues with that.`,
		Example: `  tiercompact archive verify --archive .compact/archive
  tiercompact archive verify --archive s3://bucket/prefix --session talk --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runArchiveVerify(cmd, args) },
	}
	o.place.registerPlace(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "as JSON")
	return cmd
}

type archiveVerifyOptions struct {
	place archivePlace
	json  bool
}

// verified is the result of verify for a session.
type verified struct {
	Session  string          `json:"session"`
	Steps    int             `json:"steps"`
	Entries  int             `json:"entries"`
	Events   int             `json:"events"`
	Unhashed int             `json:"unhashed"` // steps from before there were hashes of entries
	Damages  []verifiedPlace `json:"damages"`
	Notes    []verifiedPlace `json:"notes"`
	Files    []verifiedFile  `json:"files,omitempty"` // session files
}

// withFile adds a session file to the result of its session.
func withFile(all []verified, f verifiedFile) []verified {
	i := slices.IndexFunc(all, func(v verified) bool { return v.Session == f.Session })
	if i < 0 {
		i = len(all)
		all = append(all, verifiedOf(archive.Findings{Session: f.Session}))
	}
	all[i].Files = append(all[i].Files, f)
	return all
}

type verifiedPlace struct {
	Step    int    `json:"step,omitempty"`
	Entry   string `json:"entry,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Problem string `json:"problem"`
}

func (o *archiveVerifyOptions) runArchiveVerify(cmd *cobra.Command, named []string) (err error) {
	store, sessions, err := o.place.openArchive(cmd.Context(), archiveOptions{read: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	all, damages := []verified{}, 0
	for _, id := range sessions {
		f, err := archive.Verify(cmd.Context(), store, id)
		if err != nil {
			return err
		}
		if err := o.addSessionFile(cmd.Context(), store, &f); err != nil {
			return err
		}
		all, damages = append(all, verifiedOf(f)), damages+len(f.Damages)
	}
	files, err := o.place.sessionFiles(named)
	if err != nil {
		return err
	}
	for _, path := range files {
		f, ok, err := o.place.verifySessionFile(cmd.Context(), store, path)
		if err != nil {
			return err
		}
		if ok {
			all, damages = withFile(all, f), damages+len(f.Damages)
		}
	}
	err = buffered(cmd.OutOrStdout(), func(w io.Writer) error {
		if o.json {
			return writeJSON(w, all)
		}
		return writeVerified(w, all)
	})
	if err == nil && damages > 0 {
		err = fmt.Errorf("archive %s: %s; what is left can still be read", o.place.where, screen.Plural(damages, "damage"))
	}
	return err
}

// addSessionFile adds what a chat's session file refers to and the archive lacks.
// An unreadable session file is not damage of the archive.
func (o *archiveVerifyOptions) addSessionFile(ctx context.Context, store archive.Store, f *archive.Findings) error {
	if strings.ContainsAny(f.Session, `/\`) || o.place.Config.Archive.Adapter != config.Dir {
		return nil
	}
	path := o.place.sessionFile(f.Session)
	state, err := archive.ReadSession(path)
	if err != nil || state.Meta.Session != f.Session {
		return nil
	}
	damages, err := archive.VerifyState(ctx, store, state)
	for _, d := range damages {
		known := func(o *archive.Damage) bool { return o.Step == d.Step && o.Entry == d.Entry }
		if !slices.ContainsFunc(f.Damages, known) {
			d.File = path
			f.Damages = append(f.Damages, d)
		}
	}
	return err
}

func verifiedOf(f archive.Findings) verified {
	v := verified{f.Session, f.Steps, f.Entries, f.Events, f.Unhashed, []verifiedPlace{}, []verifiedPlace{}, nil}
	for _, d := range f.Damages {
		v.Damages = append(v.Damages, verifiedPlace{d.Step, d.Entry, d.File, d.Line, d.Err.Error()})
	}
	for _, n := range f.Notes {
		v.Notes = append(v.Notes, verifiedPlace{File: n.File, Problem: n.Text})
	}
	return v
}

func writeVerified(w io.Writer, all []verified) error {
	for _, v := range all {
		state := "as it was written"
		if len(v.Damages) > 0 {
			state = "damaged"
		}
		fmt.Fprintf(w, "session %s: %s, %s, %s: %s\n", printableLine(v.Session), screen.Plural(v.Steps, "step"), countNoun(v.Entries, "entry", "entries"), screen.Plural(v.Events, "event"), state)
		for _, d := range v.Damages {
			fmt.Fprintln(w, "  damaged:", printableLine(d.String()))
		}
		if v.Unhashed > 0 {
			fmt.Fprintf(w, "  note: %s from before entries had hashes: only the transcript is checked\n", screen.Plural(v.Unhashed, "step"))
		}
		for _, n := range v.Notes {
			fmt.Fprintln(w, "  note:", printableLine(n.String()))
		}
		for _, f := range v.Files {
			writeVerifiedFile(w, f)
		}
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "no session is in this archive")
	}
	return nil
}

func countNoun(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return screen.Grouped(n) + " " + more
}

func (p verifiedPlace) String() string {
	text := p.File
	if text == "" && p.Step == 0 && p.Entry == "" {
		return p.Problem
	}
	if p.Line > 0 {
		text += fmt.Sprintf(": line %d", p.Line)
	}
	where := []string{}
	if p.Step > 0 {
		where = append(where, fmt.Sprintf("step %d", p.Step))
	}
	if text != "" {
		where = append(where, text)
	}
	if p.Entry != "" {
		where = append(where, "entry "+p.Entry)
	}
	return strings.Join(append(where, p.Problem), ": ")
}

func newArchivePruneCommand() *cobra.Command {
	var o archivePruneOptions
	cmd := &cobra.Command{
		Use:   "prune --archive DIR",
		Short: "Remove old steps that nothing refers to",
		Long: `prune removes steps by number and age, and the remains of interrupted processes.
The newest step always stays. Without --force, prune also keeps each step whose
entries the conversation still refers to, directly or through a summary, because
recall needs it, and it does not touch damaged steps or the remains of lost
ones. The round of a removed step cannot be undone from the archive.`,
		Example: `  tiercompact archive prune --archive .compact/archive --keep 20 --dry-run
  tiercompact archive prune --archive .compact/archive --older-than 720h`,
		Args: atMostArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.runArchivePrune(cmd) },
	}
	f := cmd.Flags()
	o.place.registerPlace(cmd)
	f.IntVar(&o.keep, "keep", 0, "keep this many of the newest `steps` of each session")
	f.DurationVar(&o.olderThan, "older-than", 0, "remove only steps older than this `time`, such as 720h")
	f.BoolVar(&o.force, "force", false, "also remove steps that are damaged or still referred to; recall and undo then fail for them")
	f.BoolVar(&o.dry, "dry-run", false, "report what would be removed, and remove nothing")
	f.BoolVar(&o.json, "json", false, "as JSON")
	return cmd
}

type archivePruneOptions struct {
	place            archivePlace
	keep             int
	olderThan        time.Duration
	force, dry, json bool
}

func (o *archivePruneOptions) pruneOptions() (archive.PruneOptions, error) {
	p := archive.PruneOptions{Keep: o.keep, Force: o.force, Dry: o.dry}
	switch {
	case o.keep < 0:
		return p, usageErrorf("--keep must be above 0, is %d", o.keep)
	case o.olderThan < 0:
		return p, usageErrorf("--older-than must be above 0, is %s", o.olderThan)
	case o.keep == 0 && o.olderThan == 0:
		return p, usageErrorf("prune needs --keep or --older-than")
	}
	if o.olderThan > 0 {
		p.Before = time.Now().Add(-o.olderThan)
	}
	return p, nil
}

func (o *archivePruneOptions) runArchivePrune(cmd *cobra.Command) (err error) {
	options, err := o.pruneOptions()
	if err != nil {
		return err
	}
	store, sessions, err := o.place.openArchive(cmd.Context(), archiveOptions{read: o.dry})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	all, pruneErr := prunedSessions(cmd.Context(), store, sessions, options)
	err = buffered(cmd.OutOrStdout(), func(w io.Writer) error {
		if o.json {
			return writeJSON(w, all)
		}
		return writePruned(w, all, o.dry)
	})
	return errors.Join(pruneErr, err)
}

// pruned is the result of prune for a session.
type pruned struct {
	Session   string   `json:"session"`
	Steps     []int    `json:"steps"`
	Leftovers []int    `json:"leftovers"`
	Spared    []spared `json:"spared"`
}

type spared struct {
	Step int    `json:"step"`
	Why  string `json:"why"`
}

// prunedSessions prunes sessions until an error; it also returns what was pruned
// before the error.
func prunedSessions(ctx context.Context, store archive.Store, sessions []string, o archive.PruneOptions) ([]pruned, error) {
	all := []pruned{}
	for _, id := range sessions {
		p, err := archive.Prune(ctx, store, id, o)
		out := pruned{id, []int{}, append([]int{}, p.Leftovers...), []spared{}}
		for _, s := range p.Steps {
			out.Steps = append(out.Steps, s.Number)
		}
		for _, s := range p.Spared {
			out.Spared = append(out.Spared, spared{s.Number, s.Why})
		}
		all = append(all, out)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func writePruned(w io.Writer, all []pruned, dry bool) error {
	verb, steps := "removed", 0
	if dry {
		verb = "would remove"
	}
	for _, p := range all {
		for _, n := range p.Steps {
			fmt.Fprintf(w, "session %s: %s step %d\n", printableLine(p.Session), verb, n)
		}
		for _, n := range p.Leftovers {
			fmt.Fprintf(w, "session %s: %s what is left of step %d\n", printableLine(p.Session), verb, n)
		}
		for _, s := range p.Spared {
			fmt.Fprintf(w, "session %s: step %d stays: %s\n", printableLine(p.Session), s.Step, printableLine(s.Why))
		}
		steps += len(p.Steps)
	}
	_, err := fmt.Fprintf(w, "%s %s\n", verb, screen.Plural(steps, "step"))
	return err
}

// A verifiedFile is the result of verify for a session file.
type verifiedFile struct {
	Path    string           `json:"path"`
	Session string           `json:"session,omitempty"` // "" if the file does not say
	Records int              `json:"records"`           // unchanged ones
	Damages []verifiedRecord `json:"damages"`
	Torn    int              `json:"torn,omitempty"` // bytes of an incomplete last record
}

type verifiedRecord struct {
	Line    int    `json:"line,omitempty"`
	Record  int    `json:"record,omitempty"`
	Until   int    `json:"until,omitempty"`
	Problem string `json:"problem"`
	Lost    bool   `json:"lost,omitempty"` // its content is not in the file
	Step    int    `json:"step,omitempty"` // of the archive, which has the content

	text string
}

// sessionFile returns the path of a chat's session file: it is beside the archive.
func (p *archivePlace) sessionFile(session string) string {
	return filepath.Join(filepath.Dir(filepath.Clean(p.where)), "sessions", session+".jsonl")
}

// sessionFiles returns the session files of the archive: the named ones, or those
// beside the folder.
func (p *archivePlace) sessionFiles(named []string) ([]string, error) {
	if len(named) > 0 || p.Config.Archive.Adapter != config.Dir {
		return named, nil
	}
	found, err := filepath.Glob(p.sessionFile("*"))
	slices.Sort(found)
	return found, err
}

// verifySessionFile reads a session file. ok is false if the file belongs to
// another session than the requested one.
func (p *archivePlace) verifySessionFile(ctx context.Context, store archive.Store, path string) (v verifiedFile, ok bool, err error) {
	s, found, err := archive.CheckSession(ctx, path, store)
	v = verifiedFile{Path: path, Session: s.Meta.Session, Records: found.Records, Damages: []verifiedRecord{}, Torn: s.Torn}
	switch {
	case ctx.Err() != nil:
		return v, false, ctx.Err()
	case errors.Is(err, os.ErrNotExist):
		return v, false, err
	case err != nil:
		v.Damages = append(v.Damages, verifiedRecord{Problem: err.Error(), Lost: true, text: err.Error()})
		return v, true, nil
	}
	for _, d := range found.Damages {
		v.Damages = append(v.Damages, verifiedRecord{d.Line, d.Record, d.Until, d.Err.Error(), d.Lost, d.Step, d.String()})
	}
	return v, p.session == "" || p.session == v.Session, nil
}

func writeVerifiedFile(w io.Writer, v verifiedFile) {
	state := "as it was written"
	if len(v.Damages) > 0 {
		state = "damaged"
	}
	fmt.Fprintf(w, "session file %s: %s: %s\n", printableLine(v.Path), screen.Plural(v.Records, "record"), state)
	for _, d := range v.Damages {
		fmt.Fprintln(w, "  damaged:", printableLine(d.text))
	}
	if v.Torn > 0 {
		fmt.Fprintf(w, "  note: the last record was not written to its end (%s): a process was interrupted\n", screen.Plural(v.Torn, "byte"))
	}
}
