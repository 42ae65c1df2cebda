// Command lint runs analyzers that go vet does not have.
package main

import (
	"strings"

	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/nishanths/exhaustive"
	"github.com/nishanths/predeclared/passes/predeclared"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"github.com/sivchari/containedctx"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
)

func main() {
	multichecker.Main(
		containedctx.Analyzer,
		errorlint.NewAnalyzer(),
		exhaustiveLevels(),
		ineffassign.Analyzer,
		predeclared.Analyzer,
	)
}

// exhaustiveLevels returns an analyzer of switches over levels: each names all of
// them, or has a default.
func exhaustiveLevels() *analysis.Analyzer {
	a := *exhaustive.Analyzer
	if err := a.Flags.Set("default-signifies-exhaustive", "true"); err != nil {
		panic(err)
	}
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		inner := *pass
		inner.Report = func(d analysis.Diagnostic) {
			if strings.HasSuffix(pass.Pkg.Path(), "/levels") || strings.Contains(d.Message, "levels.") {
				pass.Report(d)
			}
		}
		return run(&inner)
	}
	return &a
}
