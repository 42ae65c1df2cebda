package files

import "strings"

// parameters are those of the calls of a conversation.
type parameters struct {
	names  map[string]bool
	values map[string]map[string]int // by the parameter's name: how often each was given
}

func newParameters() parameters {
	return parameters{make(map[string]bool), make(map[string]map[string]int)}
}

// add adds the names and the strings of a call's arguments.
func (p parameters) add(names []string, values []leaf) {
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		p.names[name] = true
	}
	for _, l := range values {
		name := l.lastName()
		given := p.values[name]
		if given == nil {
			given = make(map[string]int)
			p.values[name] = given
		}
		if len(given) <= maxChoices {
			given[l.value]++
		}
	}
}

// eachWord calls yield with the names of the parameters, and with the values of those
// that have a fixed set of them.
func (p parameters) eachWord(yield func(word string)) {
	for name := range p.names {
		yield(name)
	}
	for _, given := range p.values {
		if isChoice(given) {
			for value := range given {
				yield(value)
			}
		}
	}
}

// maxChoices is the maximum number of values of a parameter that has a fixed set of them.
const maxChoices = 8

// isChoice reports whether values, with how often each was given, are those of a
// parameter with a fixed set: a few lower words, at least one of them repeated.
func isChoice(given map[string]int) bool {
	repeated := false
	for value, times := range given {
		if strings.Trim(value, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return false
		}
		repeated = repeated || times > 1
	}
	return repeated && len(given) <= maxChoices
}
