package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// startTimeout bounds how long one program may take until it is ready. It takes
// seconds; the rest is for machines that do much else at the same time.
const startTimeout = 2 * time.Minute

// Options say how a control plane differs from the plain one. The zero value is
// etcd and kube-apiserver with their defaults.
type Options struct {
	// FeatureGates of kube-apiserver, by name.
	FeatureGates map[string]bool
	// APIServerFlags are appended to the command line of kube-apiserver, where the
	// last of two equal flags counts: "--watch-cache=false".
	APIServerFlags []string
	// Etcd is the storage: [Etcd] or [Etcd34]; the zero value is Etcd.
	Etcd Program
	// APIServer is the API server: [KubeAPIServer] or one of [KubeAPIServerOf]; the zero
	// value is KubeAPIServer.
	APIServer Program
	// ControllerManager also runs the kube-controller-manager, so that Deployments,
	// owner references and namespaces come to life.
	ControllerManager bool
	// Progress receives what is being built and started. Nil discards it.
	Progress io.Writer
}

// ControlPlane is a running control plane. Its methods must not be called
// concurrently, except for Config and the clients made from it.
type ControlPlane struct {
	opts      Options
	dir       *dataDir
	pki       *pki
	paths     []string // of etcd, kube-apiserver and, if wanted, the controller manager
	etcd      *etcdServer
	apiPort   int
	apiServer *process // nil while stopped
	manager   *Manager // nil if not wanted
	stopped   bool
}

// Start builds the programs if necessary, runs them and returns when the API server
// is ready. The control plane lives until Stop; ctx bounds the start only.
func Start(ctx context.Context, opts Options) (*ControlPlane, error) {
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	if opts.Etcd.name == "" {
		opts.Etcd = Etcd
	}
	if opts.APIServer.name == "" {
		opts.APIServer = KubeAPIServer
	}
	programs := []Program{opts.Etcd, opts.APIServer}
	if opts.ControllerManager {
		programs = append(programs, KubeControllerManager)
	}
	paths, err := Build(ctx, opts.Progress, programs...)
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{opts: opts, paths: paths}
	if err := cp.start(ctx); err != nil {
		return nil, fmt.Errorf("controlplane: %w", errors.Join(err, cp.Stop()))
	}
	return cp, nil
}

// start runs everything in the order of the dependencies.
func (cp *ControlPlane) start(ctx context.Context) (err error) {
	begin := time.Now()
	if cp.dir, err = newDataDir(ctx); err != nil {
		return err
	}
	if cp.pki, err = newPKI(cp.dir); err != nil {
		return err
	}
	if cp.apiPort, err = freePort(); err != nil {
		return err
	}
	if cp.etcd, err = startEtcd(ctx, cp.paths[0], cp.opts.Etcd.flags, cp.dir); err != nil {
		return err
	}
	if err := cp.StartAPIServer(ctx); err != nil {
		return err
	}
	if cp.opts.ControllerManager {
		if cp.manager, err = cp.StartManager(ctx, cp.paths[2], nil); err != nil {
			return err
		}
	}
	fmt.Fprintf(cp.opts.Progress, "controlplane: ready at %s after %s\n", cp.host(), time.Since(begin).Round(10*time.Millisecond))
	return nil
}

// Config returns a configuration for a cluster administrator. It carries no limit
// on requests per second. To act as another user set its Impersonate field.
func (cp *ControlPlane) Config() *rest.Config {
	return &rest.Config{
		Host:            cp.host(),
		BearerToken:     cp.pki.adminToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: cp.pki.caPEM},
		QPS:             -1,
	}
}

// Kubeconfig writes a kubeconfig file for a cluster administrator into the data
// folder of the control plane and returns its path. The file goes with Stop.
func (cp *ControlPlane) Kubeconfig() (string, error) {
	const name = "informerkit-e2e"
	path := cp.dir.join("kubeconfig")
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: cp.host(), CertificateAuthorityData: cp.pki.caPEM}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: cp.pki.adminToken}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	if err := clientcmd.WriteToFile(config, path); err != nil {
		return "", fmt.Errorf("controlplane: %w", err)
	}
	return path, os.Chmod(path, 0o600)
}

// Compact makes etcd forget the versions that lie before now, so that the API
// server answers 410 for a resourceVersion which neither etcd nor its watch cache
// has any more. It returns the revision up to which etcd has forgotten.
func (cp *ControlPlane) Compact(ctx context.Context) (int64, error) {
	revision, err := cp.etcd.compact(ctx)
	if err != nil {
		return 0, fmt.Errorf("controlplane: compacting etcd: %w", err)
	}
	return revision, nil
}

// Reset gives the control plane an empty storage at the same address, as if it had
// been restored from a backup of its first moment: resourceVersions start again, and
// those that clients have lie in the future.
func (cp *ControlPlane) Reset(ctx context.Context) error {
	if err := errors.Join(cp.KillAPIServer(), cp.etcd.kill()); err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	if err := os.RemoveAll(cp.dir.join(etcdData)); err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	var err error
	if cp.etcd, err = startEtcd(ctx, cp.paths[0], cp.opts.Etcd.flags, cp.dir); err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	return cp.StartAPIServer(ctx)
}

// Logs returns the last lines that the programs have logged, for the report of a
// failed test.
func (cp *ControlPlane) Logs() string {
	var all strings.Builder
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if path := cp.dir.join(name + ".log"); exists(path) {
			fmt.Fprintf(&all, "--- %s\n%s", name, tailOfFile(path))
		}
	}
	return all.String()
}

// Stop ends all programs and removes their data. The second call does nothing.
func (cp *ControlPlane) Stop() error {
	if cp.stopped {
		return nil
	}
	cp.stopped = true
	var errs []error
	if cp.manager != nil {
		errs = append(errs, cp.manager.process.kill())
	}
	// The state is not needed any more, so nothing has to end in an orderly way.
	errs = append(errs, cp.KillAPIServer())
	if cp.etcd != nil {
		errs = append(errs, cp.etcd.kill())
	}
	if cp.dir != nil {
		errs = append(errs, cp.dir.remove())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	return nil
}
