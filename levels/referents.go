package levels

import "github.com/tiercompact/tiercompact/files"

// withReferents adds to stays, which says of each group whether it stays, the
// groups that hold what a stub in a group that stays refers to ("unchanged since
// last read"): it is worth nothing without.
func (v View) withReferents(stays []bool, of []int) {
	referents := files.Referents(v.Messages)
	for range 3 { // a stub may refer to what stands beside another
		for i, target := range referents {
			if target >= 0 && stays[of[i]] {
				stays[of[target]] = true
			}
		}
	}
}

// joinReferents has the old groups that hold a stub stay or go with the old group
// that it refers to.
func (v View) joinReferents(old []bool, groups [][]int, of []int) {
	for i, target := range files.Referents(v.Messages) {
		if target < 0 {
			continue
		}
		stub, text := of[i], of[target]
		if stub != text && old[stub] && old[text] {
			groups[text] = append(groups[text], groups[stub]...)
			old[stub] = false
			for _, m := range groups[stub] {
				of[m] = text
			}
		}
	}
}
