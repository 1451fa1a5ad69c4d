package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// runner runs the tests of programs.
type runner struct{ root, tmp, adopt, both string }

// compare runs the tests of a program with both kinds of informers, and prints its row.
func (r runner) compare(ctx context.Context, p program) (err error) {
	dir, err := r.unpack(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	theirs, ours, err := r.test(ctx, p, dir)
	if err != nil {
		return err
	}
	same := 0
	for test := range theirs.passed {
		if ours.passed[test] {
			same++
		}
	}
	fmt.Printf("| %s %s `%s` | %d | %d | %d |\n", p.name, p.version, strings.Join(p.packages, " "), len(theirs.passed), same, len(theirs.passed)-same)
	return errors.Join(p.difference(theirs, ours)...)
}

// unpack copies the module out of the module cache, and returns the folder.
func (r runner) unpack(ctx context.Context, p program) (string, error) {
	text, err := output(ctx, r.tmp, "go", "mod", "download", "-json", p.module+"@"+p.version)
	if err != nil {
		return "", err
	}
	var m struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return "", err
	}
	dir := filepath.Join(r.tmp, p.name)
	if err := os.CopyFS(dir, os.DirFS(m.Dir)); err != nil {
		return "", err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode()|0o200)
	})
	if err != nil || p.staging == "" {
		return dir, err
	}
	text, err = output(ctx, dir, "go", "mod", "edit", "-json")
	if err != nil {
		return "", err
	}
	edits, err := publishedModules([]byte(text), p.staging)
	if err != nil {
		return "", err
	}
	_, err = output(ctx, dir, append([]string{"go", "mod", "edit"}, edits...)...)
	return dir, err
}

// publishedModules returns the edits of a go.mod, which is given as go mod edit -json prints
// it, that replace the modules below ./staging by the published ones of a version.
func publishedModules(mod []byte, version string) ([]string, error) {
	var parsed struct {
		Replace []struct{ Old, New struct{ Path string } }
	}
	if err := json.Unmarshal(mod, &parsed); err != nil {
		return nil, err
	}
	var edits []string
	for _, r := range parsed.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			edits = append(edits, "-replace="+r.Old.Path+"="+r.Old.Path+"@"+version)
		}
	}
	return edits, nil
}

// test runs the tests with client-go's informers and with ours. One package runs at a time, as
// tests of timing fail on a busy machine.
func (r runner) test(ctx context.Context, p program, dir string) (theirs, ours results, err error) {
	recorded, err := os.MkdirTemp(r.tmp, "recorded-*")
	if err != nil {
		return theirs, ours, err
	}
	env := append(os.Environ(), "GOWORK=off") // a module of the proxy may have a go.work that names modules which are not in it
	args := []string{"test", "-p=1", "-count=1", "-timeout=1h", "-vet=off", "-json", "-exec=" + r.both + " " + recorded + " 10m"}
	args = append(args, p.packages...)
	if p.apiServer {
		assets, err := r.apiServer(ctx)
		if err != nil {
			return theirs, ours, err
		}
		env, args = append(env, assets...), append(args, ginkgoFlags...)
	}
	tool := r.adopt
	if len(p.newCache) > 0 {
		if err := r.useNewCache(ctx, p, dir); err != nil {
			return theirs, ours, err
		}
		tool, env = "go", append(env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod")
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir, cmd.Env = dir, env
	// The command removes its own folder then.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return theirs, ours, err
	}
	if err := cmd.Start(); err != nil {
		return theirs, ours, err
	}
	ours, err = readResults(stdout, func(pkg, action string, seconds float64) {
		fmt.Fprintf(os.Stderr, "%s %s, both in %.1f s\n", action, pkg, seconds)
	})
	var exit *exec.ExitError
	if failed := cmd.Wait(); failed != nil && !errors.As(failed, &exit) {
		err = errors.Join(err, failed)
	}
	if err := errors.Join(err, context.Cause(ctx)); err != nil {
		return theirs, ours, err
	}
	theirs, err = readRecorded(ctx, recorded, dir, p.module)
	if p.apiServer {
		err = errors.Join(err, addSpecs(theirs, "off", dir, p.module), addSpecs(ours, "on", dir, p.module))
	}
	if err == nil && len(theirs.passed) == 0 {
		err = fmt.Errorf("no test has passed with client-go's informers: %s", stderr.String())
	}
	return theirs, ours, err
}

// apiServer builds the kube-apiserver and etcd of the end-to-end tests, and returns the
// variables by which envtest finds them.
func (r runner) apiServer(ctx context.Context) ([]string, error) {
	paths, err := output(ctx, filepath.Join(r.root, "internal", "verify", "e2e"), "go", "run", "./cmd/controlplane", "-build")
	if err != nil {
		return nil, err
	}
	env := []string{"KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=2m"}
	for _, file := range strings.Split(paths, "\n") {
		for prefix, variable := range map[string]string{"etcd-": "TEST_ASSET_ETCD", "kube-apiserver-": "TEST_ASSET_KUBE_APISERVER"} {
			if strings.HasPrefix(filepath.Base(file), prefix) {
				env = append(env, variable+"="+file)
			}
		}
	}
	return env, nil
}

// readRecorded reads the files of a folder, which the command both has written for the
// packages of a module that is in dir.
func readRecorded(ctx context.Context, folder, dir, module string) (results, error) {
	all := results{passed: map[string]bool{}, failed: map[string]string{}}
	files, err := os.ReadDir(folder)
	if err != nil {
		return all, err
	}
	for _, file := range files {
		name, err := url.PathUnescape(file.Name())
		if err != nil {
			return all, err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return all, err
		}
		one, err := readOutput(ctx, filepath.Join(folder, file.Name()), path.Join(module, filepath.ToSlash(below)))
		if err != nil {
			return all, err
		}
		maps.Copy(all.passed, one.passed)
		maps.Copy(all.failed, one.failed)
	}
	return all, nil
}

// readOutput reads what the test binary of a package has printed.
func readOutput(ctx context.Context, file, pkg string) (results, error) {
	printed, err := os.Open(file)
	if err != nil {
		return results{}, err
	}
	defer printed.Close()
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-p", pkg)
	cmd.Stdin = printed
	events, err := cmd.Output()
	if err != nil {
		return results{}, err
	}
	return readResults(bytes.NewReader(events), func(string, string, float64) {})
}
