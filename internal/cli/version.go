package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/config"
)

func newVersionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  tiercompact version --json",
		Args:    atMostArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeVersion(cmd.OutOrStdout(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// release and commit are set by the linker, see make build.
var release, commit string

// A version says what the program was built from, and how.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // since that commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Build    string `json:"build,omitempty"` // options of the build
	Gitleaks bool   `json:"gitleaks"`        // whether it has the rules of gitleaks
}

func writeVersion(w io.Writer, asJSON bool) error {
	v := versionOf(debug.ReadBuildInfo())
	if asJSON {
		return writeJSON(w, v)
	}
	_, err := fmt.Fprintln(w, v)
	return err
}

func versionOf(info *debug.BuildInfo, ok bool) version {
	v := version{
		Version: "(devel)", Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Gitleaks: config.GitleaksRules != nil,
	}
	if !ok {
		info = new(debug.BuildInfo)
	}
	v.Version = cmp.Or(release, info.Main.Version, v.Version)
	var options []string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = cmp.Or(commit, s.Value)
		case "vcs.modified":
			v.Modified = s.Value == "true" && commit == ""
		case "CGO_ENABLED", "-tags", "-trimpath", "-race":
			options = append(options, s.Key+"="+s.Value)
		}
	}
	v.Build = strings.Join(options, " ")
	return v
}

func (v version) String() string {
	s := "tiercompact " + v.Version
	if v.Commit != "" {
		s += " " + v.Commit[:min(12, len(v.Commit))]
	}
	if v.Modified {
		s += " (modified)"
	}
	s += " " + v.Go + " " + v.Platform
	if v.Build != "" {
		s += " " + v.Build
	}
	if v.Gitleaks {
		s += " gitleaks"
	}
	return s
}
