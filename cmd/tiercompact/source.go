package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/wire"
)

// A source says which transcript is read, and how.
type source struct {
	from    string
	chat    int
	lenient bool
}

func (s *source) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.from, "from", "", "`format` of the transcript: "+formatNames(false)+" (default: told by its content)")
	f.IntVar(&s.chat, "chat", 0, "which chat, `n`, of a file that holds several, from 1")
	f.BoolVar(&s.lenient, "lenient", false, "leave broken lines out, and say how many")
	complete(cmd, "from", strings.Split(formatNames(false), ", ")...)
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

// complete has the shell complete the values of a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was registered one line above
	}
}

// An input is a transcript as it was read.
type input struct {
	wire.Conversation
	name    string // for people
	session string // id by default: the file's name without its ending
}

// read reads the transcript of a file, or of stdin for "-". What it left out it
// says on stderr.
func (s source) read(cmd *cobra.Command, path string) (input, error) {
	if err := oneOf("--from", s.from, formatNames(false)); err != nil {
		return input{}, err
	}
	r, err := open(cmd, path)
	if err != nil {
		return input{}, err
	}
	defer r.Close()
	in := input{name: path, session: sessionOf(path)}
	if path == "-" {
		in.name = "stdin"
	}
	in.Conversation, err = wire.Decode(r, wire.Options{Format: s.from, Lenient: s.lenient, Chat: s.chat, Name: in.name})
	if err != nil {
		return input{}, err
	}
	for i := range in.Messages { // as a session would; so every command names messages alike
		if in.Messages[i].ID == "" {
			in.Messages[i].ID = fmt.Sprintf("m%d", i+1)
		}
	}
	if in.Skipped > 0 {
		note(cmd, "%s: %s left out", in.name, plural(in.Skipped, "broken line"))
	}
	return in, nil
}

func open(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if path == "-" {
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
	base := filepath.Base(path)
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return name
	}
	return base
}

// fileOrStdin is the one argument of a command that reads a transcript.
func fileOrStdin(args []string) string {
	if len(args) == 0 {
		return "-"
	}
	return args[0]
}

// oneOf refuses a value that is not in a comma-separated list; "" is allowed.
func oneOf(flag, value, allowed string) error {
	if value == "" {
		return nil
	}
	for name := range strings.SplitSeq(allowed, ", ") {
		if name == value {
			return nil
		}
	}
	return usagef("%s takes one of %s, not %q", flag, allowed, value)
}
