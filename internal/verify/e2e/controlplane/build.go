package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Versions of the programs. The modules beside this file pin the same ones, and
// Build refuses to work if they disagree.
const (
	EtcdVersion       = "v3.7.3"
	KubernetesVersion = "v1.36.3"

	sampleControllerVersion = "v0.36.3"

	// etcd34Version is how the Go proxy knows v3.4.13, whose module path lacks the
	// /v3 that its tag calls for.
	etcd34Version = "v0.5.0-alpha.5.0.20200910180754-dd1b699fc489"
)

// Program is one program of the control plane: where its source is and how it is
// built.
type Program struct {
	name    string // file name, before version and digest
	version string // of the module that holds pkg
	pinned  string // folder of the module that pins the build, below this package's; empty: see pin
	pkg     string // main package
	module  string // module of pkg
	ldflags string
	flags   []string // that it is run with besides those that every version knows
}

// The programs that [Build] can make.
var (
	Etcd = Program{
		name: "etcd", version: EtcdVersion, pinned: "etcd",
		pkg: "go.etcd.io/etcd/server/v3", module: "go.etcd.io/etcd/server/v3",
		ldflags: "-s -w",
		// The data are thrown away anyway.
		flags: []string{"--unsafe-no-fsync", "--log-level=warn"},
	}
	// Etcd34 is a release on which an API server accepts WatchLists and then finds
	// out that it cannot serve them.
	Etcd34 = Program{
		name: "etcd34", version: etcd34Version, pinned: "etcd34",
		pkg: "go.etcd.io/etcd", module: "go.etcd.io/etcd",
		ldflags: "-s -w",
		flags:   []string{"--logger=zap", "--log-level=warn"},
	}
	KubeAPIServer         = kubernetesProgram("kube-apiserver")
	KubeControllerManager = kubernetesProgram("kube-controller-manager")
	// Kubectl is pinned by a module of its own: it needs others than the servers.
	Kubectl = kubectlProgram()
	// SampleController is what the project Kubernetes shows as the example of a
	// controller. It is no part of a control plane.
	SampleController = Program{
		name: "sample-controller", version: sampleControllerVersion, pinned: "samplecontroller",
		pkg: "k8s.io/sample-controller", module: "k8s.io/sample-controller",
		ldflags: "-s -w",
	}
)

// LDFlags are the flags of the linker, with the version.
func (p Program) LDFlags() string { return p.ldflags }

// kubernetesProgram describes a program of the Kubernetes repository. Its version
// must be stamped: without a stamp /version is not parsable, and emulated versions
// cannot be computed from it.
func kubernetesProgram(name string) Program { return kubernetesProgramOf(name, KubernetesVersion) }

func kubernetesProgramOf(name, release string) Program {
	const version = "-X k8s.io/component-base/version."
	parts := strings.Split(strings.TrimPrefix(release, "v"), ".")
	return Program{
		name: name, version: release, pinned: "kubernetes",
		pkg: "k8s.io/kubernetes/cmd/" + name, module: "k8s.io/kubernetes",
		ldflags: "-s -w " + version + "gitVersion=" + release +
			" " + version + "gitMajor=" + parts[0] + " " + version + "gitMinor=" + parts[1],
	}
}

// kubectlProgram describes kubectl.
func kubectlProgram() Program {
	p := kubernetesProgram("kubectl")
	p.pinned = "kubectl"
	return p
}

// Build returns the paths of the given programs, in their order, and builds those
// that do not exist yet. It reports what it does to progress and, line by line, to
// .bin/build.log, because go test holds back the output of a package until the
// package is done.
func Build(ctx context.Context, progress io.Writer, programs ...Program) ([]string, error) {
	root, err := moduleDir(ctx)
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(root, ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, fmt.Errorf("controlplane: %w", err)
	}
	paths := make([]string, len(programs))
	for i, p := range programs {
		if paths[i], err = p.build(ctx, root, bin, progress); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// build returns the path of p in the folder bin, having made it if necessary.
func (p Program) build(ctx context.Context, root, bin string, progress io.Writer) (string, error) {
	source, mode := filepath.Join(root, "controlplane", p.pinned), "-mod=readonly"
	path := filepath.Join(bin, p.name+"-"+p.version)
	if p.pinned != "" {
		digest, err := p.digest(source)
		if err != nil {
			return "", err
		}
		path += "-" + digest
	}
	if exists(path) {
		return path, nil
	}

	lock, err := lockFile(ctx, filepath.Join(bin, ".lock"), func() {
		fmt.Fprintf(progress, "controlplane: waiting for another process that builds in %s\n", bin)
	})
	if err != nil {
		return "", fmt.Errorf("controlplane: waiting for the build lock: %w", err)
	}
	defer lock.release()
	if exists(path) { // the holder of the lock before us has built it
		return path, nil
	}

	logPath := filepath.Join(bin, "build.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return "", fmt.Errorf("controlplane: %w", err)
	}
	defer log.Close()
	out := io.MultiWriter(progress, log)

	fmt.Fprintf(out, "controlplane: building %s %s (once; minutes from cold caches; progress in %s)\n", p.name, p.version, logPath)
	start := time.Now()
	partial := filepath.Join(bin, "."+p.name+".partial") // we hold the lock: no other process writes it
	defer os.Remove(partial)
	if p.pinned == "" {
		mode = "-mod=mod" // go build writes go.sum
		if source, err = p.pin(ctx, bin); err != nil {
			return "", fmt.Errorf("controlplane: %w", err)
		}
	}
	// -v names the packages as they are compiled. That is for the log only; the
	// downloads and errors are on the same stream and found there too.
	cmd := exec.CommandContext(ctx, "go", "build", mode, "-v", "-ldflags", p.ldflags, "-o", partial, p.pkg)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var tail tailBuffer
	cmd.Stdout, cmd.Stderr = log, io.MultiWriter(log, &tail)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("controlplane: building %s in %s: %w\n%s", p.name, source, err, tail.String())
	}
	if err := os.Rename(partial, path); err != nil {
		return "", fmt.Errorf("controlplane: %w", err)
	}
	fmt.Fprintf(out, "controlplane: built %s in %s\n", path, time.Since(start).Round(time.Second))
	return path, nil
}

// digest identifies everything under our control that goes into the program, so
// that an edit of go.mod or of the flags leads to a new build.
func (p Program) digest(source string) (string, error) {
	h := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", fmt.Errorf("controlplane: %w", err)
		}
		if name == "go.mod" && !strings.Contains(string(data), p.module+" "+p.version) {
			return "", fmt.Errorf("controlplane: %s/go.mod does not require %s %s: change it together with the constants in build.go",
				source, p.module, p.version)
		}
		h.Write(data)
	}
	fmt.Fprintln(h, p.pkg, p.ldflags)
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// moduleDir returns the folder of the e2e module. It asks the go command rather
// than the compiled-in source path, which -trimpath removes.
func moduleDir(ctx context.Context) (string, error) {
	const module = "github.com/informerkit/informerkit/internal/verify/e2e"
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("controlplane: finding module %s (run this inside of it): %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// exists reports whether path names a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
