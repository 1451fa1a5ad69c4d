package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// load returns the API of the packages of a module that others may import, by their
// folders. The compiler's export data has all that is needed, names of parameters
// included.
func load(module string) (map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{if not .DepOnly}}{{.Name}}{{end}}\t{{.Dir}}", "./...")
	cmd.Dir = module
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", module, err, stderr.String())
	}
	exports, folders := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		path, export, name, folder := parts[0], parts[1], parts[2], parts[3]
		exports[path] = export
		if name != "" && name != "main" && !hidden(path) {
			folders[path] = folder
		}
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if file := exports[path]; file != "" {
			return os.Open(file)
		}
		return nil, errors.New("no export data for " + path)
	})
	apis := map[string]string{}
	for path, folder := range folders {
		pkg, err := imports.Import(path)
		if err != nil {
			return nil, err
		}
		apis[folder] = describe(pkg)
	}
	return apis, nil
}

// hidden reports whether a package is no part of the API: internal ones, and examples,
// which are to be copied.
func hidden(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return part == "internal" || part == "examples" })
}
