package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/bench/corpus"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/wire"
)

// mostChats is how many chats of one file are measured: each is read anew.
const mostChats = 50

// readSessions reads the transcripts of files, and of folders and all below
// them. What cannot be read is named on stderr; it fails where nothing can.
func readSessions(cmd *cobra.Command, args []string) (out []corpus.Session, err error) {
	paths, err := transcripts(args)
	if err != nil {
		return nil, err
	}
	failed := 0
	for _, path := range paths {
		sessions, err := sessionsIn(cmd, path)
		if cmd.Context().Err() != nil {
			return nil, fmt.Errorf("read %s: %w", path, cmd.Context().Err())
		}
		if err != nil {
			failed++
			note(cmd, "%v; left out", err)
			continue
		}
		out = append(out, sessions...)
	}
	if failed > 0 {
		note(cmd, "%s of %d could not be read", screen.Plural(failed, "file"), len(paths))
	}
	if len(out) == 0 {
		return nil, errors.New("read sessions: there is none; give transcripts, or folders that hold some")
	}
	return out, nil
}

// transcripts returns args with the files of folders in their place.
func transcripts(args []string) (paths []string, err error) {
	for _, arg := range args {
		if !isFolder(arg) {
			paths = append(paths, arg)
			continue
		}
		names, err := filesIn(arg)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			paths = append(paths, filepath.Join(arg, name))
		}
	}
	return paths, nil
}

// sessionsIn reads the chats of a file.
func sessionsIn(cmd *cobra.Command, path string) ([]corpus.Session, error) {
	in, err := source{lenient: true}.read(cmd, path)
	if err == nil {
		return []corpus.Session{{Name: in.name, Messages: in.Messages}}, nil
	}
	if !errors.Is(err, wire.ErrSeveralChats) {
		return nil, err
	}
	var out []corpus.Session
	for n := 1; n <= mostChats; n++ {
		in, err := source{lenient: true, chat: n}.read(cmd, path)
		if errors.Is(err, wire.ErrNoChat) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, corpus.Session{Name: fmt.Sprintf("%s, chat %d", in.name, n), Messages: in.Messages})
	}
	note(cmd, "%s: the first %d chats are measured", path, mostChats)
	return out, nil
}

// setName names what was given.
func setName(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return fmt.Sprintf("%s and %s", args[0], screen.Plural(len(args)-1, "other"))
}
