package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// leastLines is the length of the shortest function that is a step of its own.
const leastLines = 6

// A step is a function that a reader comes to.
type step struct {
	depth int    // calls below the entry
	name  string // package.Function, or package.Type.Method
	pkg   string // import path
	file  string // in the module
	line  int
}

// A declaration is a function with its package.
type declaration struct {
	decl *ast.FuncDecl
	pkg  *packages.Package
}

// A walker follows calls in the packages that it knows.
type walker struct {
	folder string
	impl   map[string]string      // by the name of an interface, that of its implementation
	funcs  map[string]declaration // by name
	seen   map[string]bool
	steps  []step
}

// load reads the packages in folders of the module in root.
func load(root string, folders []string) (*walker, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var patterns []string
	for _, f := range folders {
		patterns = append(patterns, "./"+f)
	}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: root}, patterns...)
	if err != nil {
		return nil, err
	}
	w := &walker{folder: root, funcs: make(map[string]declaration)}
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					w.funcs[funcName(p.TypesInfo.Defs[f.Name].(*types.Func))] = declaration{f, p}
				}
			}
		}
	}
	return w, nil
}

// walk returns the steps from a function of a package on. It does not visit without,
// functions of the package.
func (w *walker) walk(pkg, entry string, without []string) ([]step, error) {
	if _, ok := w.funcs[pkg+"."+entry]; !ok {
		return nil, fmt.Errorf("no function %s.%s", pkg, entry)
	}
	w.steps, w.seen = nil, make(map[string]bool)
	for _, name := range without {
		w.seen[pkg+"."+name] = true
	}
	w.visit(pkg+"."+entry, 0)
	return w.steps, nil
}

// visit adds a function, and those that it calls.
func (w *walker) visit(name string, depth int) {
	f, known := w.funcs[name]
	if !known || w.seen[name] {
		return
	}
	w.seen[name] = true
	from, to := f.pkg.Fset.Position(f.decl.Pos()), f.pkg.Fset.Position(f.decl.End())
	if to.Line-from.Line+1 >= leastLines {
		file, err := filepath.Rel(w.folder, from.Filename)
		if err != nil {
			file = from.Filename
		}
		w.steps = append(w.steps, step{depth, name, f.pkg.PkgPath, filepath.ToSlash(file), from.Line})
		depth++
	}
	b := body{walker: w, info: f.pkg.TypesInfo, depth: depth}
	b.follow(f.decl.Body)
	for _, call := range slices.Backward(b.deferred) {
		b.follow(call)
	}
}

// funcName returns the name of a function, for a method of an interface with the name
// of the interface.
func funcName(f *types.Func) string {
	name := f.Name()
	if recv := f.Signature().Recv(); recv != nil {
		t := recv.Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := t.(*types.Named); ok {
			name = n.Obj().Name() + "." + name
		}
	}
	if f.Pkg() == nil {
		return name // of error
	}
	return path.Base(f.Pkg().Path()) + "." + name
}

// A body is a function in which calls are followed.
type body struct {
	*walker
	info     *types.Info
	depth    int
	deferred []*ast.CallExpr
}

// follow visits the functions that n names, in the order in which they run. Function
// literals are part of the function that contains them.
func (b *body) follow(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeferStmt:
			b.deferred = append(b.deferred, n.Call)
			return false
		case *ast.CallExpr:
			b.followCall(n)
			return false
		case *ast.Ident:
			if f, ok := b.info.Uses[n].(*types.Func); ok {
				b.visit(b.implementation(f.Origin()), b.depth)
			}
		}
		return true
	})
}

// followCall visits arguments before the called function, and functions that are
// passed to it after it.
func (b *body) followCall(c *ast.CallExpr) {
	var passed []ast.Expr
	for _, arg := range c.Args {
		if b.isFunction(arg) {
			passed = append(passed, arg)
		} else {
			b.follow(arg)
		}
	}
	b.follow(c.Fun)
	for _, arg := range passed {
		b.follow(arg)
	}
}

// isFunction reports whether e is a function, not the result of a call.
func (b *body) isFunction(e ast.Expr) bool {
	if _, call := e.(*ast.CallExpr); call || b.info.TypeOf(e) == nil {
		return false
	}
	_, ok := b.info.TypeOf(e).Underlying().(*types.Signature)
	return ok
}

// implementation returns the name of f, or of the method that implements it.
func (w *walker) implementation(f *types.Func) string {
	name := funcName(f)
	if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		of := name[:len(name)-len(f.Name())-1]
		if impl, ok := w.impl[of]; ok {
			return impl + "." + f.Name()
		}
	}
	return name
}

// turns returns the indices of the steps to a place that the walk had left.
func turns(steps []step, place func(step) string) map[int]bool {
	back, been, last := make(map[int]bool), make(map[string]bool), ""
	for i, s := range steps {
		at := place(s)
		if been[at] && at != last {
			back[i] = true
		}
		been[at], last = true, at
	}
	return back
}
