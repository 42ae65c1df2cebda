package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/levels"
)

// Names returns the names of all kinds of event.
func Names() []string {
	var names []string
	for _, p := range payloadKinds() {
		names = append(names, p.Event())
	}
	return names
}

// Required returns the properties that the data of an event called name must
// have, those of inner objects with a dot. It returns nil for an unknown name.
func Required(name string) []string {
	if t := payloadType(name); t != nil {
		return required("", t)
	}
	return nil
}

func required(prefix string, t reflect.Type) []string {
	var names []string
	for _, f := range fieldsOf(t) {
		switch {
		case f.omit:
		case isObject(f.of):
			names = append(names, required(prefix+f.name+".", f.of)...)
		default:
			names = append(names, prefix+f.name)
		}
	}
	return names
}

// Check returns everything that is missing or wrong in e.
func Check(e Event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return CheckJSON(b)
}

// CheckJSON returns everything that is missing or wrong in an encoded event:
// properties, their types and values, and contradictions.
func CheckJSON(line []byte) error {
	var e encoded
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	c := checker{name: e.Name}
	_, err := d.Token()
	c.addProblem(!errors.Is(err, io.EOF), "more than one JSON value on its line")
	c.addProblem(e.V != Version, "format version %d, want %d", e.V, Version)
	c.addProblem(e.Session == "", "no session")
	c.addProblem(e.Start.IsZero(), "no start")
	c.addProblem(e.End.Before(e.Start), "ends before it starts")
	c.addProblem(e.Start.Location() != time.UTC || e.End.Location() != time.UTC, "times are not UTC")
	c.addProblem(e.Status != OK && e.Status != Failed, "status %q", e.Status)
	c.addProblem((e.Name == Error{}.Event()) != (e.Status == Failed), "status %q does not fit", e.Status)
	c.checkData(e)
	return errors.Join(c.errs...)
}

type checker struct {
	name string
	errs []error
}

func (c *checker) addProblem(is bool, problem string, args ...any) {
	if is {
		c.errs = append(c.errs, fmt.Errorf("event %s: %s", c.name, fmt.Sprintf(problem, args...)))
	}
}

func (c *checker) checkData(e encoded) {
	t := payloadType(e.Name)
	if t == nil {
		c.addProblem(true, "unknown name")
		return
	}
	d := json.NewDecoder(bytes.NewReader(e.Data))
	d.UseNumber()
	var data map[string]any
	if err := d.Decode(&data); err != nil {
		c.addProblem(true, "data: %v", err)
		return
	}
	found := len(c.errs)
	c.checkObject("", t, data)
	if len(c.errs) > found {
		return // values of a wrong type have no rules
	}
	p, err := decodePayload(e.Name, e.Data)
	c.addProblem(err != nil, "data: %v", err)
	c.checkValues(p)
}

// checkObject compares the names and types in data with the fields of t.
func (c *checker) checkObject(prefix string, t reflect.Type, data map[string]any) {
	names := make(map[string]bool)
	for _, f := range fieldsOf(t) {
		names[f.name] = true
		value := data[f.name]
		if value == nil {
			c.addProblem(!f.omit, "no %s", prefix+f.name)
			continue
		}
		c.checkType(prefix+f.name, f.of, value)
	}
	for _, name := range sortedKeys(data) {
		c.addProblem(!names[name], "%s is not a property of it", prefix+name)
	}
}

func (c *checker) checkType(name string, t reflect.Type, value any) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	ok := true
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		var inner map[string]any
		if inner, ok = value.(map[string]any); ok {
			c.checkObject(name+".", t, inner)
		}
	case reflect.String:
		_, ok = value.(string)
	case reflect.Bool:
		_, ok = value.(bool)
	case reflect.Int:
		n, is := value.(json.Number)
		ok = is && !strings.ContainsAny(n.String(), ".eE")
	case reflect.Float64:
		_, ok = value.(json.Number)
	}
	c.addProblem(!ok, "%s must be of type %s, is %v", name, typeName(t), value)
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	return t.Kind().String()
}

func sortedKeys(data map[string]any) []string {
	var names []string
	for name := range data {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// levelNames are the levels that events name.
func levelNames() []string { return append([]string{string(levels.None)}, levels.ReportedNames()...) }

// fallbacks are the replacements of a failed summary; "" if there is none.
func fallbacks() []string {
	return []string{"", "retry-half", "brief", "extractive", "pruning-only"}
}

// checkValues has the rules for the values of a payload, after their types were
// checked.
func (c *checker) checkValues(p Payload) {
	for name, value := range Properties(p) {
		n, counts := value.(int)
		least := 0
		if name == "first_changed" {
			least = -1
		}
		c.addProblem(counts && n < least, "%s must be at least %d, is %d", name, least, n)
		share, measures := value.(float64)
		c.addProblem(measures && share < 0, "%s must be at least 0, is %v", name, value)
	}
	switch p := p.(type) {
	case TriggerDecision:
		c.decision(p)
	case LevelApplied:
		c.checkOneOf("level", p.Level, levelNames())
		c.addProblem(p.Freed != p.Before-p.After, "freed is %d, before - after is %d", p.Freed, p.Before-p.After)
	case SummaryCreated:
		c.checkOneOf("fallback", p.Fallback, fallbacks())
		c.checkNotEmpty("strategy", p.Strategy)
	case Archival:
		c.checkNotEmpty("session_id", p.SessionID)
		c.addProblem(p.Step < 1, "step must be at least 1, is %d", p.Step)
		c.checkArchival(p)
	case Error:
		c.checkNotEmpty("error_type", p.ErrorType)
		c.checkNotEmpty("message", p.Message)
		c.checkOneOf("fallback", p.Fallback, append(fallbacks(), "lexical"))
	case Warning:
		c.checkOneOf("severity", p.Severity, []string{Low, Medium, High})
		c.checkNotEmpty("message", p.Message)
	}
}

func (c *checker) decision(p TriggerDecision) {
	c.checkOneOf("level", p.Level, levelNames())
	c.checkNotEmpty("reason", p.Reason)
	c.addProblem(p.Triggered && p.Kept == nil, "no kept")
	c.addProblem(p.Triggered && p.PrunedCount == nil, "no pruned_count")
	c.addProblem(!p.Triggered && p.Kept != nil, "kept, and nothing was triggered")
	c.addProblem(!p.Triggered && p.PrunedCount != nil, "pruned_count, and nothing was triggered")
	t := p.Policy.Thresholds
	c.addProblem(!slices.IsSorted(t.Rising()), "thresholds %v do not rise", t.Rising())
}

// checkArchival requires a place for an archived step.
func (c *checker) checkArchival(p Archival) {
	c.checkNotEmpty("storage_adapter", p.StorageAdapter)
	switch p.StorageAdapter {
	case "s3":
		c.checkNotEmpty("S3_key", p.S3Key)
	case "dir":
		c.checkNotEmpty("file_path", p.FilePath)
	}
}

func (c *checker) checkNotEmpty(name, value string) { c.addProblem(value == "", "no %s", name) }

func (c *checker) checkOneOf(name, value string, allowed []string) {
	c.addProblem(!slices.Contains(allowed, value), "%s must be one of %s, is %q", name, strings.Join(allowed, ", "), value)
}
