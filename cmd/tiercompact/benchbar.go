package main

import (
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

// A benchBar shows on a terminal how far a run is. Elsewhere it shows nothing.
type benchBar struct{ bar *progressbar.ProgressBar }

func newBenchBar(cmd *cobra.Command) *benchBar {
	w := newProgress(cmd).w
	if w == nil {
		return &benchBar{}
	}
	return &benchBar{progressbar.NewOptions(1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("measuring"),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30), progressbar.OptionShowCount(),
		progressbar.OptionUseANSICodes(os.Getenv("TERM") != "dumb"))}
}

func (b *benchBar) showProgress(done, of int) {
	if b.bar != nil {
		b.bar.ChangeMax(of + 1) // it is finished by close alone
		_ = b.bar.Set(done)     // what a terminal refuses is lost
	}
}

func (b *benchBar) closeBar() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
