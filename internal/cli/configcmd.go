package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, check or write the settings",
		Long: `config shows the settings with their sources, checks a file of settings, or
writes one.

Settings come from the defaults, a preset, a file (--config FILE, else
` + config.FileVariable + `, else compact.yaml, compact.yml or compact.json in the current
folder), the environment (COMPACT_TRIGGER_PCT=0.9) and flags. A later source
wins. docs/CONFIG.md lists all settings.`,
		Example: `  tiercompact config show --changed
  tiercompact config validate compact.yaml
  tiercompact config init`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigShowCommand(), newConfigValidateCommand(), newConfigInitCommand())
	return cmd
}

func newConfigShowCommand() *cobra.Command {
	var s settings
	var asJSON, changed bool
	cmd := &cobra.Command{
		Use:   "show [SETTING]",
		Short: "Show each setting and its source",
		Long: `show writes the settings as YAML that can be read back, each with its source. It
accepts the flags of all other commands, and shows their effect. SETTING is the
name of one setting, as window, or of a section, as policy.`,
		Example: `  tiercompact config show
  tiercompact config show window
  tiercompact config show --changed --preset steady
  tiercompact config show --json | jq '."policy.trigger_pct"'`,
		Args: atMostArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var only []string
			if len(args) > 0 {
				path, err := config.ResolvePath(args[0])
				if err != nil {
					return settingsError(err)
				}
				only = append(only, path)
			}
			if err := s.loadSettings(cmd, nil); err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), s.Values(changed, only...))
			}
			text := s.YAML(changed, only...)
			if len(text) == 0 {
				printNote(cmd, "every setting has its default")
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "as one JSON object: path to value and source")
	f.BoolVar(&changed, "changed", false, "only settings that are not defaults")
	s.registerSettings(cmd, config.Paths()...)
	return cmd
}

func newConfigValidateCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Report all errors in a file of settings",
		Long: `validate reads a file of settings, without the environment, and reports all
errors, each with path, value, file and line. If there are errors, the exit code
is 2.`,
		Example: `  tiercompact config validate
  tiercompact config validate deploy/compact.json`,
		Args: atMostArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.validate(cmd, args) },
	}
	cmd.Flags().StringVar(&s.file, "config", "", "the same as FILE")
	return cmd
}

// validate reads the named file, or else the one that would be found.
func (s *settings) validate(cmd *cobra.Command, args []string) error {
	path := s.file
	if len(args) > 0 {
		if path != "" && path != args[0] {
			return usageErrorf("the argument says %s, --config says %s; give one", args[0], path)
		}
		path = args[0]
	}
	if path == "" {
		var err error
		if path, err = config.Path(); err != nil {
			return usageError{err}
		}
	}
	if path == "" {
		return usageErrorf("there is no file of settings in this folder; name one, or write one with tiercompact config init")
	}
	err := config.Validate(path)
	var all config.Errors
	switch {
	case errors.As(err, &all):
		for _, e := range all {
			printNote(cmd, "%s", e.Error())
		}
		least := ""
		if len(all) >= config.MaxErrors {
			least = "at least "
		}
		return usageErrorf("%s has %s%s", path, least, screen.Plural(len(all), "error"))
	case err != nil:
		return usageError{err}
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), printableLine(path), "is valid")
	return err
}

func newConfigInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [FILE|-]",
		Short: "Write a file with every setting, its default and its meaning",
		Long: `init writes a file with every setting, by default compact.yaml. Each setting is
commented out: the file changes nothing until you remove a #. Common settings
come first. An existing file is never overwritten.`,
		Example: `  tiercompact config init
  tiercompact config init - | less`,
		Args: atMostArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := config.Names()[0]
			if len(args) > 0 {
				path = args[0]
			}
			if path == "" || strings.EqualFold(filepath.Ext(path), ".json") {
				return usageErrorf("init writes YAML, not %q; give a name like %s", path, config.Names()[0])
			}
			return initialize(cmd, path)
		},
	}
	return cmd
}

// initialize writes the sample to a file that must not exist.
func initialize(cmd *cobra.Command, path string) error {
	if path == "-" {
		return writeOutput(cmd, path, func(w io.Writer) error { _, err := w.Write(config.Sample()); return err })
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write %s: the file exists; name another one, or move it away", path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, systemCause(err))
	}
	_, err = f.Write(config.Sample())
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, systemCause(err)), os.Remove(path))
	}
	printNote(cmd, "wrote %s; every setting in it is commented out", path)
	return nil
}
