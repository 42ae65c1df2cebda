package files

import (
	"path"
	"strings"
)

// pathNames maps the paths that name one file to it.
type pathNames struct {
	paths  []string         // of each file, the longest form seen
	exact  map[string]int   // files of their clean paths
	byBase map[string][]int // files of a base name
	ids    map[string]int   // files of the paths as written, -1 if none is named
}

// newNames gathers the files that copies and edits name. A relative path is
// the file whose absolute path ends with it, if there is only one.
func newNames(facts []Scan) pathNames {
	n := pathNames{exact: make(map[string]int), byBase: make(map[string][]int), ids: make(map[string]int)}
	var relative []string
	each := func(p string) {
		if _, known := n.ids[p]; known || p == "" {
			return
		}
		if c := cleanPath(p); isAbsolute(c) {
			n.ids[p] = n.addPath(c)
		} else {
			n.ids[p] = -1
			relative = append(relative, p)
		}
	}
	for i := range facts {
		for k := range facts[i].Copies {
			each(facts[i].Copies[k].Path)
		}
	}
	for _, p := range relative {
		c := cleanPath(p)
		if id := n.findPath(c); id >= 0 {
			n.ids[p] = id
		} else {
			n.ids[p] = n.addPath(c)
		}
	}
	return n
}

// addPath returns the file of a clean path, a new one if it is unknown.
func (n *pathNames) addPath(p string) int {
	if id, known := n.exact[p]; known {
		return id
	}
	base := path.Base(p)
	n.paths = append(n.paths, p)
	n.exact[p] = len(n.paths) - 1
	n.byBase[base] = append(n.byBase[base], len(n.paths)-1)
	return len(n.paths) - 1
}

// maxNamesakes limits how many files of one base name are compared.
const maxNamesakes = 64

// findPath returns the only file that a clean path can name, or -1.
func (n *pathNames) findPath(p string) int {
	if id, known := n.exact[p]; known {
		return id
	}
	found := -1
	same := n.byBase[path.Base(p)]
	if len(same) > maxNamesakes {
		return -1
	}
	for _, id := range same {
		q := n.paths[id]
		if strings.HasSuffix(q, "/"+p) || strings.HasSuffix(p, "/"+q) {
			if found >= 0 {
				return -1
			}
			found = id
		}
	}
	return found
}

// fileOfPath returns the file that a path as written names.
func (n *pathNames) fileOfPath(p string) (id int, ok bool) {
	if p == "" {
		return 0, false
	}
	id, known := n.ids[p]
	if !known {
		id = n.findPath(cleanPath(p))
		n.ids[p] = id
	}
	return id, id >= 0
}

// cleanPath returns p with slashes and without redundant parts.
func cleanPath(p string) string {
	return path.Clean(strings.ReplaceAll(p, `\`, "/"))
}

func isAbsolute(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 2 && p[1] == ':' && p[2] == '/'
}
