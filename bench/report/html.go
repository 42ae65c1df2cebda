package report

import (
	"io"

	"github.com/tiercompact/tiercompact/bench"
)

// HTML writes r as one page that needs nothing else.
func HTML(w io.Writer, r bench.Report) error {
	return Plot(w, r, All, "svg")
}
