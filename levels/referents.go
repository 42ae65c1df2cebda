package levels

import "github.com/tiercompact/tiercompact/files"

// withReferents adds groups to stays, which has an entry for each group: those that a
// stub in a remaining group refers to ("unchanged since last read"), because the stub
// is worthless without them.
func (v View) withReferents(stays []bool, of []int) {
	referents := files.Referents(v.Messages)
	for range 3 { // a stub may refer to a message beside another stub
		for i, target := range referents {
			if target >= 0 && stays[of[i]] {
				stays[of[target]] = true
			}
		}
	}
}

// joinReferents keeps or drops an old group that holds a stub together with the old
// group that the stub refers to.
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
