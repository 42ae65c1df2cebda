package filetools

import (
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
	case !utf8.ValidString(p) || strings.ContainsFunc(p, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
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

// hasDrive reports whether p begins with a drive of Windows, on any system.
func hasDrive(p string) bool {
	return len(p) > 1 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}

// status returns the status of a path. No part of the path may be a link: even a link
// to a file of the folder gives it a second name.
func (f *Folder) status(p string) (fs.FileInfo, error) {
	parts := strings.Split(p, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		info, err := f.root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, f.missingFile(at)
		case err != nil:
			return nil, fmt.Errorf("%s cannot be read: %w", at, cause(err))
		case isLink(info):
			return nil, fmt.Errorf("%s is a link; links are not followed", at)
		case i == len(parts)-1:
			return info, f.checkSpelling(at)
		case !info.IsDir():
			return nil, fmt.Errorf("%s is a file, not a folder", at)
		}
	}
	return nil, fs.ErrInvalid // not reached: a path has a part
}

// isLink reports whether a file is a symbolic link, or what Windows has in place of one.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// missingFile returns the error for a path that is not there, with the entry of its
// folder that differs only in case, if there is one.
func (f *Folder) missingFile(p string) error {
	if other := f.spelledLike(p); other != "" {
		return fmt.Errorf("there is no %s; there is %s", p, other)
	}
	return fmt.Errorf("there is no %s; list_files shows what is there", p)
}

// checkSpelling refuses a path whose case is not that of the folder's entry: file
// systems that ignore case would give the file a second name.
func (f *Folder) checkSpelling(p string) error {
	for at := p; at != "."; at = path.Dir(at) {
		if other := f.spelledLike(at); other != "" {
			return fmt.Errorf("there is no %s; there is %s", at, other)
		}
	}
	return nil
}

// spelledLike returns the path of the entry that is p in another case, "" if p itself
// is an entry, or if there is none.
func (f *Folder) spelledLike(p string) string {
	names, err := f.entryNames(path.Dir(p))
	base := path.Base(p)
	if err != nil || slices.Contains(names, base) {
		return ""
	}
	for _, name := range names {
		if strings.EqualFold(name, base) && !isPrivate(name) {
			return path.Join(path.Dir(p), name)
		}
	}
	return ""
}

func (f *Folder) entryNames(dir string) ([]string, error) {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxEntries)
	slices.Sort(names)
	return names, err
}

// openFile opens a plain file of at most the given size.
func (f *Folder) openFile(p string, most int64) (*os.File, error) {
	info, err := f.status(p)
	if err != nil {
		return nil, err
	}
	if err := checkPlain(p, info, most); err != nil {
		return nil, err
	}
	file, err := f.root.OpenFile(p, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", p, cause(err))
	}
	now, err := file.Stat() // it may have been replaced since
	if err == nil && !os.SameFile(info, now) {
		err = fmt.Errorf("%s was replaced meanwhile", p)
	}
	if err == nil {
		err = checkPlain(p, now, most)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
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
