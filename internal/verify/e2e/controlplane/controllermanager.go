package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// Manager is a running kube-controller-manager.
type Manager struct {
	process *process
	url     string
	client  *http.Client
}

// StartManager runs the kube-controller-manager at path beside the API server, with more
// flags and environment than it needs, and returns when its controllers have been started.
// Stop it before the control plane.
func (cp *ControlPlane) StartManager(ctx context.Context, path string, env []string, flags ...string) (*Manager, error) {
	kubeconfig, err := cp.Kubeconfig()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config := cp.Config()
	config.Host, config.Timeout = "https://127.0.0.1:"+strconv.Itoa(port), 10*time.Second
	client, err := httpclient.For(config)
	if err != nil {
		return nil, err
	}
	p, err := startProcess("kube-controller-manager", path, append([]string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + cp.pki.certFile,
		"--tls-private-key-file=" + cp.pki.keyFile,
		"--leader-elect=false",
		// Without nodes these have nothing to do but to complain.
		"--controllers=*,-nodeipam,-nodelifecycle,-cloud-node-lifecycle,-ttl",
	}, flags...), cp.dir.join("kube-controller-manager.log"), env...)
	if err != nil {
		return nil, err
	}
	m := &Manager{p, config.Host, client}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = p.waitReady(ctx, func(ctx context.Context) error {
		body, err := m.Get(ctx, "/healthz")
		if err != nil {
			return err
		}
		return body.Close()
	})
	client.CloseIdleConnections() // few requests follow, or none
	if err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return m, nil
}

// Get asks the program for a path, such as /metrics.
func (m *Manager) Get(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return resp.Body, nil
}

// Stop ends the program, and returns the processor time that it has used.
func (m *Manager) Stop() (time.Duration, error) {
	err := m.process.stop()
	return m.process.used, err
}
