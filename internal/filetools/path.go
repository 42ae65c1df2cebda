package filetools

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// privateFolders are never read: version control and the chat's own files. They hold
// credentials, or everything that was said.
var privateFolders = []string{".git", ".hg", ".svn", ".compact"}

// isPrivate reports whether a name is that of a private folder, in any spelling that
// a file system may take for it: case, blanks and dots at the end.
func isPrivate(name string) bool {
	name = strings.TrimRight(name, ". ")
	return slices.ContainsFunc(privateFolders, func(private string) bool { return strings.EqualFold(private, name) })
}

// insidePath returns a model's path in its shortest form. It refuses each path that
// could lead out of the folder on any system, before a file system sees it.
func insidePath(p string) (string, error) {
	shown := p
	p = strings.TrimSpace(p)
	switch {
	case p == "":
		return ".", nil
	case len(p) > maxPath: // the user has to read it
		return "", fmt.Errorf("the path has %d bytes, more than the %d that a path may have", len(p), maxPath)
	case !utf8.ValidString(p) || strings.ContainsFunc(p, func(r rune) bool { return steersText(r) }):
		return "", fmt.Errorf("path %q has control characters", shown)
	case strings.Contains(p, `\`):
		return "", fmt.Errorf("path %q has a backslash; write folders with /", shown)
	case strings.HasPrefix(p, "/") || filepath.IsAbs(p) || filepath.VolumeName(p) != "" || hasDrive(p):
		return "", fmt.Errorf("path %q is absolute; give it relative to the folder, such as %q", shown, path.Base(p))
	case strings.HasPrefix(p, "~"):
		return "", fmt.Errorf("path %q is in a home folder; only files of this folder can be read", shown)
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", fmt.Errorf("path %q leads out of the folder by ..; only files of this folder can be read", shown)
	}
	p = path.Clean(p)
	if !filepath.IsLocal(filepath.FromSlash(p)) { // names of devices on Windows
		return "", fmt.Errorf("path %q is not a file of this folder", shown)
	}
	for part := range strings.SplitSeq(p, "/") {
		if isPrivate(part) {
			return "", fmt.Errorf("path %q is private: %s cannot be read", shown, part)
		}
	}
	return p, nil
}

// steersText reports whether r is no part of a visible name: control characters,
// those that change the direction of writing, and breaks of lines and paragraphs.
func steersText(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// hasDrive reports whether p begins with a drive of Windows, on any system.
func hasDrive(p string) bool {
	return len(p) > 1 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}

// A target is a file or a folder that a path leads to, in the folder that has it.
type target struct {
	in   *os.Root
	name string // in that folder
	path string
	info fs.FileInfo
}

// Close closes what was opened on the way to the target.
func (x target) Close() {
	if x.in != nil {
		_ = x.in.Close() // nothing was written
	}
}

// findPath returns what a path leads to. It opens folder after folder, so that a link
// that replaces one meanwhile leads nowhere else. No part of the path may be a link:
// even a link to a file of the folder gives it a second name.
func (f *Folder) findPath(p string) (x target, err error) {
	in, err := f.root.OpenRoot(".")
	if err != nil {
		return target{}, fmt.Errorf("this folder cannot be read: %w", cause(err))
	}
	x = target{in: in, name: ".", path: "."}
	defer func() {
		if err != nil {
			x.Close()
		}
	}()
	if x.info, err = in.Stat("."); err != nil || p == "." {
		return x, err
	}
	for i, part := range strings.Split(p, "/") {
		if i > 0 {
			sub, err := f.openFolder(x)
			if err != nil {
				return x, err
			}
			x.Close()
			x.in = sub
		}
		if x, err = f.enter(x.in, part, path.Join(x.path, part)); err != nil {
			return x, err
		}
	}
	return x, nil
}

// enter returns an entry of a folder, after its checks.
func (f *Folder) enter(in *os.Root, name, at string) (target, error) {
	info, err := in.Lstat(name)
	x := target{in: in, name: name, path: at, info: info}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return x, missingFile(in, name, at)
	case err != nil:
		return x, fmt.Errorf("%s cannot be read: %w", at, cause(err))
	case isLink(info):
		return x, fmt.Errorf("%s is a link; links are not followed", at)
	case f.isPrivateFolder(info):
		return x, fmt.Errorf("%s is private: the chat keeps its sessions there", at)
	}
	return x, checkSpelling(in, name, at)
}

// isLink reports whether a file is a symbolic link, or what Windows has in place of one.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// missingFile returns the error for a name that a folder does not have, with its entry
// that differs only in case, if there is one.
func missingFile(in *os.Root, name, at string) error {
	names, _ := entryNames(in) // without them the answer is still right
	for _, other := range names {
		if strings.EqualFold(other, name) && !isPrivate(other) {
			return fmt.Errorf("there is no %s; there is %s", at, path.Join(path.Dir(at), printable(other)))
		}
	}
	return fmt.Errorf("there is no %s; list_files shows what is there", at)
}

// checkSpelling refuses a name that is not spelled as the folder's entry is: file
// systems that ignore case, or that have short names, such as GIT~1 for .git, give a
// file a second name.
func checkSpelling(in *os.Root, name, at string) error {
	names, err := entryNames(in)
	if err != nil {
		return fmt.Errorf("%s cannot be listed: %w", path.Dir(at), cause(err))
	}
	if !slices.Contains(names, name) {
		return missingFile(in, name, at)
	}
	return nil
}

func entryNames(in *os.Root) ([]string, error) {
	d, err := in.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// isPrivateFolder reports whether info is that of a folder that the chat names as
// private.
func (f *Folder) isPrivateFolder(info fs.FileInfo) bool {
	if !info.IsDir() {
		return false
	}
	return slices.ContainsFunc(f.private, func(dir string) bool {
		private, err := os.Stat(dir) // it may have been created, or moved, since
		return err == nil && os.SameFile(private, info)
	})
}

// openFile opens a plain file of at most the given size.
func (f *Folder) openFile(x target, most int64) (*os.File, error) {
	if err := checkPlain(x.path, x.info, most); err != nil {
		return nil, err
	}
	f.afterCheck(x)
	file, err := x.in.OpenFile(x.name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", x.path, cause(err))
	}
	now, err := file.Stat()
	if err == nil {
		err = cmp.Or(x.checkSame(now), checkPlain(x.path, now, most)) // it may have grown
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// openFolder opens a folder.
func (f *Folder) openFolder(x target) (*os.Root, error) {
	if !x.info.IsDir() {
		return nil, fmt.Errorf("%s is a file, not a folder", x.path)
	}
	f.afterCheck(x)
	sub, err := x.in.OpenRoot(x.name + "/") // with the slash, a pipe is refused; without it, its other end is waited for
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", x.path, cause(err))
	}
	now, err := sub.Stat(".")
	if err == nil {
		err = x.checkSame(now)
	}
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return sub, nil
}

func (f *Folder) afterCheck(x target) {
	if f.checked != nil {
		f.checked(x.path)
	}
}

// checkSame refuses what replaced the target after its check.
func (x target) checkSame(now fs.FileInfo) error {
	if !os.SameFile(x.info, now) {
		return fmt.Errorf("%s was replaced meanwhile", x.path)
	}
	return nil
}

// checkPlain refuses what is not a plain file, and files that are too large.
func checkPlain(p string, info fs.FileInfo, most int64) error {
	switch mode := info.Mode(); {
	case info.IsDir():
		return fmt.Errorf("%s is a folder; list_files lists it", p)
	case mode&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%s is a pipe, not a plain file", p)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket, not a plain file", p)
	case mode&fs.ModeDevice != 0:
		return fmt.Errorf("%s is a device, not a plain file", p)
	case !mode.IsRegular():
		return fmt.Errorf("%s is not a plain file", p)
	case info.Size() > most:
		return fmt.Errorf("%s has %d bytes, more than the %d that can be read", p, info.Size(), most)
	}
	return nil
}

// cause returns the reason of an error without its path, which is that of the machine.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
