package remote

import "math"

// CheckVectors returns the problem with the vectors of n texts, nil for none. There
// must be one for each, all of one dimension, of finite numbers.
func CheckVectors(vectors [][]float32, n int) error {
	if len(vectors) != n {
		return Garbled("%d vectors for %d texts", len(vectors), n)
	}
	for i, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return Garbled("vector %d has %d dimensions, the first has %d", i, len(v), len(vectors[0]))
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return Garbled("vector %d contains a value that is not a number", i)
			}
		}
	}
	return nil
}
