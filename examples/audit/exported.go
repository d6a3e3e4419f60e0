package audit

import (
	"go/ast"
	"go/token"
)

// exportedName is a name that other packages can use.
type exportedName struct {
	kind       Kind
	name       string
	line       int
	documented bool
}

// exported are the names that a file offers to other packages: functions,
// methods of exported types, types, constants and variables. Fields of structs
// and methods of interfaces belong to the documentation of their type and are
// not counted. A program offers nothing, whatever its names look like.
func (s *source) exported() []exportedName {
	if s.isProgram() {
		return nil
	}
	var names []exportedName
	for _, decl := range s.file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, s.exportedFunc(decl)...)
		case *ast.GenDecl:
			names = append(names, s.exportedGroup(decl)...)
		}
	}
	return names
}

func (s *source) exportedFunc(decl *ast.FuncDecl) []exportedName {
	kind := KindFunc
	if decl.Recv != nil {
		kind = KindMethod
		if !ast.IsExported(receiver(decl)) {
			return nil
		}
	}
	if !decl.Name.IsExported() {
		return nil
	}
	return []exportedName{{
		kind:       kind,
		name:       funcName(decl),
		line:       s.line(decl.Name.Pos()),
		documented: hasText(decl.Doc),
	}}
}

func (s *source) exportedGroup(decl *ast.GenDecl) []exportedName {
	var names []exportedName
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			documented := hasText(decl.Doc) || hasText(spec.Doc)
			names = s.appendExported(names, KindType, documented, spec.Name)
		case *ast.ValueSpec:
			// A comment at the end of the line is how a constant is often
			// explained, and go doc shows it.
			documented := hasText(decl.Doc) || hasText(spec.Doc) || hasText(spec.Comment)
			names = s.appendExported(names, valueKind(decl.Tok), documented, spec.Names...)
		}
	}
	return names
}

func (s *source) appendExported(names []exportedName, kind Kind, documented bool, idents ...*ast.Ident) []exportedName {
	for _, ident := range idents {
		if ident.IsExported() {
			names = append(names, exportedName{
				kind:       kind,
				name:       ident.Name,
				line:       s.line(ident.Pos()),
				documented: documented,
			})
		}
	}
	return names
}

func valueKind(tok token.Token) Kind {
	if tok == token.CONST {
		return KindConst
	}
	return KindVar
}

// hasText is false for a comment that only speaks to tools, such as
// //go:noinline, which says nothing to a reader.
func hasText(doc *ast.CommentGroup) bool {
	return doc.Text() != ""
}
