package wire

import (
	"cmp"
	"slices"
)

// A definition is a tool that the model may call.
type definition struct {
	name, description string // raw JSON strings; description may be ""
	schema            string // of the arguments, raw JSON; ""
}

// toolsFor returns tool definitions, a JSON list in the form of any API, in
// the form of d. It returns "" where there are none.
func toolsFor(tools []byte, d dialect) string {
	var out []string
	raw := string(tools)
	if end, err := scanValue(raw, 0); err != nil || skipSpace(raw, end) < len(raw) {
		return ""
	}
	raw = raw[skipSpace(raw, 0):]
	for start, end := range elements(raw) {
		for _, def := range definitionsIn(parse(raw[start:end])) {
			out = append(out, def.in(d))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return listOf(out)
}

// definitionsIn returns the definitions in one element of a list of tools:
// one, or Gemini's list of functions. Tools that run at a provider have none.
func definitionsIn(o jsonObject) []definition {
	for _, key := range []string{"functionDeclarations", "function_declarations"} {
		if list := o.field(key); begins(list, "[") {
			var all []definition
			for start, end := range elements(list) {
				all = append(all, definitionsIn(parse(list[start:end]))...)
			}
			return all
		}
	}
	if o.is("function", "{") {
		o = parse(o.field("function"))
	}
	if !o.is("name", `"`) {
		return nil
	}
	schema := cmp.Or(o.field("parameters"), o.field("input_schema"), o.field("parametersJsonSchema"))
	description := o.field("description")
	if !begins(description, `"`) {
		description = ""
	}
	if schema == "" && !slices.Contains([]string{"", "function", "custom"}, o.text("type")) {
		return nil
	}
	if !begins(schema, "{") {
		schema = `{"type":"object","properties":{}}`
	}
	return []definition{{o.field("name"), description, schema}}
}

func (t definition) in(d dialect) string {
	if d.system { // Anthropic's form
		return objectOf(change{"name", t.name}, change{"description", t.description}, change{"input_schema", t.schema})
	}
	function := objectOf(change{"name", t.name}, change{"description", t.description}, change{"parameters", t.schema})
	return objectOf(change{"type", `"function"`}, change{"function", function})
}
