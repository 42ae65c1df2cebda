//go:build unix

package filetools

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever takes the place of a path between its check and its opening: nothing of it
// is shown, and nothing waits for it.
func TestWhatReplacesACheckedPathIsRefused(t *testing.T) {
	for _, with := range []string{"link out", "link to a private folder", "link to another file", "pipe", "another file", "nothing"} {
		for _, path := range []string{"a/config", "a"} {
			for _, k := range Kinds() {
				t.Run(with+"/"+path+"/"+string(k), func(t *testing.T) {
					f, dir := project(t, map[string]string{"a/config": "plain text\n", ".git/config": "secret of git\n", "other/config": "another secret\n", "a/z": "z\n"})
					put(t, filepath.Join(dir, "..", "config"), "secret of the outer folder\n")
					swapped := false
					f.checked = func(p string) {
						if p == path && !swapped {
							swapped = true
							replace(t, filepath.Join(dir, path), with)
						}
					}
					asked := path
					if k == Read {
						asked = "a/config"
					}
					got, err := call(t, f, k, map[string]any{"path": asked, "text": "secret"})
					if strings.Contains(got, "secret of") || strings.Contains(got, "another secret") || strings.Contains(got, "config  ") && swapped && path == "a" {
						t.Errorf("returned %q, %v", got, err)
					}
					if reads := k == Read; reads && err == nil {
						t.Errorf("read %q", got)
					}
					if !swapped && (k != List || path == "a") {
						t.Error("nothing was replaced")
					}
				})
			}
		}
	}
}

// replace replaces a file or a folder of a project.
func replace(t *testing.T, at, with string) {
	t.Helper()
	if err := os.Rename(at, at+".old"); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", strings.Count(at[strings.Index(at, "/project/")+len("/project/"):], "/"))
	file := strings.HasSuffix(at, "config")
	name := func(folder string) string {
		if file {
			return up + folder + "/config"
		}
		return up + folder
	}
	var err error
	switch with {
	case "link out":
		err = os.Symlink(name(".."), at)
	case "link to a private folder":
		err = os.Symlink(name(".git"), at)
	case "link to another file":
		err = os.Symlink(name("other"), at)
	case "pipe":
		err = syscall.Mkfifo(at, 0o600)
	case "another file":
		err = os.Rename(filepath.Join(filepath.Dir(at), name("other")), at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// No system marks a hard link: it is a file of the folder, with the name that it has
// there. One to a folder cannot be made.
func TestAHardLinkIsAFileOfTheFolder(t *testing.T) {
	f, dir := project(t, nil)
	if err := os.Link(filepath.Join(dir, "..", "secret.txt"), filepath.Join(dir, "linked.txt")); err != nil {
		t.Skip("no hard links on this system: ", err)
	}
	if got, err := call(t, f, Read, map[string]any{"path": "linked.txt"}); err != nil || got != "the secret of the outer folder\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Link(filepath.Join(dir, ".."), filepath.Join(dir, "folder")); err == nil {
		t.Error("this system has hard links to folders")
	}
}

// The chat may be started in a folder through a link. It stays in that folder,
// wherever the link or the folder goes.
func TestTheFolderMayBeALinkItself(t *testing.T) {
	_, dir := project(t, map[string]string{"a/b.txt": "x\n"})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	f, err := Open(link)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused(t, f, "../secret.txt", "leads out")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(dir), link); err != nil { // now it leads to the outer folder
		t.Fatal(err)
	}
	if _, err := call(t, f, Read, map[string]any{"path": "secret.txt"}); err == nil {
		t.Error("the folder follows its link")
	}
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if got, err := call(t, f, Read, map[string]any{"path": "a/b.txt"}); err != nil || got != "x\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := call(t, f, List, nil); err != nil || got != "a/\nmain.go  29 bytes\n" {
		t.Errorf("%q, %v", got, err)
	}
}
