package manager

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// buildProgram makes the binary with both kinds of informers, and returns its path.
func buildProgram(ctx context.Context, share bool, progress io.Writer) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("manager: finding the module (run this inside of it): %w", err)
	}
	module := strings.TrimSpace(string(out))
	bin := filepath.Join(module, ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	adopt, program := filepath.Join(bin, "adopt"), filepath.Join(bin, fmt.Sprintf("kube-controller-manager-adopted-%t", share))
	for _, step := range []struct {
		dir  string
		args []string
	}{
		{filepath.Join(module, "..", "..", "..", "informer", "clientgo", "cmd", "adopt"), []string{"go", "build", "-trimpath=false", "-o", adopt, "."}},
		{filepath.Join(module, "controlplane", "kubernetes"), []string{
			adopt, fmt.Sprintf("-share=%t", share), "build", "-ldflags", controlplane.KubeControllerManager.LDFlags(), "-o", program, "k8s.io/kubernetes/cmd/kube-controller-manager",
		}},
	} {
		fmt.Fprintf(progress, "manager: %s\n", strings.Join(step.args, " "))
		cmd := exec.CommandContext(ctx, step.args[0], step.args[1:]...)
		cmd.Dir = step.dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("manager: %s: %w\n%s", strings.Join(step.args, " "), err, out)
		}
	}
	return program, nil
}

// managerFlags are those of every run.
var managerFlags = []string{"--kube-api-qps=500", "--kube-api-burst=1000"}

// memory is what the program says of itself after a garbage collection.
type memory struct{ heap, goroutines float64 }

func memoryOf(ctx context.Context, p *controlplane.Manager) (m memory, err error) {
	for range 2 { // finalizers need a second one
		body, err := p.Get(ctx, "/debug/pprof/heap?gc=1")
		if err != nil {
			return m, err
		}
		_, err = io.Copy(io.Discard, body)
		body.Close()
		if err != nil {
			return m, err
		}
	}
	body, err := p.Get(ctx, "/metrics")
	if err != nil {
		return m, err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "go_memstats_heap_alloc_bytes":
			m.heap, err = strconv.ParseFloat(value, 64)
		case "go_goroutines":
			m.goroutines, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return m, err
		}
	}
	if m.heap == 0 || m.goroutines == 0 {
		return m, fmt.Errorf("manager: /metrics has no figures of memory and goroutines")
	}
	return m, lines.Err()
}
