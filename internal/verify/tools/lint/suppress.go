package main

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// suppressible makes an analyzer report only what nothing suppresses, with the linter's name.
func suppressible(linter string, a *analysis.Analyzer) *analysis.Analyzer {
	run := a.Run
	a.Requires = append(slices.Clip(a.Requires), suppressed)
	a.Run = func(pass *analysis.Pass) (any, error) {
		compute := pass.ResultOf[suppressed].(func() suppressions)
		reporting := *pass
		reporting.Report = func(d analysis.Diagnostic) {
			if !compute().suppress(linter, pass.Fset.Position(d.Pos)) {
				d.Message += " (" + name(linter, a) + ")"
				pass.Report(d)
			}
		}
		return run(&reporting)
	}
	return a
}

// suppressed returns the suppressions of a package. They are computed when there is a finding.
var suppressed = &analysis.Analyzer{
	Name:       "suppressed",
	Doc:        "finds generated files and //nolint comments",
	ResultType: reflect.TypeFor[func() suppressions](),
	Run: func(pass *analysis.Pass) (any, error) {
		return sync.OnceValue(func() suppressions { return suppressionsOf(pass.Fset, pass.Files) }), nil
	},
}

// suppressions are those of a package.
type suppressions struct {
	generated []string // files
	nolint    []nolint
}

// nolint suppresses the findings of linters, of all if it names none, in some lines.
type nolint struct {
	file     string
	from, to int
	column   int
	linters  []string
}

// Examples show the one thing that they are about.
var isExample = regexp.MustCompile(`example_.*_test\.go$`)

func (s suppressions) suppress(linter string, at token.Position) bool {
	if slices.Contains(s.generated, at.Filename) {
		return true
	}
	if linter == "errcheck" && isExample.MatchString(filepath.Base(at.Filename)) {
		return true
	}
	return slices.ContainsFunc(s.nolint, func(n nolint) bool {
		return n.file == at.Filename && n.from <= at.Line && at.Line <= n.to &&
			(len(n.linters) == 0 || slices.Contains(n.linters, linter))
	})
}

func suppressionsOf(fset *token.FileSet, files []*ast.File) suppressions {
	var s suppressions
	for _, f := range files {
		if ast.IsGenerated(f) {
			s.generated = append(s.generated, fset.Position(f.Package).Filename)
			continue
		}
		var comments []nolint
		for _, group := range f.Comments {
			for _, c := range group.List {
				if linters, ok := parseNolint(c.Text); ok {
					start := fset.Position(group.Pos())
					comments = append(comments, nolint{start.Filename, start.Line, fset.Position(group.End()).Line, start.Column, linters})
				}
			}
		}
		s.nolint = append(s.nolint, comments...)
		s.nolint = append(s.nolint, below(fset, f, comments)...)
	}
	return s
}

// parseNolint returns the linters of a comment //nolint:a,b // the reason.
func parseNolint(comment string) (linters []string, ok bool) {
	text, ok := strings.CutPrefix(strings.TrimLeft(comment, "/ "), "nolint")
	if !ok || text != "" && text[0] != ':' && text[0] != ' ' {
		return nil, false
	}
	text, _, _ = strings.Cut(text, "//")
	names, ok := strings.CutPrefix(text, ":")
	if !ok {
		return nil, true
	}
	for linter := range strings.SplitSeq(names, ",") {
		linters = append(linters, strings.TrimSpace(linter))
	}
	return linters, true
}

// below returns the lines of what begins right below a comment, in its column: a comment
// above a function is for all of the function.
func below(fset *token.FileSet, f *ast.File, comments []nolint) []nolint {
	if len(comments) == 0 {
		return nil
	}
	var lines []nolint
	ast.Inspect(f, func(node ast.Node) bool {
		if node == nil {
			return true
		}
		start := fset.Position(node.Pos())
		for _, c := range comments {
			if c.to == start.Line-1 && c.column == start.Column {
				c.to = fset.Position(node.End()).Line
				lines = append(lines, c)
			}
		}
		return true
	})
	return lines
}
