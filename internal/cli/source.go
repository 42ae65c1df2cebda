package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/wire"
)

// A source selects a transcript, and how it is read.
type source struct {
	from    string
	chat    int
	lenient bool
}

func (s *source) registerSource(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.from, "from", "", "`format` of the transcript: "+formatNames(false)+" (default: detected)")
	f.IntVar(&s.chat, "chat", 0, "which chat, `n`, of a file that holds several, from 1")
	f.BoolVar(&s.lenient, "lenient", false, "skip broken records, read bytes that are not UTF-8 as U+FFFD, and report how many")
	complete(cmd, "from", formatNames(false))
}

// formatNames lists the formats, or those that can be written.
func formatNames(written bool) string {
	var names []string
	for _, f := range wire.Formats() {
		if f.Writable || !written {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

// readOnly returns the format of c if it can only be read and the output is
// therefore openai; else "".
func readOnly(c wire.Conversation, to string) string {
	if to != "" || slices.Contains(strings.Split(formatNames(true), ", "), c.Format) {
		return ""
	}
	return c.Format
}

// checkPlaced refuses to replace the input file with another format, and reports
// the format of the output if it is another one.
func checkPlaced(cmd *cobra.Command, c wire.Conversation, in, out, to string, quiet bool) error {
	format := readOnly(c, to)
	switch {
	case format == "":
		return nil
	case in != "-" && sameFile(out, in):
		return usageErrorf("--out %s is the input, in the format %s, which cannot be written; give another file, or say --to openai", out, format)
	case !quiet:
		printNote(cmd, "written as openai: %s can only be read", format)
	}
	return nil
}

// An input is a transcript as it was read.
type input struct {
	wire.Conversation
	name    string // for people
	session string // id by default: the file's name without its extension
}

// readSource reads the transcript of a file, or of stdin for "-". It reports on
// stderr what it left out.
func (s source) readSource(cmd *cobra.Command, path string) (input, error) {
	if err := checkOneOf("--from", s.from, formatNames(false)); err != nil {
		return input{}, err
	}
	in := input{name: path, session: sessionOf(path)}
	if path == "-" {
		in.name = "stdin"
	}
	var err error
	in.Conversation, err = interruptible(cmd.Context(), func() (wire.Conversation, error) {
		r, err := openInput(cmd, path)
		if err != nil {
			return wire.Conversation{}, err
		}
		defer r.Close()
		return wire.Decode(r, wire.Options{Format: s.from, Lenient: s.lenient, Chat: s.chat, Name: in.name})
	})
	if err != nil {
		return input{}, err
	}
	for i := range in.Messages { // as a session does, so that every command names messages alike
		if in.Messages[i].ID == "" {
			in.Messages[i].ID = fmt.Sprintf("m%d", i+1)
		}
	}
	if in.Skipped > 0 {
		printNote(cmd, "%s: %s left out", in.name, screen.Plural(in.Skipped, "broken record"))
	}
	if in.Replaced > 0 {
		printNote(cmd, "%s: %s not UTF-8, read as U+FFFD", in.name, screen.Plural(in.Replaced, "byte"))
	}
	if in.Unfinished > 0 {
		printNote(cmd, "%s:%d: the last record has no end, it is still being written; left out", in.name, in.Unfinished)
	}
	return in, nil
}

// interruptible returns the result of read, or the interruption: a read of a pipe
// without a writer would never end.
func interruptible(ctx context.Context, read func() (wire.Conversation, error)) (wire.Conversation, error) {
	type result struct {
		c   wire.Conversation
		err error
	}
	done := make(chan result, 1)
	go func() {
		c, err := read()
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		return r.c, r.err
	case <-ctx.Done():
		return wire.Conversation{}, ctx.Err()
	}
}

func openInput(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	switch path {
	case "":
		return nil, usageErrorf("the file's name is empty; give a FILE, or - for stdin")
	case "-":
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("read %s: is a directory; give the file of one session", path)
	}
	return f, nil
}

func sessionOf(path string) string {
	if path == "-" {
		return "stdin"
	}
	base := strings.ToValidUTF8(filepath.Base(path), "_")
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return name
	}
	return base
}

// fileOrPipe refuses to read from a terminal if no file is named.
func fileOrPipe(cmd *cobra.Command, args []string) error {
	if err := atMostArgs(1)(cmd, args); err != nil || len(args) > 0 {
		return err
	}
	if f, ok := cmd.InOrStdin().(*os.File); ok {
		if _, terminal := terminalWidth(f); terminal {
			return usageErrorf("%s needs a FILE, or - for stdin", cmd.Name())
		}
	}
	return nil
}

// fileOrStdin returns the one argument of a command that reads a transcript.
func fileOrStdin(args []string) string {
	if len(args) == 0 {
		return "-"
	}
	return args[0]
}
