package wire

import "slices"

// A tree holds records that name the record before them, as logs with rewinds
// do. A parent stands before its children, so there are no cycles.
type tree struct {
	parent []int          // of each record, -1 for a root
	newest map[string]int // record of each id; of repeated ids the last
	linked bool           // some record names one that is there
}

// grow appends a record and returns its place. parent is raw JSON: null makes
// a root; where it is missing, or names no record so far, the record follows
// the one before it. A record that repeats an id follows the first of that id.
func (t *tree) grow(id, parent string) int {
	if t.newest == nil {
		t.newest = make(map[string]int)
	}
	at, before := len(t.parent), len(t.parent)-1
	if parent == "null" {
		before = -1
	} else if i, ok := t.newest[unquote(parent)]; ok {
		before, t.linked = i, true
	}
	if twin, ok := t.newest[id]; ok && id != "" {
		before = twin
	}
	if id != "" {
		t.newest[id] = at
	}
	t.parent = append(t.parent, before)
	return at
}

// path returns the way to leaf, oldest record first. It begins behind the
// root, or with the last record on it for which first reports true.
func (t *tree) path(leaf int, first func(i int) bool) []int {
	var way []int
	for i := leaf; i >= 0; i = t.parent[i] {
		way = append(way, i)
		if first(i) {
			break
		}
	}
	slices.Reverse(way)
	return way
}
