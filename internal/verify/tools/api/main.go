// Command api keeps the exported API of each package as a text file beside it,
// api.txt, so that a change of the API is seen in review.
//
//	go -C internal/verify/tools run ./api          compares the files with the code
//	go -C internal/verify/tools run ./api -write   updates the files
//
// It exits with 1 if a file does not say what the code does.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	write := flag.Bool("write", false, "update the files")
	root := flag.String("root", "../../..", "the root of the repository")
	flag.Parse()
	same, err := run(*root, *write)
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
	if !same {
		fmt.Fprintln(os.Stderr, "The exported API differs from what is written down. If that is wanted, run: go -C internal/verify/tools run ./api -write")
		os.Exit(1)
	}
}

// run compares the files of all packages with the code, or writes them.
func run(root string, write bool) (same bool, err error) {
	modules, err := modulesOf(root)
	if err != nil {
		return false, err
	}
	same = true
	for _, module := range modules {
		apis, err := load(module)
		if err != nil {
			return false, err
		}
		for folder, api := range apis {
			file := filepath.Join(folder, "api.txt")
			if !write {
				same = compare(file, api) && same
			} else if err := os.WriteFile(file, []byte(api), 0o644); err != nil {
				return false, err
			}
		}
	}
	return same, nil
}

// modulesOf returns the folders of the modules that others may require.
func modulesOf(root string) ([]string, error) {
	var modules []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "internal" || name == "testdata" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case name == "go.mod":
			modules = append(modules, filepath.Dir(path))
		}
		return nil
	})
	return modules, err
}

// compare reports whether a file says what the API is, and prints the lines by which
// they differ.
func compare(file, api string) bool {
	kept, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		return false
	}
	if string(kept) == api {
		return true
	}
	fmt.Fprintln(os.Stderr, file)
	printMissing("-", string(kept), api)
	printMissing("+", api, string(kept))
	return false
}

// printMissing prints the lines of a text that another one does not have.
func printMissing(mark, text, other string) {
	have := map[string]int{}
	for line := range strings.Lines(other) {
		have[line]++
	}
	for line := range strings.Lines(text) {
		if have[line]--; have[line] < 0 {
			fmt.Fprint(os.Stderr, mark, " ", line)
		}
	}
}
