package files

import (
	"path"
	"slices"
	"strings"
)

// A profile says what a scanner must know of a language: how comments and
// strings stand, and which words begin a declaration.
type profile struct {
	name      string
	line      []string          // what begins a comment to the end of the line
	open      string            // what begins a comment of several lines
	shut      string            // what ends it
	quotes    string            // what encloses a string on one line
	char      bool              // ' encloses one character; it may also stand alone
	raw       []string          // what encloses a string of several lines
	regex     bool              // / may begin a regular expression
	indent    bool              // blocks are known by indentation
	modifiers words             // may stand before the word that declares
	declares  words             // declare what follows, whose body holds no declarations of note
	contains  words             // declare what holds declarations
	bare      bareKind          // functions that no word declares
	exported  func(d sign) bool // what others see
	imports   []string          // what begins an import
	scan      func(text string, s *shape)
}

// A sign is what the line of a declaration says.
type sign struct {
	name      string
	modifiers []string
	word      string // the word that declares, of a container
	inside    bool   // inside of a container
	kept      bool   // the container is itself exported
	open      bool   // the container is an interface: what it holds is as exported as it is
}

func (d sign) has(modifier string) bool {
	return slices.Contains(d.modifiers, modifier)
}

// A bareKind says where a name before a parenthesis declares a function.
type bareKind uint8

const (
	noBare     bareKind = iota
	typedBare           // after a type, as in C
	memberBare          // inside of a class, as in JavaScript
	shellBare           // name() {
)

type words map[string]bool

func list(s string) words {
	w := make(words)
	for f := range strings.FieldsSeq(s) {
		w[f] = true
	}
	return w
}

func capital(d sign) bool { return d.name != "" && d.name[0] >= 'A' && d.name[0] <= 'Z' }
func noUnderscore(d sign) bool {
	return !strings.HasPrefix(d.name, "_") || strings.HasPrefix(d.name, "__")
}
func public(d sign) bool     { return d.has("public") || d.has("protected") }
func pub(d sign) bool        { return d.has("pub") }
func notPrivate(d sign) bool { return !d.has("private") && !d.has("fileprivate") && !d.has("internal") }
func notStatic(d sign) bool  { return !d.has("static") }
func everything(sign) bool   { return true }

func script(d sign) bool {
	if d.has("private") || strings.HasPrefix(d.name, "#") || strings.HasPrefix(d.name, "_") {
		return false
	}
	return d.has("export") || d.has("exports") || d.inside && d.kept
}

// profiles are the languages, each under the endings of its files.
var profiles = func() map[string]*profile {
	out := make(map[string]*profile)
	for _, p := range languages() {
		for ending := range p.endings {
			out[ending] = &p.profile
		}
	}
	return out
}()

// plain is the profile of a text of no known language.
var plain = &profile{name: "text", exported: everything, scan: scanPlain}

type language struct {
	endings words
	profile
}

func languages() []language {
	return append(codeLanguages(), dataLanguages()...)
}

