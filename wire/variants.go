package wire

import "strings"

// Go SDKs that are generated from an API description have one struct for all
// variants of a value. A program that marshals such a value writes all variants:
// those that are not objects under keys that begin with Of, and the empty ones too.

// isEmptyValue reports whether a JSON value is empty.
func isEmptyValue(raw string) bool {
	switch raw {
	case "", "null", `""`, "0", "false", "[]", "{}":
		return true
	}
	return false
}

// isVariants reports whether raw is such a value.
func isVariants(raw string) bool {
	for m := range objectMembers(raw) {
		if isVariantKey(m.key) {
			return true
		}
	}
	return false
}

func isVariantKey(key string) bool {
	return strings.HasPrefix(key, "Of") && len(key) > 2 && 'A' <= key[2] && key[2] <= 'Z'
}

// variantIn returns the non-empty variant, "" if there is none. Any other value is
// returned unchanged.
func variantIn(raw string) string {
	if !isVariants(raw) {
		return raw
	}
	var rest []change
	said := false
	for m := range objectMembers(raw) {
		value := raw[m.start:m.end]
		switch {
		case isVariantKey(m.key) && !isEmptyValue(value):
			return value
		case !isVariantKey(m.key) && !isEmptyValue(value):
			rest = append(rest, change{m.key, value})
			said = said || m.key != "type" // a constant is always written
		}
	}
	if !said {
		return ""
	}
	return objectOf(rest...)
}

// withoutVariants returns an item of the Responses API without the empty variants
// that such an SDK writes. An item of another source stays as it is.
func withoutVariants(it peek) peek {
	any := false
	for _, raw := range it.fields {
		any = any || beginsWithAny(raw, "{") && isVariants(raw)
	}
	if !any {
		return it
	}
	var kept []change
	for _, m := range parseObject(it.raw).members {
		value := variantIn(it.raw[m.start:m.end])
		if beginsWithAny(value, "{") {
			value = withoutEmpty(value)
		}
		if !isEmptyValue(value) {
			kept = append(kept, change{m.key, value})
		}
	}
	return peekValue(objectOf(kept...))
}

// withoutEmpty returns an object without its empty members.
func withoutEmpty(raw string) string {
	var kept []change
	for m := range objectMembers(raw) {
		if value := raw[m.start:m.end]; !isEmptyValue(value) {
			kept = append(kept, change{m.key, value})
		}
	}
	return objectOf(kept...)
}
