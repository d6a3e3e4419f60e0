package audit

import (
	"cmp"
	"go/ast"
	"slices"
)

// maxLongest is how many functions an analysis keeps, and the report shows.
// They must be the same number: the longest functions of all may well be in
// one package.
const maxLongest = 20

// Function is a function or method and how long it is.
type Function struct {
	// Name is Type.Method for a method.
	Name string `json:"name" validate:"required"`
	// File is slash-separated and relative to the audited directory.
	File string `json:"file" validate:"required"`
	Line int    `json:"line" validate:"gte=1"`
	// Lines counts from the signature to the closing brace, both included.
	Lines int `json:"lines" validate:"gte=1"`
}

// functions are the functions and methods that a file declares. A function
// literal is part of the one it is written in.
func (s *source) functions() []Function {
	var found []Function
	for _, decl := range s.file.Decls {
		if decl, ok := decl.(*ast.FuncDecl); ok {
			first, last := s.line(decl.Pos()), s.line(decl.End())
			found = append(found, Function{
				Name:  funcName(decl),
				File:  s.path,
				Line:  first,
				Lines: last - first + 1,
			})
		}
	}
	return found
}

// longest keeps the longest functions, longest first. It orders equals by
// place, which is the same on every run.
func longest(functions []Function) []Function {
	slices.SortFunc(functions, func(a, b Function) int {
		return cmp.Or(
			cmp.Compare(b.Lines, a.Lines),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Name, b.Name),
		)
	})
	kept := min(len(functions), maxLongest)
	return append([]Function{}, functions[:kept]...)
}

func funcName(decl *ast.FuncDecl) string {
	if base := receiver(decl); base != "" {
		return base + "." + decl.Name.Name
	}
	return decl.Name.Name
}

// receiver is the name of the type that a method belongs to. The parser lets
// through receivers that the compiler rejects; those have no name, and neither
// does the missing one of a function.
func receiver(decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return ""
	}
	expr := decl.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.ParenExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
