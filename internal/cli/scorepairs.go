package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// A pair is the files of one comparison.
type pair struct {
	name                string
	before, after, next string // next is "" if the continuation is unknown
}

// filePairs returns the files to compare: the two named ones, or those of two
// folders with equal names.
func (o *scoreOptions) filePairs(cmd *cobra.Command, before, after string) ([]pair, error) {
	next, flag := o.next, "--next"
	if o.full != "" {
		next, flag = o.full, "--full"
	}
	switch one, other := isFolder(before), isFolder(after); {
	case one != other:
		return nil, usageErrorf("BEFORE and AFTER are a folder and a file; give two files or two folders")
	case !one && isFolder(next):
		return nil, usageErrorf("%s %s is a folder; give the file for %s", flag, next, before)
	case !one:
		return []pair{{sessionOf(before), before, after, next}}, nil
	case next != "" && !isFolder(next):
		return nil, usageErrorf("%s %s is no folder; BEFORE and AFTER are folders, so give one", flag, next)
	case o.cut > 0:
		return nil, usageErrorf("--cut is a place in one session; leave it out for folders")
	}
	all, lonely, err := pairFiles(before, after)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s and %s have no file of one name; name what a compactor made of a file as that file", before, after)
	}
	if lonely > 0 {
		printNote(cmd, "%s of %s or %s without partner left out", screen.Plural(lonely, "file"), before, after)
	}
	return all, continued(all, next, flag)
}

// pairFiles pairs the files of two folders in the order of their names, and counts
// the files without a partner.
func pairFiles(before, after string) (pairs []pair, lonely int, err error) {
	names, err := listFiles(before)
	if err != nil {
		return nil, 0, err
	}
	made, err := newNamed(after)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		if made.containsName(name) {
			pairs = append(pairs, pair{name: filepath.ToSlash(name), before: filepath.Join(before, name), after: made.namedPath(name)})
		} else {
			lonely++
		}
	}
	return pairs, lonely + made.files - len(pairs), nil
}

// continued sets the file with the continuation of each pair.
func continued(pairs []pair, folder, flag string) error {
	if folder == "" {
		return nil
	}
	next, err := newNamed(folder)
	if err != nil {
		return err
	}
	for i, p := range pairs {
		name := filepath.FromSlash(p.name)
		if !next.containsName(name) {
			return usageErrorf("%s %s has no file for %s; add it, or take %s out of BEFORE", flag, folder, p.name, p.name)
		}
		pairs[i].next = next.namedPath(name)
	}
	return nil
}

// named are the files of a folder by their names, and by their names without
// extension if only one file has that name.
type named struct {
	folder string
	files  int
	whole  map[string]bool
	stems  map[string][]string
}

func newNamed(folder string) (named, error) {
	names, err := listFiles(folder)
	n := named{folder, len(names), make(map[string]bool), make(map[string][]string)}
	for _, name := range names {
		n.whole[name] = true
		n.stems[nameWithoutExt(name)] = append(n.stems[nameWithoutExt(name)], name)
	}
	return n, err
}

func (n named) containsName(name string) bool {
	return n.whole[name] || len(n.stems[nameWithoutExt(name)]) == 1
}

func (n named) namedPath(name string) string {
	if !n.whole[name] {
		name = n.stems[nameWithoutExt(name)][0]
	}
	return filepath.Join(n.folder, name)
}

func nameWithoutExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// listFiles lists the files below a folder, relative to it, in order. It leaves out
// pipes, devices, and names that begin with a dot. A subfolder that cannot be
// listed is listed itself, so that reading it reports the error.
func listFiles(folder string) (names []string, err error) {
	named := folder
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved // WalkDir does not follow a link
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && (path == folder || d == nil):
			return err
		case err != nil:
			name, err := filepath.Rel(folder, path)
			names = append(names, name)
			return cmp.Or(err, fs.SkipDir)
		case path != folder && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() && d.Type() != fs.ModeSymlink:
			return nil
		}
		name, err := filepath.Rel(folder, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", named, systemCause(err))
	}
	return names, nil
}
