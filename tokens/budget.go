package tokens

import "cmp"

// defaultBuffer is the buffer if none is set.
const defaultBuffer = 1500

// A Budget divides a window. All fields are tokens.
type Budget struct {
	Window  int // the model's window
	Buffer  int // kept free for errors of estimates
	Reserve int // kept free for the answer
}

// NewBudget returns the budget of a window. If bufferSet is false, the buffer is
// 1500 (or buffer, if that is not 0), but at most an eighth of the window;
// otherwise it is buffer. Negative values count as 0.
func NewBudget(window, buffer, reserve int, bufferSet bool) Budget {
	window = max(0, window)
	if !bufferSet {
		buffer = min(cmp.Or(buffer, defaultBuffer), window/8)
	}
	return Budget{Window: window, Buffer: max(0, buffer), Reserve: max(0, reserve)}
}

// Limit returns the maximum tokens of a prompt: window - buffer - reserve, but at
// least 0.
func (b Budget) Limit() int { return max(0, b.Window-b.Buffer-b.Reserve) }
