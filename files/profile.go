package files

import (
	"path"
	"slices"
	"strings"
)

// A profile describes a language for the scanner: the syntax of comments and
// strings, and the keywords of declarations.
type profile struct {
	name      string
	line      []string                 // what begins a comment to the end of the line
	open      string                   // what begins a comment of several lines
	shut      string                   // what ends it
	quotes    string                   // what encloses a string on one line
	char      bool                     // ' encloses one character; it may also be single
	raw       []string                 // what encloses a string of several lines
	regex     bool                     // / may begin a regular expression
	indent    bool                     // blocks are known by indentation
	modifiers words                    // keywords that may precede the keyword of a declaration
	declares  words                    // keywords of declarations whose body declares nothing of interest
	contains  words                    // keywords of declarations whose body contains declarations
	bare      bareKind                 // functions without a keyword
	exported  func(d declaration) bool // what makes a name public
	imports   []string                 // what begins an import
	scan      func(text string, s *fileOutline)
}

// A declaration is the content of a line that declares something.
type declaration struct {
	name      string
	modifiers []string
	word      string // the keyword, of a container
	inside    bool   // inside a container
	kept      bool   // the container is itself exported
	open      bool   // the container is an interface: its members are exported if it is
}

func (d declaration) hasModifier(modifier string) bool {
	return slices.Contains(d.modifiers, modifier)
}

// A bareKind says in which case a name before a parenthesis declares a
// function.
type bareKind uint8

const (
	noBare     bareKind = iota
	typedBare           // after a type, as in C
	memberBare          // inside a class, as in JavaScript
	shellBare           // name() {
)

type words map[string]bool

func wordList(s string) words {
	w := make(words)
	for f := range strings.FieldsSeq(s) {
		w[f] = true
	}
	return w
}

func exportedByCapital(d declaration) bool {
	return d.name != "" && d.name[0] >= 'A' && d.name[0] <= 'Z'
}
func noUnderscore(d declaration) bool {
	return !strings.HasPrefix(d.name, "_") || strings.HasPrefix(d.name, "__")
}
func exportedByPublic(d declaration) bool {
	return d.hasModifier("public") || d.hasModifier("protected")
}
func exportedByPub(d declaration) bool { return d.hasModifier("pub") }
func notPrivate(d declaration) bool {
	return !d.hasModifier("private") && !d.hasModifier("fileprivate") && !d.hasModifier("internal")
}
func notStatic(d declaration) bool { return !d.hasModifier("static") }
func everything(declaration) bool  { return true }

func exportedInScript(d declaration) bool {
	if d.hasModifier("private") || strings.HasPrefix(d.name, "#") || strings.HasPrefix(d.name, "_") {
		return false
	}
	return d.hasModifier("export") || d.hasModifier("exports") || d.inside && d.kept
}

// profiles are the languages by their file extensions.
var profiles = func() map[string]*profile {
	out := make(map[string]*profile)
	for _, p := range languages() {
		for ending := range p.endings {
			out[ending] = &p.profile
		}
	}
	return out
}()

