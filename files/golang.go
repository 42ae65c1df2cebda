package files

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// scanGoFile finds the declarations of a Go file with the parser of the
// standard library. A text that is not a whole file is scanned like other
// code.
func scanGoFile(text string, s *fileOutline) {
	if !startsPackage(text) || len(text) > 1<<20 {
		scanCode(text, s)
		return
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil || file == nil {
		scanCode(text, s)
		return
	}
	g := goFile{set.File(file.Pos()), text, s}
	if file.Doc != nil {
		g.s.doc = g.firstLine(file.Doc.Pos())
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			g.addGenDecl(d)
		}
	}
}

// startsPackage reports whether the first line of text that is neither empty
// nor a comment is a package clause.
func startsPackage(text string) bool {
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case inside:
			inside = !strings.Contains(line, "*/")
		case strings.HasPrefix(line, "package "):
			return true
		case strings.HasPrefix(line, "/*"):
			inside = !strings.Contains(line, "*/")
		case line != "" && !strings.HasPrefix(line, "//"):
			return false
		}
	}
	return false
}

// A goFile adds the declarations of a file to its outline.
type goFile struct {
	file *token.File
	text string
	s    *fileOutline
}

func (g goFile) byteOffset(p token.Pos) int { return max(0, min(len(g.text), int(p)-g.file.Base())) }

// wholeLines returns the whole lines between two positions.
func (g goFile) wholeLines(from, to token.Pos) span {
	start, end := g.byteOffset(from), g.byteOffset(to)
	start = strings.LastIndexByte(g.text[:start], '\n') + 1
	if i := strings.IndexByte(g.text[end:], '\n'); i >= 0 {
		return span{int32(start), int32(end + i + 1)}
	}
	return span{int32(start), int32(len(g.text))}
}

func (g goFile) firstLine(p token.Pos) span { return g.wholeLines(p, p) }

func (g goFile) addGoDecl(name *ast.Ident, from, sig, to token.Pos, doc *ast.CommentGroup, depth uint8) {
	d := decl{span: g.wholeLines(from, to), sig: g.wholeLines(sig, sig).end, line: int32(g.file.Line(from)),
		name: symbolHash(name.Name), depth: depth, exported: name.IsExported()}
	d.lead = d.start
	if doc != nil {
		d.lead = g.wholeLines(doc.Pos(), doc.Pos()).start
	}
	g.s.decls = append(g.s.decls, d)
}

func (g goFile) function(d *ast.FuncDecl) {
	sig := d.Type.End()
	g.addGoDecl(d.Name, d.Pos(), sig, d.End(), d.Doc, 0)
	if d.Recv != nil && len(d.Recv.List) == 1 && !exportedType(d.Recv.List[0].Type) {
		g.s.decls[len(g.s.decls)-1].exported = false
	}
}

func exportedType(e ast.Expr) bool {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return true
		}
	}
}

func (g goFile) addGenDecl(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		from, doc := spec.Pos(), d.Doc
		if !d.Lparen.IsValid() {
			from = d.Pos()
		}
		switch spec := spec.(type) {
		case *ast.ImportSpec:
			if len(g.s.imports) < markMax {
				g.s.imports = append(g.s.imports, span{int32(g.byteOffset(spec.Path.Pos())), int32(g.byteOffset(spec.Path.End()))})
			}
		case *ast.TypeSpec:
			if spec.Doc != nil {
				doc = spec.Doc
			}
			g.addGoDecl(spec.Name, from, spec.Name.End(), spec.End(), doc, 0)
		case *ast.ValueSpec:
			if spec.Doc != nil {
				doc = spec.Doc
			}
			g.addGoDecl(spec.Names[0], from, spec.Names[0].End(), spec.End(), doc, 0)
		}
	}
}
