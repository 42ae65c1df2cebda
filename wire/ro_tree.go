package wire

import "slices"

// A recordTree holds records that name the record before them, as logs with rewinds
// do. A parent is before its children, unless a reader moves it.
type recordTree struct {
	parent []int          // of each record, -1 for a root
	newest map[string]int // record of each id; of repeated ids the last
	linked bool           // some record names an existing one
}

// appendNode appends a record and returns its index. parent is raw JSON: null makes
// a root; if it is missing, or names no record so far, the record follows the one
// before it. A record with a repeated id follows the first of that id.
func (t *recordTree) appendNode(id, parent string) int {
	if t.newest == nil {
		t.newest = make(map[string]int)
	}
	at, before := len(t.parent), len(t.parent)-1
	if parent == "null" {
		before = -1
	} else if i, ok := t.newest[unquoteText(parent)]; ok {
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

// pathToLeaf returns the path to leaf, oldest record first. It begins after the
// root, or with the last record on it for which first reports true. In a circle of
// parents, each is visited once.
func (t *recordTree) pathToLeaf(leaf int, first func(i int) bool) []int {
	var way []int
	var seen map[int]bool // if a parent is after its child
	for i := leaf; i >= 0 && !seen[i]; {
		way = append(way, i)
		if first(i) {
			break
		}
		parent := t.parent[i]
		if parent > i && seen == nil {
			seen = make(map[int]bool)
			for _, k := range way {
				seen[k] = true
			}
		} else if seen != nil {
			seen[i] = true
		}
		i = parent
	}
	slices.Reverse(way)
	return way
}
