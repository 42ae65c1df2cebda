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
	for f := range t.Fields() {
		switch name, omit := jsonFieldName(f); {
		case omit:
		case f.Type.Kind() == reflect.Struct:
			names = append(names, required(prefix+name+".", f.Type)...)
		default:
			names = append(names, prefix+name)
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

// CheckData returns everything that is missing or wrong in the data of an event
// called name.
func CheckData(name string, data []byte) error {
	c := checker{name: name}
	c.checkData(encoded{Name: name, Data: data})
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
	for f := range t.Fields() {
		name, omit := jsonFieldName(f)
		names[name] = true
		value := data[name]
		if value == nil {
			c.addProblem(!omit, "no %s", prefix+name)
			continue
		}
		c.checkType(prefix+name, f.Type, value)
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
	case reflect.Struct:
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
	case reflect.Struct:
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
