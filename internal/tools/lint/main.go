// Command lint runs analyzers that go vet lacks.
package main

import (
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

// exhaustiveLevels returns an analyzer of switches over levels: each names all
// levels, or has a default.
func exhaustiveLevels() *analysis.Analyzer {
	a := exhaustive.Analyzer
	for flag, value := range map[string]string{"d": "true", "typeonly": `/levels\.`} {
		if err := a.Flags.Set(flag, value); err != nil {
			panic(err)
		}
	}
	return a
}
