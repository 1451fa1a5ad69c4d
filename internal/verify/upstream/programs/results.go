package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// results are the tests of one run by name, "package Test/subtest".
type results struct {
	passed map[string]bool
	// failed has what a failed test or package has printed.
	failed map[string]string
}

// wholePackage is the name of what a package reports of itself, for example that it does
// not compile.
const wholePackage = "(the package)"

// readResults reads the output of go test -json. Each finished package is reported to
// progress.
func readResults(r io.Reader, progress func(pkg, action string, seconds float64)) (results, error) {
	all := results{passed: map[string]bool{}, failed: map[string]string{}}
	output := map[string]string{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var event struct {
			Action, Package, ImportPath, Test, Output string
			Elapsed                                   float64
		}
		if json.Unmarshal(line, &event) == nil { // else of a test that writes to the standard output itself
			name := cmp.Or(event.Package, event.ImportPath) + " " + cmp.Or(event.Test, wholePackage)
			switch event.Action {
			case "output", "build-output":
				output[name] += event.Output
			case "fail", "build-fail":
				all.failed[name] = output[name]
				delete(output, name)
			case "pass":
				delete(output, name)
				if event.Test != "" {
					all.passed[name] = true
				}
			}
			if event.Test == "" && slices.Contains([]string{"pass", "fail"}, event.Action) {
				progress(event.Package, event.Action, event.Elapsed)
			}
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// listed are the names of the tests that are known to differ, in order.
func (p program) listed() []string { return slices.Sorted(maps.Keys(p.differs)) }

// difference describes what a program's tests do with our informers and not with
// client-go's, and is nil if it is as listed.
func (p program) difference(theirs, ours results) []error {
	var errs []error
	for _, test := range slices.Sorted(maps.Keys(theirs.passed)) {
		_, listed := p.differs[test]
		switch {
		case ours.passed[test] && listed:
			errs = append(errs, fmt.Errorf("%s passes, and is listed as one that does not", test))
		case !ours.passed[test] && !listed:
			errs = append(errs, fmt.Errorf("%s does not pass\n%s", test, lastLines(ours.failed[test], 40)))
		}
	}
	for _, test := range p.listed() {
		if !theirs.passed[test] {
			errs = append(errs, fmt.Errorf("%s is listed, and does not pass with client-go's informers either", test))
		}
	}
	return errs
}

// lastLines returns the end of a text.
func lastLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
