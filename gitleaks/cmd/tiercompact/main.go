// Command tiercompact is the program of the module above, with the rules of
// gitleaks for redact.gitleaks.
package main

import (
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/gitleaks"
	"github.com/tiercompact/tiercompact/internal/cli"
)

func main() {
	config.GitleaksRules = gitleaks.New
	cli.Main()
}