func codeLanguages() []language {
	c := profile{name: "c", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, bare: typedBare,
		modifiers: list("static inline extern const constexpr virtual explicit friend unsigned"),
		declares:  list("#define typedef using enum concept"), contains: list("struct class union namespace"), exported: notStatic, imports: []string{"#include", "import "}}
	cpp := c
	cpp.name, cpp.raw = "c++", nil
	js := profile{name: "javascript", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"'`, raw: []string{"`"}, regex: true, bare: memberBare,
		modifiers: list("export default async static public private protected readonly abstract declare override get set"),
		declares:  list("function const let var type enum"), contains: list("class interface namespace module"),
		exported: script, imports: []string{"import ", "import{", "const {", "require("}}
	ts := js
	ts.name = "typescript"
	return []language{
		{list(".go"), profile{name: "go", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, raw: []string{"`"},
			declares: list("func type const var"), exported: capital, imports: []string{"import ", `"`}, scan: scanGo}},
		{list(".py .pyi"), profile{name: "python", line: []string{"#"}, quotes: `"'`, raw: []string{`"""`, "'''"}, indent: true,
			modifiers: list("async"), declares: list("def"), contains: list("class"), exported: noUnderscore, imports: []string{"import ", "from "}}},
		{list(".js .jsx .mjs .cjs"), js},
		{list(".ts .tsx .mts .cts .vue .svelte"), ts},
		{list(".java"), profile{name: "java", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, raw: []string{`"""`}, bare: typedBare,
			modifiers: list("public private protected static final abstract synchronized native default sealed non-sealed strictfp transient volatile"),
			declares:  list("@interface"), contains: list("class interface enum record"), exported: public, imports: []string{"import ", "package "}}},
		{list(".cs"), profile{name: "c#", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, raw: []string{`"""`}, bare: typedBare,
			modifiers: list("public private protected internal static sealed abstract partial readonly async override virtual new unsafe extern const"),
			declares:  list("delegate event"), contains: list("class interface struct enum record namespace"), exported: public, imports: []string{"using "}}},
		{list(".rs"), profile{name: "rust", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true,
			modifiers: list("pub pub(crate) pub(super) async unsafe const extern default"),
			declares:  list("fn struct enum type static const macro_rules! union"), contains: list("impl trait mod"), exported: pub, imports: []string{"use "}}},
		{list(".c .h"), c},
		{list(".cpp .cc .cxx .hpp .hh .hxx"), cpp},
		{list(".rb .rake"), profile{name: "ruby", line: []string{"#"}, quotes: `"'`, indent: true,
			modifiers: list("private public protected private_class_method"), declares: list("def attr_accessor attr_reader attr_writer scope"), contains: list("class module"),
			exported: func(d sign) bool { return notPrivate(d) && noUnderscore(d) }, imports: []string{"require ", "require_relative "}}},
		{list(".php"), profile{name: "php", line: []string{"//", "#"}, open: "/*", shut: "*/", quotes: `"'`,
			modifiers: list("public private protected static final abstract readonly"), declares: list("function const"), contains: list("class interface trait enum namespace"),
			exported: notPrivate, imports: []string{"use ", "require ", "require_once ", "namespace "}}},
		{list(".kt .kts"), profile{name: "kotlin", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, raw: []string{`"""`},
			modifiers: list("public private protected internal open abstract final sealed data inline suspend override operator infix companion const lateinit enum annotation tailrec"),
			declares:  list("fun val var typealias"), contains: list("class interface object"), exported: notPrivate, imports: []string{"import ", "package "}}},
		{list(".swift"), profile{name: "swift", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, raw: []string{`"""`},
			modifiers: list("public private fileprivate internal open final static class override mutating lazy weak indirect convenience required @objc @discardableResult @MainActor"),
			declares:  list("func var let init typealias case subscript deinit"), contains: list("class struct enum protocol extension actor"), exported: notPrivate, imports: []string{"import "}}},
		{list(".sh .bash .zsh"), profile{name: "shell", line: []string{"#"}, quotes: `"`, bare: shellBare,
			declares: list("function export alias readonly"), exported: everything, imports: []string{"source ", ". "}}},
	}
}

func dataLanguages() []language {
	return []language{
		{list(".sql"), profile{name: "sql", exported: everything, scan: scanSQL}},
		{list(".yaml .yml"), profile{name: "yaml", exported: everything, scan: scanYAML}},
		{list(".json .jsonc"), profile{name: "json", exported: everything, scan: scanJSON}},
		{list(".toml .ini .cfg"), profile{name: "toml", exported: everything, scan: scanTOML}},
		{list(".html .htm .xml"), profile{name: "html", exported: everything, scan: scanHTML}},
		{list(".css .scss .less"), profile{name: "css", exported: everything, scan: scanCSS}},
		{list(".md .mdx .markdown .rst"), profile{name: "markdown", exported: everything, scan: scanMarkdown}},
	}
}

// profileOf returns the profile of a file, by its name, else by its first line.
func profileOf(name, text string) *profile {
	if p, ok := profiles[strings.ToLower(path.Ext(name))]; ok {
		return p
	}
	first, _, _ := strings.Cut(text[:min(len(text), 200)], "\n")
	if strings.HasPrefix(first, "#!") {
		for _, by := range [][2]string{{"python", ".py"}, {"node", ".js"}, {"ruby", ".rb"}, {"sh", ".sh"}} {
			if strings.Contains(first, by[0]) {
				return profiles[by[1]]
			}
		}
	}
	return plain
}
