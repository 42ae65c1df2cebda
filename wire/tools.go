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

// toolsFor returns tool definitions, a JSON list in the form of any API, in the
// form of d. It returns "" if there are none.
func toolsFor(tools []byte, d dialect) string {
	var out []string
	raw := string(tools)
	if end, err := scanValue(raw, 0); err != nil || skipSpace(raw, end) < len(raw) {
		return ""
	}
	raw = raw[skipSpace(raw, 0):]
	for start, end := range elements(raw) {
		for _, def := range definitionsIn(parseObject(raw[start:end])) {
			out = append(out, def.definitionFor(d))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return rawList(out)
}

// definitionsIn returns the definitions in one element of a list of tools: one, or
// Gemini's list of functions. Tools that a provider runs have none.
func definitionsIn(o jsonObject) []definition {
	for _, key := range []string{"functionDeclarations", "function_declarations"} {
		if list := o.rawValue(key); beginsWithAny(list, "[") {
			var all []definition
			for start, end := range elements(list) {
				all = append(all, definitionsIn(parseObject(list[start:end]))...)
			}
			return all
		}
	}
	if o.valueHasKind("function", "{") {
		o = parseObject(o.rawValue("function"))
	}
	if !o.valueHasKind("name", `"`) {
		return nil
	}
	schema := cmp.Or(o.rawValue("parameters"), o.rawValue("input_schema"), o.rawValue("parametersJsonSchema"))
	description := o.rawValue("description")
	if !beginsWithAny(description, `"`) {
		description = ""
	}
	if schema == "" && !slices.Contains([]string{"", "function", "custom"}, o.textValue("type")) {
		return nil
	}
	if !beginsWithAny(schema, "{") {
		schema = `{"type":"object","properties":{}}`
	}
	return []definition{{o.rawValue("name"), description, schema}}
}

func (t definition) definitionFor(d dialect) string {
	if d.system { // Anthropic's form
		return objectOf(change{"name", t.name}, change{"description", t.description}, change{"input_schema", t.schema})
	}
	function := objectOf(change{"name", t.name}, change{"description", t.description}, change{"parameters", t.schema})
	return objectOf(change{"type", `"function"`}, change{"function", function})
}
