package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
)

// Sample returns a file with every setting at its default and its documentation. Each
// setting is commented out, so that presets and flags still apply.
func Sample() []byte {
	const head = `# Settings of tiercompact. Every line shows a default; take its # away to set
# it. The environment (COMPACT_TRIGGER_PCT=0.9) and flags win over this file.

`
	all := allSettings()
	lines := make([]line, len(all))
	for i, k := range all {
		lines[i] = line{key: k, value: k.yamlValue(k.value), comment: k.sampleEntry()}
		lines[i].off = true
	}
	return append([]byte(head), writeSections(lines)...)
}

// sampleEntry is the comment of a setting beside its default.
func (k key) sampleEntry() string {
	doc := k.docText()
	if k.steady != nil || k.eager != nil {
		doc += " (" + k.presetNotes() + ")"
	}
	return doc
}

// presetNotes lists the values of other presets.
func (k key) presetNotes() string {
	var out []string
	for _, name := range []string{"eager", "steady"} {
		if v := k.presetValue(name); v != nil {
			out = append(out, "preset "+name+": "+k.yamlValue(v))
		}
	}
	return strings.Join(out, ", ")
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
	writeFields(&b, "", reflect.ValueOf(tiercompact.Defaults(tiercompact.Default)))
	return b.Bytes()
}

// writeFields writes the fields of a Config by their paths, each with its setting.
func writeFields(b *bytes.Buffer, path string, of reflect.Value) {
	for f, v := range of.Fields() {
		name := path + f.Name
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct && strings.HasSuffix(f.Type.Name(), "Config"):
			writeFields(b, name+".", v)
		default:
			fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", name, f.Type, settingOfField(name))
		}
	}
}

// settingOfField is the setting of a field, for a table; "" if files have none.
func settingOfField(name string) string {
	if opposite, ok := map[string]string{"NoAuto": "auto", "ArchiveOptional": "archive_required", "Policy.NoPinFirstUser": "policy.pin_first_user", "Redact.Off": "redact.enabled"}[name]; ok {
		return "the opposite of " + tableCell(opposite)
	}
	if k, ok := settingOf(name); ok {
		return tableCell(k.path)
	}
	if name == "Thresholds" {
		return tableCell(thresholdsFlag)
	}
	return ""
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
3. the environment: ` + "`COMPACT_TRIGGER_PCT=0.9`. The name is the path in capitals, with `_` for each dot (`COMPACT_POLICY_TRIGGER_PCT`)" + `; sections are left out from the front where no other setting and no section has the rest;
4. flags.

` + "`tiercompact config show` tells each value and where it comes from, `config validate` what is wrong with a file, `config init`" + ` writes a file with
all of them. A name that does not exist, a value that is out of bounds, a setting that is given twice: each is an error that names path, value, file and
line, and nothing runs (exit code 2). A variable that begins with ` + "`COMPACT_`" + ` and that no setting has is a warning, with the nearest name: it may be another
program's.

No credentials stand in a file. S3 takes them from the standard chain (environment, shared file, role of the machine); the bearer token of model servers
is in ` + "`COMPACT_API_KEY`" + `.

A file that is found, not named, may belong to somebody else's project. The commands say so where it has texts sent to another machine or turns redaction
off, and refuse to send ` + "`COMPACT_API_KEY` or `OTEL_EXPORTER_OTLP_HEADERS`" + ` to an address that only such a file names, or to write outside of its folder for
it, also where links lead there. Patterns of redaction in it that would take nearly everything are left out, with a warning.

A list in the environment has commas between its parts, or is written as in YAML: ` + "`COMPACT_PROTECT='[\"role:tool\", \"/a, b/\"]'`" + `. ` + "`COMPACT_PATTERNS`" + ` without brackets is one
expression, commas included.

Shares may be percentages: ` + "`75%` is 0.75. Numbers of tokens may end in k or m, which stand for 1,024 and 1,048,576: `32k` is 32,768" + `. Names may be in camelCase
in a file, and some settings have a second name that other tools use; it may stand at the top or in ` + "`policy`" + `.
`
