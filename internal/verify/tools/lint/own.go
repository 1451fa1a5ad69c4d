package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"strings"

	"github.com/golangci/misspell"
	"github.com/mgechev/revive/lint"
	"github.com/mgechev/revive/rule"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// The linters that are no analyzers, or not as they are needed here.

// unusedCode reports what staticcheck's unused finds.
var unusedCode = &analysis.Analyzer{
	Name:     "unused",
	Doc:      unused.Analyzer.Analyzer.Doc,
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		for _, object := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
			if object.Kind != "type param" {
				report(pass, object.Position, fmt.Sprintf("%s %s is unused", object.Kind, object.Name))
			}
		}
		return nil, nil
	},
}

// misspelling reports words that are known misspellings, in comments, strings and names.
var misspelling = &analysis.Analyzer{
	Name: "misspell",
	Doc:  "finds commonly misspelled English words",
	Run: func(pass *analysis.Pass) (any, error) {
		replacer := misspell.Replacer{Replacements: misspell.DictMain}
		replacer.Compile()
		for _, f := range pass.Files {
			file := pass.Fset.File(f.Pos())
			content, err := pass.ReadFile(file.Name())
			if err != nil {
				return nil, err
			}
			_, diffs := replacer.Replace(string(content))
			for _, d := range diffs {
				pass.Reportf(file.LineStart(d.Line)+token.Pos(d.Column), "%s is a misspelling of %s", d.Original, d.Corrected)
			}
		}
		return nil, nil
	},
}

// reviveRules are revive's on the documentation of what is exported, and a few more: where
// staticcheck has a rule of the kind, it makes up for what it lacks.
var reviveRules = &analysis.Analyzer{
	Name: "revive",
	Doc:  "runs the rules of revive that need no types",
	Run: func(pass *analysis.Pass) (any, error) {
		rules := []lint.Rule{
			&rule.ExportedRule{}, &rule.PackageCommentsRule{}, &rule.ErrorNamingRule{}, &rule.ErrorStringsRule{},
			&rule.ReceiverNamingRule{}, &rule.ContextAsArgumentRule{}, &rule.DotImportsRule{},
			&rule.SuperfluousElseRule{}, &rule.IndentErrorFlowRule{},
		}
		config := lint.Config{Rules: lint.RulesConfig{}}
		for _, r := range rules {
			var arguments lint.Arguments
			if r.Name() == "exported" {
				arguments = lint.Arguments{"disableStutteringCheck"}
			}
			config.Rules[r.Name()] = lint.RuleConfig{Arguments: arguments}
			if r, ok := r.(lint.ConfigurableRule); ok {
				if err := r.Configure(arguments); err != nil {
					return nil, err
				}
			}
		}
		var names []string
		for _, f := range pass.Files {
			names = append(names, pass.Fset.File(f.Pos()).Name())
		}
		revive := lint.New(os.ReadFile, 0)
		failures, err := revive.Lint([][]string{names}, rules, config)
		if err != nil {
			return nil, err
		}
		for f := range failures {
			if f.Confidence >= 0.8 { // revive's default
				report(pass, f.Position.Start, f.RuleName+": "+f.Failure)
			}
		}
		return nil, nil
	},
}

// report reports a finding at a position of another file set.
func report(pass *analysis.Pass, at token.Position, message string) {
	for _, f := range pass.Files {
		if file := pass.Fset.File(f.Pos()); file.Name() == at.Filename {
			pass.Reportf(file.LineStart(at.Line)+token.Pos(at.Column-1), "%s", message)
			return
		}
	}
}

// unexportedReturn is revive's rule of this name, which does not know the types of
// packages that are imported.
var unexportedReturn = &analysis.Analyzer{
	Name: "unexportedreturn",
	Doc:  "finds exported functions that return unexported types",
	Run: func(pass *analysis.Pass) (any, error) {
		if pass.Pkg.Name() == "main" {
			return nil, nil
		}
		for _, f := range pass.Files {
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || !fn.Name.IsExported() || fn.Type.Results == nil || isTest(pass.Fset, f) || ofUnexported(pass, fn) {
					continue
				}
				for _, result := range fn.Type.Results.List {
					if typ := pass.TypesInfo.TypeOf(result.Type); !isExported(typ) {
						pass.Reportf(result.Pos(), "exported %s returns unexported type %s, which can be annoying to use", fn.Name.Name, typ)
						break
					}
				}
			}
		}
		return nil, nil
	},
}

func isTest(fset *token.FileSet, f *ast.File) bool {
	return strings.HasSuffix(fset.File(f.Pos()).Name(), "_test.go")
}

// ofUnexported reports whether a function is a method of a type that is not exported.
func ofUnexported(pass *analysis.Pass, fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return false
	}
	typ := pass.TypesInfo.TypeOf(fn.Recv.List[0].Type)
	if pointer, ok := typ.(*types.Pointer); ok {
		typ = pointer.Elem()
	}
	named, ok := typ.(*types.Named)
	return ok && !named.Obj().Exported()
}

// isExported reports whether other packages can name a type, and is true for types
// without a name, but for maps and what else has elements.
func isExported(typ types.Type) bool {
	switch t := typ.(type) {
	case *types.Alias:
		return t.Obj().Pkg() == nil || t.Obj().Exported()
	case *types.Named:
		return t.Obj().Pkg() == nil || t.Obj().Exported()
	case *types.Map:
		return isExported(t.Key()) && isExported(t.Elem())
	case interface{ Elem() types.Type }:
		return isExported(t.Elem())
	}
	return true
}
