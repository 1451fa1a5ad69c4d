package main

import (
	"slices"
	"strings"

	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inline"
	"golang.org/x/tools/go/analysis/suite/vet"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/config"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// notOfStaticcheck are those of its checks that revive makes, too, and ST1013, against
// the numbers of HTTP status codes.
var notOfStaticcheck = []string{"ST1000", "ST1003", "ST1013", "ST1016", "ST1020", "ST1021", "ST1022"}

// uncheckedErrors are of functions after whose failure there is nothing left to do: closing
// what was only read or is given up, removing what is in nobody's way, printing to a terminal.
var uncheckedErrors = []string{
	"(io.Closer).Close",
	"(io.ReadCloser).Close",
	"(net.Conn).Close",
	"(net.Listener).Close",
	"(*os.File).Close",
	"os.Remove",
	"os.RemoveAll",
	"fmt.Fprint",
	"fmt.Fprintf",
	"fmt.Fprintln",
}

// linters returns what the packages are checked with. Their findings name the linter, and
// //nolint suppresses them.
func linters() []*analysis.Analyzer {
	// All of staticcheck's checks share one configuration, which could be a file.
	config.Analyzer.Run = func(*analysis.Pass) (any, error) { return &config.DefaultConfig, nil }
	errcheck.DefaultExcludedSymbols = append(errcheck.DefaultExcludedSymbols, uncheckedErrors...)

	var all []*analysis.Analyzer
	add := func(linter string, analyzers ...*analysis.Analyzer) {
		for _, a := range analyzers {
			all = append(all, suppressible(linter, a))
		}
	}
	add("govet", vet.Suite...)
	add("govet", inline.Analyzer) // which go fix has
	for _, checks := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, check := range checks {
			if !slices.Contains(notOfStaticcheck, check.Analyzer.Name) {
				add("staticcheck", check.Analyzer)
			}
		}
	}
	add("unused", unusedCode)
	add("errcheck", errcheck.Analyzer)
	add("ineffassign", ineffassign.Analyzer)
	add("misspell", misspelling)
	add("revive", reviveRules, unexportedReturn)
	return all
}

// name returns what the finding of an analyzer is called in the output.
func name(linter string, a *analysis.Analyzer) string {
	if strings.EqualFold(linter, a.Name) {
		return linter
	}
	return linter + " " + a.Name
}
