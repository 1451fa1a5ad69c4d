package samplecontroller

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module  = "k8s.io/sample-controller"
	library = "github.com/informerkit/informerkit"
	// version is the one that clientgo's go.mod requires; replace directives decide.
	version = "v0.1.0"
)

// rewired has the imports that change: in which file, which package, and which folder
// of this package takes its place.
var rewired = []struct{ file, from, to string }{
	{"main.go", "k8s.io/client-go/informers", "informers"},
	{"controller.go", "k8s.io/client-go/util/workqueue", "workqueue"},
	{"pkg/generated/informers/externalversions/samplecontroller/v1alpha1/foo.go", "k8s.io/client-go/tools/cache", "cache"},
}

// Assemble builds sample-controller on the adapters in the folder dir, which is empty,
// and returns the path of the program. root is the top of the repository. The versions
// are those that controlplane/samplecontroller pins.
func Assemble(ctx context.Context, dir, root string) (string, error) {
	pinned := filepath.Join(root, "internal", "verify", "e2e", "controlplane", "samplecontroller")
	source, err := command(ctx, pinned, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return "", err
	}
	for _, r := range rewired {
		text, err := os.ReadFile(filepath.Join(dir, r.file))
		if err != nil {
			return "", err
		}
		// With the quotes, so that packages below it stay client-go's.
		from, to := fmt.Sprintf("%q", r.from), fmt.Sprintf("%q", module+"/"+r.to)
		if n := bytes.Count(text, []byte(from)); n != 1 {
			return "", fmt.Errorf("%s of %s imports %s %d times, not once", r.file, module, from, n)
		}
		if err := os.WriteFile(filepath.Join(dir, r.file), bytes.Replace(text, []byte(from), []byte(to), 1), 0o644); err != nil {
			return "", err
		}
		wiring := os.DirFS(filepath.Join(root, "internal", "verify", "e2e", "samplecontroller", r.to))
		if err := os.CopyFS(filepath.Join(dir, r.to), wiring); err != nil {
			return "", err
		}
	}
	adapters := filepath.Join(root, "informer", "clientgo")
	// What the modules need together has been verified for each of them.
	if err := concatenate(filepath.Join(dir, "go.sum"), filepath.Join(dir, "go.sum"), filepath.Join(pinned, "go.sum"),
		filepath.Join(root, "go.sum"), filepath.Join(adapters, "go.sum")); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "sample-controller-adapted")
	for _, args := range [][]string{
		{
			"mod", "edit", "-require=" + library + "@" + version, "-require=" + library + "/informer/clientgo@" + version,
			"-replace=" + library + "=" + root, "-replace=" + library + "/informer/clientgo=" + adapters,
		},
		{"build", "-mod=mod", "-ldflags", "-s -w", "-o", program, "."},
	} {
		if _, err := command(ctx, dir, args...); err != nil {
			return "", err
		}
	}
	return program, nil
}

// concatenate writes the content of files to another one, which may be one of them.
func concatenate(to string, files ...string) error {
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		all = append(all, text...)
	}
	return os.WriteFile(to, all, 0o644)
}

// command runs the go command in a folder and returns what it prints.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
