package archive

import (
	"iter"
	"slices"
)

// A runs is a list of numbers, written as the first and the last of each run of
// consecutive ones. As a set, the runs ascend and do not touch.
type runs [][2]int

// runsOf returns numbers in their order.
func runsOf(numbers []int) runs {
	out := runs{}
	for _, n := range numbers {
		if last := len(out) - 1; last >= 0 && out[last][1]+1 == n {
			out[last][1] = n
			continue
		}
		out = append(out, [2]int{n, n})
	}
	return out
}

// setOf returns the set of numbers.
func setOf(numbers []int) runs {
	return runsOf(slices.Compact(slices.Sorted(slices.Values(numbers))))
}

// all yields the numbers in order.
func (r runs) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, run := range r {
			for n := run[0]; n <= run[1]; n++ {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// has reports whether n is in the set r.
func (r runs) has(n int) bool {
	_, found := slices.BinarySearchFunc(r, n, func(run [2]int, n int) int {
		switch {
		case run[1] < n:
			return -1
		case run[0] > n:
			return 1
		}
		return 0
	})
	return found
}

// with returns the union of two sets.
func (r runs) with(o runs) runs {
	sorted := slices.Concat(r, o)
	slices.SortFunc(sorted, func(a, b [2]int) int { return a[0] - b[0] })
	var out runs
	for _, run := range sorted {
		if last := len(out) - 1; last >= 0 && run[0] <= out[last][1]+1 {
			out[last][1] = max(out[last][1], run[1])
			continue
		}
		out = append(out, run)
	}
	return out
}

// valid reports whether r names at most most numbers, each above 0.
func (r runs) valid(most int) bool {
	n := 0
	for _, run := range r {
		if run[0] < 1 || run[1] < run[0] || run[1]-run[0] >= most {
			return false
		}
		if n += run[1] - run[0] + 1; n > most {
			return false
		}
	}
	return true
}

// last returns the highest number of the set, 0 if it is empty.
func (r runs) last() int {
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1][1]
}
