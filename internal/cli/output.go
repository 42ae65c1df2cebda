package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/wire"
)

// writeOutput has fill write the file of a path, or stdout for "-". A file gets its
// name only when it is complete, so it may be the input file. Anything but a plain
// file (a device, a pipe) is written to directly, never replaced.
func writeOutput(cmd *cobra.Command, path string, fill func(io.Writer) error) (err error) {
	if path == "-" {
		return buffered(cmd.OutOrStdout(), fill)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, systemCause(err))
		}
	}()
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return replaceFile(path, fill)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		return replaceFile(target, fill)
	}
	f, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(writtenTo(f, fill), f.Close())
}

// refuseTerminal refuses to fill a terminal with a conversation, unless --out
// names stdout.
func refuseTerminal(cmd *cobra.Command) error {
	if cmd.Flags().Changed("out") || !isTerminal(cmd.OutOrStdout()) {
		return nil
	}
	return usageErrorf("%s writes a conversation, and stdout is a terminal; give --out FILE (-o FILE), or a pipe; --out - writes it here", cmd.Name())
}

// writtenTo has fill write to a device or a pipe, which may be a terminal.
func writtenTo(f *os.File, fill func(io.Writer) error) error {
	w := guarded(f)
	return errors.Join(buffered(w, fill), flushGuard(w))
}

// replaceFile writes a file beside path, and gives it that name.
func replaceFile(path string, fill func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tiercompact-*")
	if err != nil {
		return err
	}
	err = errors.Join(buffered(f, fill), f.Close())
	if err == nil {
		err = keepMode(path, f.Name())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// keepMode gives the new file the mode of the file that it replaces. A file that
// replaces none is readable for its owner only: it holds a conversation.
func keepMode(old, fresh string) error {
	info, err := os.Stat(old)
	if err != nil {
		return nil
	}
	return os.Chmod(fresh, info.Mode().Perm())
}

func buffered(w io.Writer, fill func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := fill(b); err != nil {
		return err
	}
	return b.Flush()
}

// writeConversation writes c in the format to; "" is its own format.
func writeConversation(cmd *cobra.Command, path string, c wire.Conversation, to string) error {
	return writeOutput(cmd, path, func(w io.Writer) error { return wire.Encode(w, c, to) })
}

// printNote writes one line to stderr.
func printNote(cmd *cobra.Command, format string, args ...any) {
	w := cmd.ErrOrStderr()
	fmt.Fprintln(w, wrapForTerminal(w, "tiercompact: "+safeForStderr(fmt.Sprintf(format, args...))))
}
