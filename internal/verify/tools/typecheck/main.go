// Command typecheck checks the types of packages as they are on another system, their
// tests included.
//
//	go run ./typecheck [-for windows/amd64,linux/s390x] DIRECTORY [PACKAGE...]
//
// Without -for it is this system. It finds what go build finds, such as a symbol that a
// system lacks or a constant that overflows an int of 32 bits, in a fraction of the time:
// no machine code is generated, and the bodies of functions in other modules are not
// looked at. It exits with 1 if a package has an error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	systems := flag.String("for", runtime.GOOS+"/"+runtime.GOARCH, "systems, each as `GOOS/GOARCH`, with commas between them")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stderr, strings.Split(*systems, ","), flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}

// errFound is returned after the errors in packages have been printed.
var errFound = errors.New("packages have errors")

// run checks the packages, those of the whole module if none are named, for each system.
func run(out io.Writer, systems []string, directory string, patterns []string) error {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	found := 0
	for _, system := range systems {
		goos, goarch, ok := strings.Cut(system, "/")
		if !ok || goos == "" || goarch == "" {
			return fmt.Errorf("the system %q is not of the form GOOS/GOARCH, as in windows/amd64", system)
		}
		n, err := check(out, goos, goarch, directory, patterns)
		if err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		found += n
	}
	if found > 0 {
		return fmt.Errorf("%w: %d", errFound, found)
	}
	return nil
}

// check prints the errors of packages on a system, and returns their number.
func check(out io.Writer, goos, goarch, directory string, patterns []string) (int, error) {
	pkgs, err := packages.Load(&packages.Config{
		Dir:   directory,
		Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedModule,
		// Like go build for another system: there is no C compiler for it.
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
	}, patterns...)
	if err != nil {
		return 0, err
	}
	if len(pkgs) == 0 {
		return 0, fmt.Errorf("no packages match %s", strings.Join(patterns, " "))
	}
	found := 0
	for pkg := range packages.Postorder(pkgs) {
		for _, e := range pkg.Errors {
			found++
			fmt.Fprintf(out, "%s/%s: %s: %v\n", goos, goarch, pkg.PkgPath, e)
		}
	}
	return found, nil
}
