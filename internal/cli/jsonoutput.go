package cli

import (
	"encoding/json"
	"io"
	"reflect"
)

// writeJSON writes v, indented. An empty list is [], never null.
func writeJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// writeJSONLine writes v on one line. An empty list is [], never null.
func writeJSONLine(w io.Writer, v any) error { return encodeJSON(w, v, "") }

func encodeJSON(w io.Writer, v any, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(withLists(reflect.ValueOf(v)).Interface())
}

// withLists returns v with an empty list for each nil one. What marshals itself
// is left as it is, and so are bytes.
func withLists(v reflect.Value) reflect.Value {
	marshaler := reflect.TypeFor[json.Marshaler]()
	if !v.IsValid() || v.Type().Implements(marshaler) || reflect.PointerTo(v.Type()).Implements(marshaler) {
		return v
	}
	switch kind := v.Kind(); {
	case kind == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			list.Index(i).Set(withLists(v.Index(i)))
		}
		return list
	case kind == reflect.Map && !v.IsNil():
		all := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() {
			if value := withLists(v.MapIndex(key)); value.IsValid() {
				all.SetMapIndex(key, value)
			}
		}
		return all
	case kind == reflect.Struct:
		filled := reflect.New(v.Type()).Elem()
		filled.Set(v)
		fillFields(filled)
		return filled
	case kind == reflect.Pointer && !v.IsNil():
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(withLists(v.Elem()))
		return p
	case kind == reflect.Interface && !v.IsNil():
		return withLists(v.Elem())
	}
	return v
}

// fillFields fills the fields of a struct, those of embedded ones too.
func fillFields(s reflect.Value) {
	for i := range s.NumField() {
		switch f := s.Field(i); {
		case f.CanSet():
			f.Set(withLists(f))
		case s.Type().Field(i).Anonymous && f.Kind() == reflect.Struct:
			fillFields(f)
		}
	}
}
