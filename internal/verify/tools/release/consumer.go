package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// checkConsumers fetches every module into an empty one, as a user does.
func (r release) checkConsumers() error {
	tree := filepath.Join(r.work, "proxy")
	if err := r.writeProxy(tree); err != nil {
		return err
	}
	env, err := r.environment(tree)
	if err != nil {
		return err
	}
	var problems []error
	for i, m := range r.modules {
		if err := r.checkConsumer(filepath.Join(r.work, fmt.Sprintf("consumer%d", i)), m, env); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", m.path, err))
		}
	}
	return errors.Join(problems...)
}

// environment is that of a user who has nothing yet but Go.
func (r release) environment(tree string) ([]string, error) {
	known, err := output(r.root, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return nil, err
	}
	cache, proxy, _ := strings.Cut(known, "\n")
	commit, err := output(r.root, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	return append(os.Environ(),
		// The go command remembers what is in a folder of a module cache, as versions do
		// not change. Another commit needs another folder.
		"GOMODCACHE="+filepath.Join(r.work, "modcache-"+commit),
		"GOPROXY=file://"+filepath.ToSlash(tree)+",file://"+filepath.ToSlash(filepath.Join(cache, "cache", "download"))+","+proxy,
		"GONOSUMDB="+r.modules[0].path+","+r.modules[0].path+"/*", // the checksum database has not seen them
		// Folders of the module cache are not part of what is built, so that the build
		// cache helps from one check to the next. Without cgo it also has what an image of
		// the examples is built from. The linters include vet; here it would need to read all
		// dependencies.
		"GOFLAGS=-trimpath -modcacherw -vet=off",
		"CGO_ENABLED=0",
		"GOWORK=off",
	), nil
}

// checkConsumer runs the programs that show how to use a module: README's for the
// root, the examples of a nested one, and a command's on a program.
func (r release) checkConsumer(dir string, m goModule, env []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	programs, err := r.programs(m)
	if err != nil {
		return err
	}
	for _, p := range programs {
		text, err := output(r.root, "git", "show", "HEAD:"+p)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, path.Base(p))
		if path.Base(p) == mainFile { // a program: each in a folder of its own
			to = filepath.Join(dir, path.Base(path.Dir(p)), mainFile)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(to, []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	steps := [][]string{
		{"mod", "init", "example.com/consumer"},
		{"get", m.path + "@" + r.version},
		{"mod", "tidy"},
		{"list", "-m", m.path},
	}
	switch {
	case m.command:
		// A user runs it without requiring it, on a program that uses client-go.
		steps = [][]string{
			{"mod", "init", "example.com/consumer"},
			{"get", clientGo + "@" + r.clientGoVersion()},
			{"mod", "tidy"},
			{"run", m.path + "@" + r.version, "run", "./" + path.Base(path.Dir(programs[0]))},
		}
	case m.dir != "":
		steps = append(steps, []string{"test", "-v", "-run", "^Example", "./..."})
	default:
		for _, p := range programs {
			steps = append(steps, []string{"run", "./" + path.Base(path.Dir(p))})
		}
	}
	for _, args := range steps {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		switch args[0] {
		case "list":
			if want := m.path + " " + r.version; strings.TrimSpace(string(out)) != want {
				return fmt.Errorf("%q was selected instead of %q", strings.TrimSpace(string(out)), want)
			}
		case "run":
			fmt.Printf("  %s@%s: fetched, %s ran\n", m.path, r.version, args[len(args)-1])
		case "test":
			ran := strings.Count(string(out), "--- PASS: Example")
			if ran == 0 {
				return fmt.Errorf("no example ran:\n%s", out)
			}
			fmt.Printf("  %s@%s: fetched, %d examples ran\n", m.path, r.version, ran)
		}
	}
	return nil
}

// mainFile is the file of a program: one of README, or one that a command is run on.
const mainFile = "main.go"

const clientGo = "k8s.io/client-go"

// clientGoVersion is the oldest that the modules require.
func (r release) clientGoVersion() string {
	for _, req := range r.modules[0].file.Require {
		if req.Mod.Path == clientGo {
			return req.Mod.Version
		}
	}
	return "latest"
}

// programs returns the files that show how to use a module.
func (r release) programs(m goModule) ([]string, error) {
	list := []string{"ls-tree", "--name-only", "HEAD", m.dir + "/"}
	patterns := []string{"example_test.go", "example_*_test.go"}
	switch {
	case m.command:
		list = []string{"ls-tree", "-r", "--name-only", "HEAD", m.dir + "/testdata/"}
		patterns = []string{mainFile}
	case m.dir == "":
		list = []string{"ls-tree", "-r", "--name-only", "HEAD", "internal/verify/readme/"}
		patterns = []string{mainFile}
	}
	files, err := output(r.root, "git", list...)
	if err != nil {
		return nil, err
	}
	var found []string
	for file := range strings.Lines(files) {
		file = strings.TrimSpace(file)
		for _, pattern := range patterns {
			if ok, err := path.Match(pattern, path.Base(file)); err != nil {
				return nil, err
			} else if ok {
				found = append(found, file)
				break
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("module %s has no %s", m.path, strings.Join(patterns, " and no "))
	}
	return found, nil
}
