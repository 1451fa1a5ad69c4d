package main

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// A goModule is a module of the repository that users import.
type goModule struct {
	path string // github.com/informerkit/informerkit/informer/prometheus
	dir  string // informer/prometheus, or empty for the root
	// command is that it is one to be run by go run.
	command bool
	file    *modfile.File
	text    string // of go.mod
}

// tag is the name of the git tag that publishes a version of the module.
func (m goModule) tag(version string) string { return path.Join(m.dir, version) }

// publishedModules returns the root module and then the nested ones. Those below
// internal/ verify the project, and nothing can import them; those below examples/ are there to
// be copied.
func publishedModules(root string) ([]goModule, error) {
	files, err := output(root, "git", "ls-tree", "-r", "--name-only", "HEAD")
	if err != nil {
		return nil, err
	}
	var modules []goModule
	for file := range strings.Lines(files) {
		file = strings.TrimSpace(file)
		dir, base := path.Split(file)
		if base != "go.mod" || strings.HasPrefix(file, "internal/") || strings.HasPrefix(file, "examples/") || strings.Contains(file, "testdata/") {
			continue
		}
		text, err := output(root, "git", "show", "HEAD:"+file)
		if err != nil {
			return nil, err
		}
		parsed, err := modfile.Parse(file, []byte(text), nil)
		if err != nil {
			return nil, err
		}
		modules = append(modules, goModule{
			path: parsed.Module.Mod.Path, dir: strings.TrimSuffix(dir, "/"), file: parsed, text: text + "\n",
			command: strings.Contains("\n"+files+"\n", "\n"+dir+mainFile+"\n"),
		})
	}
	if len(modules) == 0 || modules[0].dir != "" {
		return nil, errors.New("the repository has no go.mod at its top")
	}
	return modules, nil
}

// checkRequirements reports what makes go get fail for others: a replace directive
// counts only within the repository.
func (r release) checkRequirements() error {
	var problems []error
	for _, m := range r.modules {
		for _, req := range m.file.Require {
			own := req.Mod.Path == r.modules[0].path || strings.HasPrefix(req.Mod.Path, r.modules[0].path+"/")
			if own && semver.Compare(req.Mod.Version, r.version) != 0 {
				problems = append(problems, fmt.Errorf("%s/go.mod requires %s %s: go -C %s mod edit -require=%s@%s",
					m.dir, req.Mod.Path, req.Mod.Version, m.dir, req.Mod.Path, r.version))
			}
		}
		for _, rep := range m.file.Replace {
			if !strings.HasPrefix(rep.Old.Path, r.modules[0].path) || rep.New.Version != "" {
				problems = append(problems, fmt.Errorf("%s/go.mod replaces %s, which has no effect for users", m.dir, rep.Old.Path))
			}
		}
	}
	return errors.Join(problems...)
}
