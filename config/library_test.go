package config_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/levels"
)

// settled is the Config of a compactor, by field.
func settled(t *testing.T, cfg tiercompact.Config) reflect.Value {
	t.Helper()
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return reflect.ValueOf(c).Elem().FieldByName("cfg").FieldByName("Config")
}

func TestDefaultsAndPresetsAreThoseOfTheLibrary(t *testing.T) {
	for _, preset := range []string{"default", "eager", "steady"} {
		mine := load(t, config.Options{Defaults: map[string]string{"preset": preset}}).Config.Compaction()
		mine.Window = 8192
		got, want := settled(t, mine), settled(t, tiercompact.Config{Window: 8192, Preset: tiercompact.Preset(preset)})
		set, defaults := leaves("", got), leaves("", want)
		for _, name := range slices.Sorted(maps.Keys(defaults)) {
			if name != "defaultsOf" && plain(defaults[name]) != plain(set[name]) {
				t.Errorf("preset %s: %s is %s, the library has %s", preset, name, plain(set[name]), plain(defaults[name]))
			}
		}
	}
}

// leaves returns the fields of a Config by their paths.
func leaves(path string, v reflect.Value) map[string]reflect.Value {
	out := make(map[string]reflect.Value)
	for f, field := range v.Fields() {
		if name := path + f.Name; field.Kind() == reflect.Struct && strings.HasSuffix(field.Type().Name(), "Config") {
			maps.Copy(out, leaves(name+".", field))
		} else {
			out[name] = field
		}
	}
	return out
}

// plain is a field as text; of functions and stores, which cannot be compared, it shows
// whether they are set.
func plain(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Func, reflect.Interface, reflect.Pointer:
		return map[bool]string{true: "none", false: "some"}[v.IsNil()]
	}
	return reflect.Indirect(v).String() + reflectText(v)
}

func reflectText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct:
		var b strings.Builder
		for _, field := range v.Fields() {
			b.WriteString(reflectText(field) + " ")
		}
		return b.String()
	case reflect.Slice:
		var b strings.Builder
		for i := range v.Len() {
			b.WriteString(reflectText(v.Index(i)) + " ")
		}
		return b.String()
	case reflect.Float64:
		return strings.TrimSpace(jsonText(v.Float()))
	case reflect.Int, reflect.Int64:
		return jsonText(v.Int())
	case reflect.Map:
		return fmt.Sprint(v)
	case reflect.Bool:
		return jsonText(v.Bool())
	}
	return v.String()
}

func jsonText(v any) string { b, _ := json.Marshal(v); return string(b) }

// notInFiles are the fields of tiercompact.Config that files cannot set, and why.
func notInFiles() map[string]string {
	return map[string]string{
		"Embed.Embedder":     "Open finds it, by engine and embed",
		"Embed.Name":         "Open names it",
		"Embed.Why":          "Open says it",
		"Summary.Summarizer": "Open finds it, by engine and summary",
		"Summary.Name":       "Open names it",
		"Summary.Why":        "Open says it",
		"Progress":           "a function of the program",
		"Count":              "Open finds it, by exact_tokens",
		"Calibration":        "what earlier sessions learnt",
		"Archive":            "Open opens it, by archive",
		"Trace":              "Open opens it, by trace",
		"Redact.Redactor":    "Open makes it, by redact",
		"Now":                "a function of the program",
		"ReadBack":           "the command that writes the file sets it",
		"NoRecall":           "a command without an archive sets it",
		"Deadlines.Archive":  "commands go by the default",
		"Deadlines.Callback": "commands go by the default",
	}
}

// others is a file that sets each setting to something that is not its default. A
// new setting gets a line in it. A line is never renamed or removed: files of earlier
// versions must load, so an old name stays as another name of its setting.
//
//go:embed testdata/settings.yaml
var others string

// othersNow returns others with a threshold for each level of today, below its
// default.
func othersNow() string {
	var text strings.Builder
	text.WriteString("thresholds:\n")
	for _, l := range levels.All() {
		fmt.Fprintf(&text, "  %s: %g\n", l.Name, l.Threshold.Default/2)
	}
	return regexp.MustCompile("(?m)^thresholds:.*\n").ReplaceAllLiteralString(others, text.String())
}

func TestEveryFieldOfTheLibraryHasASettingOrAReason(t *testing.T) {
	set := loadText(t, "compact.yaml", othersNow())
	for _, path := range config.Paths() {
		if set.Origin(path).Kind != config.File {
			t.Errorf("this test does not set %s", path)
		}
	}
	before, after := leaves("", reflect.ValueOf(load(t, config.Options{}).Config.Compaction())), leaves("", reflect.ValueOf(set.Config.Compaction()))
	for _, name := range slices.Sorted(maps.Keys(before)) {
		_, reason := notInFiles()[name]
		if changed := plain(before[name]) != plain(after[name]); changed == reason && name != "defaultsOf" {
			t.Errorf("field %s: set by a file %v, a reason that it cannot be %v", name, changed, reason)
		}
	}
	reference := string(config.Reference())
	for name := range before {
		if name != "defaultsOf" && !strings.Contains(reference, "`"+name+"`") {
			t.Errorf("the reference does not have the field %s", name)
		}
	}
	for name := range notInFiles() {
		if _, ok := before[name]; !ok {
			t.Errorf("there is no field %s any more", name)
		}
	}
}

func TestEverySettingSetsAFieldOfConfig(t *testing.T) {
	changed := changes(reflect.ValueOf(load(t, config.Options{}).Config), reflect.ValueOf(loadText(t, "compact.yaml", othersNow()).Config))
	if want := len(config.Paths()) - len(levels.All()) + 1; changed != want { // the thresholds are one field
		t.Errorf("the settings change %d fields, want %d", changed, want)
	}
}

// changes returns the number of fields in which a and b differ.
func changes(a, b reflect.Value) (n int) {
	for i := range a.NumField() {
		switch f := a.Type().Field(i); {
		case !f.IsExported() || f.Type.Kind() == reflect.Func:
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[tiercompact.Size]():
			n += changes(a.Field(i), b.Field(i))
		case !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			n++
		}
	}
	return n
}
