package config

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
)

// Sample returns a file with every setting at its default, commented out, so that
// presets and flags still apply. The sections with common settings come first. A common
// setting is below its documentation, a rare one has a short comment.
func Sample() []byte {
	var b bytes.Buffer
	b.WriteString(sampleHead)
	var in headings
	for _, rare := range []bool{false, true} {
		if rare {
			b.WriteString("\n# Rare settings. docs/CONFIG.md says more about each.\n\n")
		}
		for _, section := range append([]string{""}, sections()...) {
			for _, k := range sampleSection(section, rare) {
				in.write(&b, k.path)
				k.writeSample(&b)
			}
		}
	}
	return b.Bytes()
}

const sampleHead = `# Settings of tiercompact, with their defaults. Remove a # to set a value.
# Variables (COMPACT_TRIGGER_PCT=0.9) and flags override this file.

`

// sampleSection returns the settings of a top-level section that a part of the file has,
// common ones first. The rare part has the sections without common settings, and the rare
// settings at the top.
func sampleSection(section string, rare bool) []key {
	var parts [2][]key // common, rare
	for _, k := range allSettings() {
		top, _, deep := strings.Cut(k.path, ".")
		if deep && top == section || !deep && section == "" {
			i := map[bool]int{true: 1}[k.rare]
			parts[i] = append(parts[i], k)
		}
	}
	switch {
	case section == "" && !rare:
		return parts[0]
	case section != "" && rare == (len(parts[0]) > 0):
		return nil
	case rare:
		return parts[1]
	}
	return slices.Concat(parts[:]...)
}

// writeSample writes a setting at its default, commented out.
func (k key) writeSample(b *bytes.Buffer) {
	indent := strings.Repeat("  ", strings.Count(k.path, "."))
	setting := indent + "#" + k.lastSegment() + ": " + k.yamlValue(k.value)
	if k.rare {
		short, _, _ := strings.Cut(k.docText(), "; ")
		short, _, _ = strings.Cut(short, " (")
		if k.kind == word {
			short = k.words
		}
		fmt.Fprintf(b, "%-32s  # %s\n", setting, short)
		return
	}
	if indent == "" && b.Len() > len(sampleHead) {
		b.WriteByte('\n')
	}
	line := indent + "#"
	for word := range strings.FieldsSeq(k.sampleEntry()) {
		if len(line)+len(word) >= sampleWidth {
			b.WriteString(line + "\n")
			line = indent + "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n" + setting + "\n")
}

// sampleWidth is the width of comments in a sample.
const sampleWidth = 80

// sampleEntry is the documentation of a setting, with the values of presets.
func (k key) sampleEntry() string {
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(k.presets)) {
		notes = append(notes, "preset "+name+": "+k.yamlValue(k.presets[name]))
	}
	if len(notes) == 0 {
		return k.docText()
	}
	return k.docText() + " (" + strings.Join(notes, ", ") + ")"
}

// Reference returns the documentation of every setting, as Markdown.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	section := ""
	for i, k := range allSettings() {
		if s := k.sectionPath(); s != section || i == 0 {
			section = s
			if s == "" {
				s = "At the top"
			} else {
				s = "`" + s + "`"
			}
			fmt.Fprintf(&b, "\n## %s\n\n| setting | default | takes | flag | variable | what it means |\n|---|---|---|---|---|---|\n", s)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` | %s |\n", k.lastSegment(), tableCell(k.yamlValue(k.value)), k.valueSyntax(), k.flagCell(), Variables(k.path)[0], k.sampleEntry())
	}
	b.WriteString(programHead)
	writeFields(&b, "", reflect.TypeFor[tiercompact.Config]())
	return b.Bytes()
}

// writeFields writes the fields of a [tiercompact.Config] by their paths, each with its
// setting.
func writeFields(b *bytes.Buffer, path string, of reflect.Type) {
	for f := range of.Fields() {
		name := path + f.Name
		switch {
		case !f.IsExported():
		case isSection(f):
			writeFields(b, name+".", f.Type)
		default:
			fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", name, f.Type, settingCell(name))
		}
	}
}

// settingCell is the setting of a field, for a table; "" if files have none.
func settingCell(field string) string {
	k, ok := settingOf(field)
	switch {
	case field == "Thresholds":
		return tableCell(thresholdsFlag)
	case field == "Policy.Protect": // Compaction makes it of the rules
		return tableCell("policy.protect")
	case !ok:
		return ""
	case k.opposite:
		return "the opposite of " + tableCell(k.path)
	}
	return tableCell(k.path)
}

func tableCell(s string) string { return "`" + s + "`" }

func (k key) flagCell() string {
	switch {
	case k.flag != "":
		return tableCell("--" + k.flag)
	case slices.Contains([]string{"archive.adapter", "archive.dir", "archive.s3.bucket", "archive.s3.prefix"}, k.path):
		return tableCell("--" + archiveFlag)
	}
	return ""
}

const programHead = `
## In a program

A program sets the fields of ` + "`tiercompact.Config`" + `; ` + "`tiercompact.Defaults(preset)` returns all of them with their defaults, and a 0 that is set there is a 0. In a literal, `tiercompact.Config{Window: 8192}`" + `,
a field that is zero has the default of its preset. Only ` + "`Window` is required. `go doc tiercompact.Config`" + ` says what each means. ` + "`config.Load` and `Config.Open`" + ` take all of the settings above into a program, and open what they name.

| field | type | setting |
|---|---|---|
`

const referenceHead = `# Configuration

Every setting of tiercompact, with its default. ` + "`go test ./config -update`" + ` writes this page.

Settings come from these places; a later one wins:

1. the defaults below, and what the preset sets in place of them;
2. a file: ` + "`--config FILE`, else the one that `COMPACT_CONFIG` names, else `compact.yaml`, `compact.yml` or `compact.json`" + ` in the current folder;
3. the environment: ` + "`COMPACT_TRIGGER_PCT=0.9`. The name is the path in capitals, with `_` for each dot (`COMPACT_POLICY_TRIGGER_PCT`)" + `; leading sections may be left out if no other setting or section has the same rest;
4. flags.

` + "`tiercompact config show` prints each value and its source, `config validate` the errors of a file, and `config init`" + ` writes a file with
all settings. An unknown name, a value out of bounds, or a setting that is given twice is an error with path, value, file and line, and nothing runs
(exit code 2). An unknown variable that begins with ` + "`COMPACT_`" + ` is only a warning, with the nearest name: it may be another program's.

A file has no credentials. S3 takes them from the standard chain (environment, shared file, role of the machine); the bearer token of model servers
is in ` + "`COMPACT_API_KEY`" + `.

A file that was found, not named, may belong to another person's project. The commands warn if it sends texts to another machine or turns redaction
off. They refuse to send ` + "`COMPACT_API_KEY` or `OTEL_EXPORTER_OTLP_HEADERS`" + ` to an address from such a file, and to write outside of its folder,
through links too. Its redaction patterns are left out, with a warning, if they would remove nearly everything.

A list in the environment has commas between its parts, or is written as in YAML: ` + "`COMPACT_PROTECT='[\"role:tool\", \"/a, b/\"]'`" + `. ` + "`COMPACT_PATTERNS`" + ` without brackets is one
expression, commas included.

Shares may be percentages: ` + "`75%` is 0.75. Numbers of tokens may end in k or m, for 1,024 and 1,048,576: `32k` is 32,768" + `. Names may be in camelCase
in a file, and some settings have a second name, from other tools, which is valid at the top and in ` + "`policy`" + `.
`
