package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strconv"
)

// startControllerManager runs the kube-controller-manager and returns when its
// controllers have been started.
func (cp *ControlPlane) startControllerManager(ctx context.Context) error {
	kubeconfig, err := cp.Kubeconfig()
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	cp.manager, err = startProcess("kube-controller-manager", cp.paths[2], []string{
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
	}, cp.dir.join("kube-controller-manager.log"))
	if err != nil {
		return err
	}

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cp.pki.caPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return cp.manager.waitReady(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:"+strconv.Itoa(port)+"/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("/healthz answered %s", resp.Status)
		}
		return nil
	})
}
