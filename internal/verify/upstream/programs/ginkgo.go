package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ginkgoFlags make a test binary of Ginkgo write a report for each kind of informers. The
// command both replaces KIND.
var ginkgoFlags = []string{"-args", "-ginkgo.seed=1", "-ginkgo.json-report=informerkit-KIND.json"}

// addSpecs adds the specs of Ginkgo's reports in a module's folder to the results of its
// tests. A Go test of Ginkgo has any number of them.
func addSpecs(all results, kind, dir, module string) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "informerkit-"+kind+".json" {
			return err
		}
		below, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return readSpecs(all, path.Join(module, filepath.ToSlash(below)), text)
	})
}

// readSpecs adds the specs of a report of Ginkgo to the results.
func readSpecs(all results, pkg string, report []byte) error {
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
			CapturedGinkgoWriterOutput        string
			Failure                           struct{ Message string }
		}
	}
	if err := json.Unmarshal(report, &suites); err != nil {
		return err
	}
	count := map[string]int{}
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType != "It" {
				continue
			}
			name := pkg + " " + strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			if count[name]++; count[name] > 1 { // names need not be unique
				name += fmt.Sprintf(" #%d", count[name])
			}
			switch spec.State {
			case "passed":
				all.passed[name] = true
			case "skipped", "pending":
			default:
				all.failed[name] = spec.CapturedGinkgoWriterOutput + spec.Failure.Message + "\n"
			}
		}
	}
	return nil
}
