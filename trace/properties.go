package trace

import (
	"encoding/json"
	"iter"
	"reflect"
	"strings"
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
	for f, value := range v.Fields() {
		name, omit := jsonFieldName(f)
		if omit && value.IsZero() {
			continue
		}
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		if !property(prefix+name, value, yield) {
			return false
		}
	}
	return true
}

func property(name string, v reflect.Value, yield func(string, any) bool) bool {
	switch v.Kind() {
	case reflect.Struct:
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

// jsonFieldName returns the name of a field in JSON, and whether its zero value is
// omitted.
func jsonFieldName(f reflect.StructField) (name string, omit bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, options == "omitempty"
}
