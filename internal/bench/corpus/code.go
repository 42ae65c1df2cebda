package corpus

import (
	"fmt"
	"strings"
)

// A language is the style of generated files: a head, functions, and their
// statements. In templates {P} is the module, {F} a function, {T} a type, {K} a
// constant, {v} and {w} variables, {n} a number, {s} a few words.
type language struct {
	ext    string
	test   string // command, with the module
	snake  bool
	head   []string
	open   []string // of a function
	close  []string
	plain  []string // statements of one line, which edits change
	blocks [][]string
}

func goLanguage() language {
	return language{
		ext: ".go", test: "go test ./internal/%s/... -v",
		head:  []string{"// Package {P} keeps the {s} of a tenant.", "package {P}", "", "import (", "\t\"context\"", "\t\"errors\"", "\t\"fmt\"", "\t\"time\"", ")", "", "// {T} holds the {s} of {P}.", "type {T} struct {", "\t{v} map[string]int", "\t{w} time.Duration", "\tlimit int // {s}", "}", "", "const {K} = {n}", ""},
		open:  []string{"// {F} returns the {s} after the {s}.", "func (s *{T}) {F}(ctx context.Context, {v} string) (int, error) {"},
		close: []string{"\treturn {n}, nil", "}", ""},
		plain: []string{
			"\t{v} := s.{F}Of({w}, {n})", "\ts.log.Debug(\"{s}\", \"{v}\", {v})", "\t{v} := make(map[string]int, {n})",
			"\tdefer s.{F}({v})", "\ts.{v}[{w}] += {n} // {s}", "\t{v}, {w} := s.{F}Pair(ctx, {n})", "\tmetrics.{K}.Add(float64(len({v})))",
			"\t{v} = append({v}, s.{F}({w})...)", "\tdeadline := time.Duration({n}) * time.Millisecond // {s}",
		},
		blocks: [][]string{
			{"\tif err := s.{F}(ctx, {v}); err != nil {", "\t\treturn 0, fmt.Errorf(\"{s} %s: %w\", {v}, err)", "\t}"},
			{"\tfor i, {v} := range s.{F}All({w}) {", "\t\tif i > {n} {", "\t\t\tbreak // {s}", "\t\t}", "\t\ttotal += {v}.{w}", "\t}"},
			{"\tif len({v}) == 0 {", "\t\treturn 0, errors.New(\"{P}: no {s}\")", "\t}"},
		},
	}
}

func pythonLanguage() language {
	return language{
		ext: ".py", test: "pytest internal/%s -v", snake: true,
		head:  []string{"\"\"\"The {s} of {P}.\"\"\"", "import logging", "from dataclasses import dataclass", "", "{K} = {n}", "", "", "@dataclass", "class {T}:", "    {v}: dict", "    limit: int = {n}  # {s}", ""},
		open:  []string{"    def {F}(self, {v}, {w}={n}):", "        \"\"\"Return the {s} of {v}.\"\"\""},
		close: []string{"        return {n}", ""},
		plain: []string{
			"        {v} = self.{F}_of({w}, {n})", "        log.debug(\"{s} %s\", {v})", "        self.{v}[{w}] = {n}  # {s}",
			"        {v}, {w} = self.{F}_pair({n})", "        {v} = [self.{F}(x) for x in {w}]",
		},
		blocks: [][]string{
			{"        if not {v}:", "            raise ValueError(\"{P}: no {s}\")"},
			{"        for i, {v} in enumerate(self.{F}_all({w})):", "            if i > {n}:", "                break  # {s}", "            total += {v}.{w}"},
		},
	}
}

