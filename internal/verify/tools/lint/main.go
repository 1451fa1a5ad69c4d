// Command lint checks every module of the repository with the linters of linters.go.
//
//	go -C internal/verify/tools run ./lint            all modules
//	go -C internal/verify/tools run ./lint DIRECTORY  the module there
//
// It is the tool of go vet -vettool: the go command runs it once per package, with the
// package's tests, keeps in the build cache what it found out about a package for those
// that import it, and does not look again at a package that is as it was. To suppress one
// finding, say why on its line: //nolint:LINTER // the reason.
//
// It exits with 1 if something was found.
package main

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	if isVet(os.Args[1:]) {
		beVetTool(os.Args[len(os.Args)-1])
	}
	directories := os.Args[1:]
	if len(directories) == 0 {
		var err error
		if directories, err = modules(filepath.Join("..", "..", "..")); err != nil {
			fail(err)
		}
	}
	found := false
	for _, directory := range directories {
		clean, err := check(directory, "./...")
		if err != nil {
			fail(err)
		}
		found = found || !clean
	}
	if found {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "lint:", err)
	os.Exit(2)
}

// isVet reports whether the go command has started this program, to ask for its version
// and flags, or for a package.
func isVet(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return strings.HasPrefix(last, "-V") || last == "-flags" || strings.HasSuffix(last, ".cfg")
}

// beVetTool does what the go command wants, and ends the program.
func beVetTool(last string) {
	analyzers := linters()
	if p := readPackage(last); p.VetxOnly {
		registerFacts(analyzers)
		analyzers = withFacts(analyzers, p.isOthers())
	}
	unitchecker.Main(analyzers...)
}

// vetPackage is what the go command says of the package that is to be checked.
type vetPackage struct {
	ImportPath string
	VetxOnly   bool // it is only imported by those that are checked: nothing but facts is wanted
}

func readPackage(file string) (p vetPackage) {
	if data, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(data, &p) // the unitchecker reads it again, and reports errors
	}
	return p
}

// isOthers reports whether the package is neither of the repository nor of the standard library,
// whose import paths have no dot in the first element.
func (p vetPackage) isOthers() bool {
	first, _, _ := strings.Cut(p.ImportPath, "/")
	return strings.Contains(first, ".") && !strings.HasPrefix(p.ImportPath+"/", "github.com/informerkit/informerkit/")
}

// withFacts returns the analyzers, and those that they require, that export facts. The
// unitchecker would run all that use facts, most of them to find faults that nothing prints.
//
// Of others' packages, of which there are a thousand, no facts are collected that need an
// intermediate representation of their functions: that one has no effect but its result, that it
// never returns nil, or that it takes pairs of arguments. So the checks that use those
// (S1011, SA4017, SA4018, SA4023, SA5012) know the functions of the standard library and ours.
func withFacts(analyzers []*analysis.Analyzer, others bool) []*analysis.Analyzer {
	var all []*analysis.Analyzer
	seen := map[*analysis.Analyzer]bool{}
	for _, a := range everything(analyzers) {
		if !seen[a] && len(a.FactTypes) > 0 && !(others && slices.ContainsFunc(everything(a.Requires), isIntermediate)) {
			all = append(all, a)
		}
		seen[a] = true
	}
	return all
}

// isIntermediate reports whether an analyzer builds the intermediate representation of a package.
func isIntermediate(a *analysis.Analyzer) bool { return a.Name == "buildir" || a.Name == "buildssa" }

// everything returns the analyzers and those that they require, some of them more than once.
func everything(analyzers []*analysis.Analyzer) (all []*analysis.Analyzer) {
	for _, a := range analyzers {
		all = append(append(all, a), everything(a.Requires)...)
	}
	return all
}

// registerFacts lets all facts be read: those of a package that is imported may be of analyzers
// that do not run.
func registerFacts(analyzers []*analysis.Analyzer) {
	for _, a := range everything(analyzers) {
		for _, fact := range a.FactTypes {
			gob.Register(fact)
		}
	}
}

// modules returns the folders of the modules that have packages: some only pin the
// versions of programs.
func modules(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.Name() != "go.mod":
			return nil
		}
		list := exec.Command("go", "list", "./...")
		list.Dir = filepath.Dir(path)
		packages, err := list.Output()
		if err != nil {
			return fmt.Errorf("go list in %s: %w", list.Dir, err)
		}
		if len(packages) > 0 {
			found = append(found, list.Dir)
		}
		return nil
	})
	return found, err
}

// check runs go vet on packages, as seen from a directory, and reports whether nothing was found.
func check(directory string, patterns ...string) (clean bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	fmt.Fprintln(os.Stderr, "lint", directory)
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + self}, patterns...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = directory, os.Stdout, os.Stderr
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return false, nil
	}
	return err == nil, err
}
