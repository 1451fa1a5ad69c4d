package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// KubeAPIServerOf returns the API server of another release of Kubernetes than the
// pinned one, such as "v1.35.4". The modules that it is built from are those of the
// release, which the checksum database verifies; nothing of them is in the repository.
func KubeAPIServerOf(version string) (Program, error) {
	if version == KubernetesVersion {
		return KubeAPIServer, nil
	}
	if !regexp.MustCompile(`^v1\.\d+\.\d+$`).MatchString(version) {
		return Program{}, fmt.Errorf("controlplane: %q is not a release of Kubernetes, such as v1.35.4", version)
	}
	p := kubernetesProgramOf("kube-apiserver", version)
	p.pinned = "" // pin makes it
	return p, nil
}

// pin writes the module that builds a release into a folder, and returns it. Its go.mod
// is that of the release, with its own modules (the "staging" ones, which are folders of
// its repository) in the versions under which they are published.
func (p Program) pin(ctx context.Context, bin string) (string, error) {
	dir := filepath.Join(bin, "kubernetes-"+p.version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.GoMod}}", p.module+"@"+p.version)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding %s %s: %w\n%s", p.module, p.version, err, stderr.String())
	}
	text, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil {
		return "", err
	}
	pinned := append(asDependency(text, p.version), "\nrequire "+p.module+" "+p.version+"\n"...)
	file := filepath.Join(dir, "go.mod")
	if exists(file) { // with what go build has added to it
		return dir, nil
	}
	return dir, os.WriteFile(file, pinned, 0o644)
}

// asDependency turns the go.mod of a release into that of a module which requires it.
func asDependency(text []byte, version string) []byte {
	text = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(text, []byte("module example.com/pinned"))
	return regexp.MustCompile(`=> \./staging/src/(\S+)`).ReplaceAll(text, []byte("=> $1 v0."+strings.TrimPrefix(version, "v1.")))
}
