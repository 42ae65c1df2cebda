package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A Rule selects protected messages.
type Rule struct {
	Text  string    // as it was written
	Role  chat.Role // "": Match does not depend on the role
	Match func(chat.Message) bool
}

const ruleWanted = "an id, role:NAME or /regexp/"

// ParseRule returns the rule of a text: an id, role:NAME, or /regexp/ over the text of
// messages.
func ParseRule(s string) (Rule, error) {
	if strings.TrimSpace(s) == "" {
		return Rule{}, errors.New("it is empty")
	}
	if name, ok := strings.CutPrefix(s, "role:"); ok {
		if !slices.Contains(strings.Split(roleWords, ", "), name) {
			return Rule{}, fmt.Errorf("there is no such role; take one of %s", roleWords)
		}
		return Rule{s, chat.Role(name), func(m chat.Message) bool { return string(m.Role) == name }}, nil
	}
	if len(s) > 2 && strings.HasPrefix(s, "/") && strings.HasSuffix(s, "/") {
		re, err := regexp.Compile(s[1 : len(s)-1])
		if err != nil {
			return Rule{}, errors.New(patternError(err))
		}
		return Rule{s, "", func(m chat.Message) bool { return re.MatchString(m.Text()) }}, nil
	}
	return Rule{s, "", func(m chat.Message) bool { return m.ID == s }}, nil
}

// Rules returns the rules of policy.protect, which must be valid.
func (c Config) Rules() []Rule {
	var out []Rule
	for _, s := range c.Protect {
		if r, err := ParseRule(s); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// protection returns the protected roles, and the matcher of further protected messages.
func (c Config) protection() ([]chat.Role, func(chat.Message) bool) {
	roles := append([]chat.Role{}, c.Policy.RolesNeverPrune...) // never nil, which means the default
	var matchers []func(chat.Message) bool
	for _, r := range c.Rules() {
		switch {
		case r.Role == "":
			matchers = append(matchers, r.Match)
		case !slices.Contains(roles, r.Role):
			roles = append(roles, r.Role)
		}
	}
	if len(matchers) == 0 {
		return roles, nil
	}
	return roles, func(m chat.Message) bool {
		return slices.ContainsFunc(matchers, func(match func(chat.Message) bool) bool { return match(m) })
	}
}
