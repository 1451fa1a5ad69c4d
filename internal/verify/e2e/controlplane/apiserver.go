package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// host returns the URL of the API server. It stays the same over restarts.
func (cp *ControlPlane) host() string {
	return "https://127.0.0.1:" + strconv.Itoa(cp.apiPort)
}

// StartAPIServer runs kube-apiserver and returns when it is ready. Flags given here
// come after those of [Options] and hold until the next start: a restart may change
// what the server can do.
func (cp *ControlPlane) StartAPIServer(ctx context.Context, flags ...string) error {
	if cp.apiServer != nil {
		return errors.New("controlplane: the API server runs already: stop it first")
	}
	args, err := cp.apiServerArgs()
	if err != nil {
		return err
	}
	p, err := startProcess("kube-apiserver", cp.paths[1], append(args, flags...), cp.dir.join("kube-apiserver.log"))
	if err != nil {
		return err
	}
	cp.apiServer = p
	client, err := cp.readyClient()
	if err != nil {
		return err
	}
	defer client.Client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return p.waitReady(ctx, func(ctx context.Context) error {
		if err := client.Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		// The server makes its namespaces after it has become ready.
		return client.Get().AbsPath("/api/v1/namespaces/default").Do(ctx).Error()
	})
}

// StopAPIServer asks kube-apiserver to end and waits until it has. Watches end with
// it; the address stays taken for the next start.
func (cp *ControlPlane) StopAPIServer() error {
	return cp.endAPIServer((*process).stop)
}

// KillAPIServer ends kube-apiserver as a crash would: connections break.
func (cp *ControlPlane) KillAPIServer() error {
	return cp.endAPIServer((*process).kill)
}

// endAPIServer ends a running API server in the given way.
func (cp *ControlPlane) endAPIServer(end func(*process) error) error {
	if cp.apiServer == nil {
		return nil
	}
	if err := end(cp.apiServer); err != nil {
		return err
	}
	cp.apiServer = nil
	return nil
}

// readyClient returns a client without limits for the two requests that find out
// whether the server is ready.
func (cp *ControlPlane) readyClient() (*rest.RESTClient, error) {
	config := cp.Config()
	config.GroupVersion = &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}

// apiServerArgs returns the command line of kube-apiserver.
func (cp *ControlPlane) apiServerArgs() ([]string, error) {
	tokens := cp.dir.join("tokens.csv")
	line := cp.pki.adminToken + ",admin,admin,system:masters\n"
	if err := os.WriteFile(tokens, []byte(line), 0o600); err != nil {
		return nil, err
	}
	args := []string{
		"--etcd-servers=" + cp.etcd.url,
		"--etcd-compaction-interval=0", // tests compact when they want to
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(cp.apiPort),
		"--tls-cert-file=" + cp.pki.certFile,
		"--tls-private-key-file=" + cp.pki.keyFile,
		"--token-auth-file=" + tokens,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://127.0.0.1",
		"--service-account-key-file=" + cp.pki.saKeyFile,
		"--service-account-signing-key-file=" + cp.pki.saKeyFile,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none",
		// Pods would wait for service accounts, which only the controller manager makes.
		"--disable-admission-plugins=ServiceAccount",
		"--profiling=false",
	}
	if len(cp.opts.FeatureGates) > 0 {
		var gates []string
		for _, name := range slices.Sorted(maps.Keys(cp.opts.FeatureGates)) {
			gates = append(gates, fmt.Sprintf("%s=%t", name, cp.opts.FeatureGates[name]))
		}
		args = append(args, "--feature-gates="+strings.Join(gates, ","))
	}
	return append(args, cp.opts.APIServerFlags...), nil
}
