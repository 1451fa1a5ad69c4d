package manager

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
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
	const version = "-X k8s.io/component-base/version."
	minor := strings.Split(controlplane.KubernetesVersion, ".")[1]
	ldflags := "-s -w " + version + "gitVersion=" + controlplane.KubernetesVersion + " " + version + "gitMajor=1 " + version + "gitMinor=" + minor
	for _, step := range []struct {
		dir  string
		args []string
	}{
		{filepath.Join(module, "..", "..", "..", "informer", "clientgo", "cmd", "adopt"), []string{"go", "build", "-o", adopt, "."}},
		{filepath.Join(module, "controlplane", "kubernetes"), []string{
			adopt, fmt.Sprintf("-share=%t", share), "build", "-ldflags", ldflags, "-o", program, "k8s.io/kubernetes/cmd/kube-controller-manager",
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

// program is a running kube-controller-manager.
type program struct {
	cmd    *exec.Cmd
	log    *os.File
	url    string
	client *http.Client
}

// startProgram runs it; env selects the informers.
func startProgram(path, kubeconfig, token, dir string, env ...string) (*program, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "manager.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	// It makes a certificate for itself.
	config := &rest.Config{Host: "https://127.0.0.1:" + port, BearerToken: token, Timeout: 10 * time.Second, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	client, err := httpclient.For(config)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	p := &program{log: log, url: config.Host, client: client}
	p.cmd = exec.Command(path,
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+filepath.Join(dir, "certificates"),
		"--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=1000",
		// Without kubelets these have nothing to do but to complain.
		"--controllers=*,-nodeipam,-nodelifecycle,-cloud-node-lifecycle,-ttl",
	)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// get asks the program for a path.
func (p *program) get(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return resp.Body, nil
}

// waitReady returns when the program serves.
func (p *program) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		body, err := p.get(ctx, "/healthz")
		if err == nil {
			return body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("manager: the program is not ready: %w; its log is %s", err, p.log.Name())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// memory is what the program says of itself after a garbage collection.
type memory struct{ heap, goroutines float64 }

func (p *program) memory(ctx context.Context) (m memory, err error) {
	for range 2 { // finalizers need a second one
		body, err := p.get(ctx, "/debug/pprof/heap?gc=1")
		if err != nil {
			return m, err
		}
		_, err = io.Copy(io.Discard, body)
		body.Close()
		if err != nil {
			return m, err
		}
	}
	body, err := p.get(ctx, "/metrics")
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

// stop ends the program, and returns the processor time that it has used.
func (p *program) stop() time.Duration {
	defer p.log.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(15*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait() // it ends with the signal
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
