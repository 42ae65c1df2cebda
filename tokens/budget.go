package tokens

import "cmp"

// defaultBuffer is kept free of a window where nothing else was set.
const defaultBuffer = 1500

// A Budget says how a window is shared. All fields are tokens.
type Budget struct {
	Window  int // what the model can hold
	Buffer  int // kept free, for what estimates miss
	Reserve int // kept free for the answer
}

// NewBudget returns the budget of a window. Where bufferSet is false, the
// buffer is 1500 (or buffer, if that is not 0), but at most an eighth of the
// window; a buffer that was set is taken as it is. Negative values count as 0.
func NewBudget(window, buffer, reserve int, bufferSet bool) Budget {
	window = max(0, window)
	if !bufferSet {
		buffer = min(cmp.Or(buffer, defaultBuffer), window/8)
	}
	return Budget{Window: window, Buffer: max(0, buffer), Reserve: max(0, reserve)}
}

// Limit returns how many tokens a prompt may have: window - buffer - reserve,
// and 0 if they leave nothing.
func (b Budget) Limit() int { return max(0, b.Window-b.Buffer-b.Reserve) }
