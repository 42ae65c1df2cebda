package cli

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The files that start serve with the machine must give flags that it takes.
func TestServiceFilesGiveFlagsThatServeTakes(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "serve")
	unit, err := os.ReadFile(filepath.Join(folder, "tiercompact.service"))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := os.ReadFile(filepath.Join(folder, "tiercompact.plist"))
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(string(unit))
	if lines == nil {
		t.Fatal("the unit starts nothing")
	}
	var list struct {
		Words []string `xml:"dict>array>string"`
	}
	if err := xml.Unmarshal(agent, &list); err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string][]string{"service": strings.Fields(lines[1]), "plist": list.Words} {
		if len(words) < 3 || words[1] != "serve" {
			t.Errorf("the %s starts %q", file, words)
			continue
		}
		cmd := newServeCommand()
		if err := cmd.ParseFlags(words[2:]); err != nil || cmd.Flags().NArg() > 0 || !cmd.Flags().Changed("upstream") {
			t.Errorf("the %s starts %q: %v", file, words, err)
		}
	}
}

// TestServiceFilesAreWellFormed reads the files as strictly as what loads them: systemd
// ignores a key that it does not know, and launchd refuses a list that is not whole.
func TestServiceFilesAreWellFormed(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "serve")
	unit, err := os.ReadFile(filepath.Join(folder, "tiercompact.service"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{ // of systemd.unit(5), systemd.service(5) and systemd.exec(5)
		"[Unit]":    {"Description"},
		"[Service]": {"ExecStart", "TimeoutStopSec", "Restart", "RestartSec", "NoNewPrivileges"},
		"[Install]": {"WantedBy"},
	}
	section := ""
	for line := range strings.Lines(string(unit)) {
		line = strings.TrimSpace(line)
		key, value, pair := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case known[line] != nil:
			section = line
		case !pair || value == "" || !slices.Contains(known[section], key):
			t.Errorf("the unit has %q in %s", line, section)
		}
	}
	agent, err := os.Open(filepath.Join(folder, "tiercompact.plist"))
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	if err := checkPropertyList(xml.NewDecoder(agent)); err != nil {
		t.Error(err)
	}
	verifyUnit(t, unit)
}

// checkPropertyList checks the elements of a property list: in a dict, a key is before
// each value.
func checkPropertyList(d *xml.Decoder) error {
	type element struct {
		name  string
		keys  int // in a dict
		value bool
	}
	var open []element
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			if !slices.Contains([]string{"plist", "dict", "array", "key", "string", "integer", "true", "false"}, name) {
				return fmt.Errorf("unknown element %s", name)
			}
			if n := len(open) - 1; n >= 0 && open[n].name == "dict" {
				if (name == "key") == open[n].value {
					return fmt.Errorf("%s after key %d of a dict", name, open[n].keys)
				}
				if open[n].value = name == "key"; open[n].value {
					open[n].keys++
				}
			} else if name == "key" {
				return errors.New("a key outside of a dict")
			}
			open = append(open, element{name: name})
		case xml.EndElement:
			if last := open[len(open)-1]; last.value {
				return fmt.Errorf("key %d of a dict has no value", last.keys)
			}
			open = open[:len(open)-1]
		}
	}
}

// verifyUnit lets systemd read the unit, if it is installed.
func verifyUnit(t *testing.T, unit []byte) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd is not installed")
		return
	}
	home := t.TempDir()
	program := filepath.Join(home, "go", "bin", "tiercompact")
	file := filepath.Join(home, "tiercompact.service")
	err = errors.Join(os.MkdirAll(filepath.Dir(program), 0o700), os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700), os.WriteFile(file, unit, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(analyze, "--user", "verify", file)
	run.Env = []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := run.CombinedOutput(); strings.Contains(string(out), "tiercompact.service") {
		t.Errorf("systemd says: %v\n%s", err, out)
	}
}
