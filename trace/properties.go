package trace

import (
	"encoding/json"
	"iter"
	"reflect"
	"strings"

	"github.com/tiercompact/tiercompact/levels"
)

// Properties returns the properties of p, flat and in the order of its fields: the
// name of each, those of inner objects with a dot, and its value, a string, bool,
// int or float64. Fields omitted from the JSON of p are omitted here, and JSON
// inside p is a string. A payload of an unknown kind has one property, "json".
func Properties(p Payload) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if isKnownPayload(p) {
			properties("", reflect.ValueOf(p), yield)
		} else if b, err := json.Marshal(p); err == nil {
			yield("json", string(b))
		}
	}
}

// properties yields the fields of v under prefix, and reports whether to continue.
func properties(prefix string, v reflect.Value, yield func(string, any) bool) bool {
	for i, f := range fieldsOf(v.Type()) {
		value := fieldValue(v, i, f.name)
		if f.omit && value.IsZero() {
			continue
		}
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		if !property(prefix+f.name, value, yield) {
			return false
		}
	}
	return true
}

func property(name string, v reflect.Value, yield func(string, any) bool) bool {
	switch v.Kind() {
	case reflect.Struct, reflect.Map:
		return properties(name+".", v, yield)
	case reflect.String:
		return yield(name, v.String())
	case reflect.Bool:
		return yield(name, v.Bool())
	case reflect.Int:
		return yield(name, int(v.Int()))
	case reflect.Float64:
		return yield(name, v.Float())
	default: // json.RawMessage
		return yield(name, string(v.Bytes()))
	}
}

// A field is a property of an object in an event: a field of a struct, or the
// threshold of a level, which is a number.
type field struct {
	name string
	omit bool // its zero is left out
	of   reflect.Type
}

func isObject(t reflect.Type) bool { return t.Kind() == reflect.Struct || t.Kind() == reflect.Map }

// fieldsOf returns the properties of an object, in their order.
func fieldsOf(t reflect.Type) (fields []field) {
	if t.Kind() == reflect.Map {
		for _, name := range levels.Names() {
			fields = append(fields, field{name, false, t.Elem()})
		}
		return fields
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, field{name, options == "omitempty", f.Type})
	}
	return fields
}

// fieldValue returns the value of the i-th property of v, which has that name.
func fieldValue(v reflect.Value, i int, name string) reflect.Value {
	if v.Kind() == reflect.Struct {
		return v.Field(i)
	}
	if value := v.MapIndex(reflect.ValueOf(levels.Name(name))); value.IsValid() {
		return value
	}
	return reflect.Zero(v.Type().Elem())
}

// Parents gives the place of a session's spans in a tree: each check is a root, its
// [TokenEstimate]; the [TriggerDecision] is its child; the events of a round, and
// other events beside it, are children of the decision, or of the check if nothing
// was triggered. A parent is always emitted before its children. The zero value is
// a session without events; ID is the type of a span's name.
type Parents[ID any] struct {
	check, round *ID
}

// Of returns the parent of the next event, nil if it is a root.
func (p *Parents[ID]) Of(next Payload) *ID {
	switch next.(type) {
	case TokenEstimate:
		return nil
	case TriggerDecision:
		return p.check
	}
	if p.round != nil {
		return p.round
	}
	return p.check
}

// Add records that the span of an event is called id.
func (p *Parents[ID]) Add(e Payload, id ID) {
	switch e := e.(type) {
	case TokenEstimate:
		p.check, p.round = &id, nil
	case TriggerDecision:
		p.round = nil
		if e.Triggered {
			p.round = &id
		}
	}
}

// Forget drops the spans so far, so that later spans do not name them: they were
// lost.
func (p *Parents[ID]) Forget() { p.check, p.round = nil, nil }