// plain is the profile of text in no known language.
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
		modifiers: wordList("static inline extern const constexpr virtual explicit friend unsigned"),
		declares:  wordList("#define typedef using enum concept"), contains: wordList("struct class union namespace"), exported: notStatic, imports: []string{"#include", "import "}}
	cpp := c
	cpp.name, cpp.raw = "c++", nil
	js := profile{name: "javascript", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"'`, raw: []string{"`"}, regex: true, bare: memberBare,
		modifiers: wordList("export default async static public private protected readonly abstract declare override get set"),
		declares:  wordList("function const let var type enum"), contains: wordList("class interface namespace module"),
		exported: exportedInScript, imports: []string{"import ", "import{", "const {", "require("}}
	ts := js
	ts.name = "typescript"
	return []language{
		{wordList(".go"), profile{name: "go", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, raw: []string{"`"},
			declares: wordList("func type const var"), exported: exportedByCapital, imports: []string{"import ", `"`}, scan: scanGoFile}},
		{wordList(".py .pyi"), profile{name: "python", line: []string{"#"}, quotes: `"'`, raw: []string{`"""`, "'''"}, indent: true,
			modifiers: wordList("async"), declares: wordList("def"), contains: wordList("class"), exported: noUnderscore, imports: []string{"import ", "from "}}},
		{wordList(".js .jsx .mjs .cjs"), js},
		{wordList(".ts .tsx .mts .cts .vue .svelte"), ts},
		{wordList(".java"), profile{name: "java", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, raw: []string{`"""`}, bare: typedBare,
			modifiers: wordList("public private protected static final abstract synchronized native default sealed non-sealed strictfp transient volatile"),
			declares:  wordList("@interface"), contains: wordList("class interface enum record"), exported: exportedByPublic, imports: []string{"import ", "package "}}},
		{wordList(".cs"), profile{name: "c#", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, raw: []string{`"""`}, bare: typedBare,
			modifiers: wordList("public private protected internal static sealed abstract partial readonly async override virtual new unsafe extern const"),
			declares:  wordList("delegate event"), contains: wordList("class interface struct enum record namespace"), exported: exportedByPublic, imports: []string{"using "}}},
		{wordList(".rs"), profile{name: "rust", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true,
			modifiers: wordList("pub pub(crate) pub(super) async unsafe const extern default"),
			declares:  wordList("fn struct enum type static const macro_rules! union"), contains: wordList("impl trait mod"), exported: exportedByPub, imports: []string{"use "}}},
		{wordList(".c .h"), c},
		{wordList(".cpp .cc .cxx .hpp .hh .hxx"), cpp},
		{wordList(".rb .rake"), profile{name: "ruby", line: []string{"#"}, quotes: `"'`, indent: true,
			modifiers: wordList("private public protected private_class_method"), declares: wordList("def attr_accessor attr_reader attr_writer scope"), contains: wordList("class module"),
			exported: func(d declaration) bool { return notPrivate(d) && noUnderscore(d) }, imports: []string{"require ", "require_relative "}}},
		{wordList(".php"), profile{name: "php", line: []string{"//", "#"}, open: "/*", shut: "*/", quotes: `"'`,
			modifiers: wordList("public private protected static final abstract readonly"), declares: wordList("function const"), contains: wordList("class interface trait enum namespace"),
			exported: notPrivate, imports: []string{"use ", "require ", "require_once ", "namespace "}}},
		{wordList(".kt .kts"), profile{name: "kotlin", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, char: true, raw: []string{`"""`},
			modifiers: wordList("public private protected internal open abstract final sealed data inline suspend override operator infix companion const lateinit enum annotation tailrec"),
			declares:  wordList("fun val var typealias"), contains: wordList("class interface object"), exported: notPrivate, imports: []string{"import ", "package "}}},
		{wordList(".swift"), profile{name: "swift", line: []string{"//"}, open: "/*", shut: "*/", quotes: `"`, raw: []string{`"""`},
			modifiers: wordList("public private fileprivate internal open final static class override mutating lazy weak indirect convenience required @objc @discardableResult @MainActor"),
			declares:  wordList("func var let init typealias case subscript deinit"), contains: wordList("class struct enum protocol extension actor"), exported: notPrivate, imports: []string{"import "}}},
		{wordList(".sh .bash .zsh"), profile{name: "shell", line: []string{"#"}, quotes: `"`, bare: shellBare,
			declares: wordList("function export alias readonly"), exported: everything, imports: []string{"source ", ". "}}},
	}
}

func dataLanguages() []language {
	return []language{
		{wordList(".sql"), profile{name: "sql", exported: everything, scan: scanStatements}},
		{wordList(".yaml .yml"), profile{name: "yaml", exported: everything, scan: scanYAML}},
		{wordList(".json .jsonc"), profile{name: "json", exported: everything, scan: scanJSON}},
		{wordList(".toml .ini .cfg"), profile{name: "toml", exported: everything, scan: scanTOML}},
		{wordList(".html .htm .xml"), profile{name: "html", exported: everything, scan: scanHTML}},
		{wordList(".css .scss .less"), profile{name: "css", exported: everything, scan: scanStylesheet}},
		{wordList(".md .mdx .markdown .rst"), profile{name: "markdown", exported: everything, scan: scanMarkdown}},
	}
}

// profileOf returns the profile of a file, by its name, or else by its first
// line.
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
