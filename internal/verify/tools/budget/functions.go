package main

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// function is where a function of a file is.
type function struct {
	name     string
	from, to int // lines
}

// functionsOf returns the functions and methods of a file, in its order. A closure belongs to the
// function that it stands in.
func functionsOf(file string) ([]function, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var functions []function
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			functions = append(functions, function{f.Name.Name, set.Position(f.Body.Lbrace).Line, set.Position(f.End()).Line})
		}
	}
	return functions, nil
}