func scriptLanguage() language {
	return language{
		ext: ".ts", test: "npm test -- internal/%s",
		head:  []string{"// The {s} of {P}.", "import { Clock } from './clock';", "", "export const {K} = {n};", "", "export class {T} {", "  private {v}: Map<string, number> = new Map();", "  limit = {n}; // {s}", ""},
		open:  []string{"  // {F} returns the {s}.", "  async {F}({v}: string, {w} = {n}): Promise<number> {"},
		close: []string{"    return {n};", "  }", ""},
		plain: []string{
			"    const {v} = await this.{F}Of({w}, {n});", "    log.debug('{s}', { {v} });", "    this.{v}.set({w}, {n}); // {s}",
			"    const [{v}, {w}] = this.{F}Pair({n});", "    {v}.push(...this.{F}({w}));",
		},
		blocks: [][]string{
			{"    if ({v}.length === 0) {", "      throw new Error('{P}: no {s}');", "    }"},
			{"    for (const {v} of this.{F}All({w})) {", "      if ({v}.{w} > {n}) break; // {s}", "      total += {v}.{w};", "    }"},
		},
	}
}

// A file is the current state of a file in a project.
type file struct {
	path  string
	lang  language
	lines []string
	funcs []string // names
}

// A coder writes the text of one file.
type coder struct {
	dice
	lang   language
	module string
	typ    string
}

// writeCodeFile writes a file of about the given number of lines.
func writeCodeFile(d dice, lang language, module, role, folder string, lines int) *file {
	c := coder{dice: d, lang: lang, module: module, typ: capitalize(module) + capitalize(role)}
	f := &file{path: folder + "/" + role + lang.ext, lang: lang}
	f.appendTemplates(c, lang.head...)
	for len(f.lines) < lines {
		c.function(f)
	}
	if lang.ext == ".ts" {
		f.lines = append(f.lines, "}")
	}
	return f
}

// function adds a function to f.
func (c coder) function(f *file) {
	name := c.functionName()
	f.funcs = append(f.funcs, name)
	for _, line := range c.lang.open {
		f.appendTemplates(c, strings.ReplaceAll(line, "{F}", name))
	}
	for range c.numberBetween(3, 9) {
		if c.percentChance(60) {
			f.appendTemplates(c, c.pickWord(c.lang.plain))
		} else {
			f.appendTemplates(c, c.lang.blocks[c.IntN(len(c.lang.blocks))]...)
		}
	}
	f.appendTemplates(c, c.lang.close...)
}

// appendTemplates writes lines with common variables to f.
func (f *file) appendTemplates(c coder, templates ...string) {
	v, w := c.variable(), c.variable()
	for _, t := range templates {
		f.lines = append(f.lines, c.fillTemplate(t, v, w))
	}
}

// fillTemplate returns a template with its placeholders replaced.
func (c coder) fillTemplate(t, v, w string) string {
	for strings.Contains(t, "{F}") {
		t = strings.Replace(t, "{F}", c.functionName(), 1)
	}
	for strings.Contains(t, "{s}") {
		t = strings.Replace(t, "{s}", c.identifierWords(), 1)
	}
	for strings.Contains(t, "{n}") {
		t = strings.Replace(t, "{n}", fmt.Sprint(c.numberBetween(2, 9999)), 1)
	}
	constant := "max" + capitalize(c.pickWord(nouns)) + capitalize(c.pickWord(nouns)) + "s"
	if c.lang.snake {
		constant = strings.ToUpper("max_" + c.pickWord(nouns) + "_" + c.pickWord(nouns))
	}
	return strings.NewReplacer("{P}", c.module, "{T}", c.typ, "{K}", constant, "{v}", v, "{w}", w).Replace(t)
}

// functionName returns a name for a function.
func (c coder) functionName() string {
	verb, first, second := c.pickWord(verbs), c.pickWord(adjectives), c.pickWord(nouns)
	if c.lang.snake {
		return verb + "_" + first + "_" + second
	}
	return verb + capitalize(first) + capitalize(second)
}

func (c coder) variable() string {
	if c.percentChance(50) {
		return c.pickWord(nouns)
	}
	if c.lang.snake {
		return c.pickWord(adjectives) + "_" + c.pickWord(nouns)
	}
	return c.pickWord(adjectives) + capitalize(c.pickWord(nouns))
}

func (c coder) identifierWords() string {
	return c.pickWord(adjectives) + " " + c.pickWord(nouns) + "s"
}
