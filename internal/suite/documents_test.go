package suite

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// documented returns the properties that OBSERVABILITY.md has for each event,
// with type and when.
func documented(t *testing.T) map[string]map[string][2]string {
	t.Helper()
	row := regexp.MustCompile("^\\| `([^`]+)` \\| (\\w+) \\| [^|]+ \\| ([^|]+) \\|$")
	events, name := make(map[string]map[string][2]string), ""
	for line := range strings.Lines(string(readFile(t, "docs/OBSERVABILITY.md"))) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "### `"); ok {
			name = strings.TrimSuffix(heading, "`")
			events[name] = make(map[string][2]string)
		} else if strings.HasPrefix(line, "## ") {
			name = ""
		}
		if cell := row.FindStringSubmatch(line); cell != nil && name != "" {
			events[name][cell[1]] = [2]string{cell[2], cell[3]}
		}
	}
	return events
}

// propertiesOf returns the properties of a payload's type, with type, and whether they
// are always there.
func propertiesOf(prefix string, of reflect.Type, always bool, into map[string][2]string) {
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		there, inner := always && options == "", f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			propertiesOf(prefix+name+".", inner, there, into)
			continue
		}
		if inner.Kind() == reflect.Map {
			name, inner = name+".LEVEL", inner.Elem()
		}
		kind := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Float64: "number", reflect.Bool: "boolean", reflect.Slice: "JSON"}[inner.Kind()]
		when := "sometimes"
		if there {
			when = "always"
		}
		into[prefix+name] = [2]string{kind, when}
	}
}

func TestEveryEventAndPropertyIsDocumented(t *testing.T) {
	documents := documented(t)
	if got, want := slices.Sorted(maps.Keys(documents)), slices.Sorted(slices.Values(trace.Names())); !slices.Equal(got, want) {
		t.Errorf("docs/OBSERVABILITY.md has the events %v, there are %v", got, want)
	}
	for _, p := range []trace.Payload{
		trace.TokenEstimate{}, trace.TriggerDecision{}, trace.LevelApplied{}, trace.PrunedMessages{}, trace.SummaryCreated{}, trace.Archival{}, trace.Error{}, trace.Warning{},
	} {
		want := make(map[string][2]string)
		propertiesOf("", reflect.TypeOf(p), true, want)
		required := trace.Required(p.Event())
		for i, name := range required {
			if parent, level, _ := strings.Cut(name, "thresholds."); slices.Contains(levels.Names(), level) {
				required[i] = parent + "thresholds.LEVEL" // one row is for all levels
			}
		}
		for name, says := range documents[p.Event()] {
			if says[1] != "always" {
				says[1] = "sometimes"
			}
			if says != want[name] {
				t.Errorf("%s: docs/OBSERVABILITY.md says of %s %v, it is %v", p.Event(), name, says, want[name])
			}
			delete(want, name)
			required = slices.DeleteFunc(required, func(r string) bool { return r == name })
		}
		if missing := slices.Sorted(maps.Keys(want)); len(missing)+len(required) > 0 {
			t.Errorf("%s: docs/OBSERVABILITY.md does not have %v %v", p.Event(), missing, required)
		}
	}
}

func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatal("no documents", err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, document := range append(documents, "README.md", "CONTRIBUTING.md") {
		for _, found := range link.FindAllStringSubmatch(string(readFile(t, document)), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), filepath.FromSlash(found[1]))); err != nil {
				t.Errorf("%s links to %s: %v", document, found[1], err)
			}
		}
	}
}

// Documents name a Go file by its path, or by its name if its folder is named before.
func TestDocumentsNameFilesThatAreThere(t *testing.T) {
	file := regexp.MustCompile("`([a-z0-9_/]+\\.go)`")
	for _, document := range []string{"docs/ARCHITECTURE.md", "docs/MODELS.md", "docs/STORAGE.md", "CONTRIBUTING.md"} {
		named := file.FindAllStringSubmatch(string(readFile(t, document)), -1)
		if len(named) == 0 {
			t.Errorf("%s names no file", document)
		}
		for _, found := range named {
			at := []string{found[1], "*/" + found[1], "internal/" + found[1], "internal/*/" + found[1]}
			there := slices.ContainsFunc(at, func(pattern string) bool {
				files, err := filepath.Glob(filepath.FromSlash(pattern))
				return err == nil && len(files) > 0
			})
			if !there && !strings.Contains(found[1], "oldest") { // the level of the recipe
				t.Errorf("%s names %s, which is not there", document, found[1])
			}
		}
	}
}
