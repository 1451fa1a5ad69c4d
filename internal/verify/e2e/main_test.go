package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// running are the control planes that must be stopped before this binary ends,
// whatever ends it.
var running struct {
	sync.Mutex
	all map[*controlplane.ControlPlane]bool
}

func TestMain(m *testing.M) {
	if victim := os.Getenv(victimEnv); victim != "" {
		beVictim() // see TestControlPlaneDiesWithItsTest
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		stopAll()
		os.Exit(1)
	}()
	// Building first, so that no test's time is spent on it.
	var err error
	if apiServer, err = controlplane.KubeAPIServerOf(kubernetesVersion()); err == nil {
		_, err = controlplane.Build(context.Background(), os.Stderr,
			controlplane.Etcd, controlplane.Etcd34, apiServer, controlplane.KubeControllerManager)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	setParallel()
	code := m.Run()
	if builtExamples != "" {
		_ = os.RemoveAll(builtExamples)
	}
	if !stopAll() && code == 0 {
		code = 1
	}
	if left := leftBehind(); len(left) > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "%d goroutines left behind:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// setParallel makes twice as many tests run at a time as there are processors, unless
// -parallel says how many: mostly they wait for a server, an example or a lease.
func setParallel() {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
}

// leftBehind returns the stacks of the goroutines that are in the library or an
// example although every test has ended. Those of client-go do not count: it keeps
// connections for later, and they end when the servers are gone.
func leftBehind() []string {
	buf := make([]byte, 8<<20)
	var left []string
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		const module = "github.com/informerkit/informerkit/"
		own := strings.ReplaceAll(stack, module+"internal/verify/e2e", "")
		if strings.Contains(own, module) {
			left = append(left, stack)
		}
	}
	return left
}

// stopAll stops what still runs and reports whether that went well.
func stopAll() bool {
	running.Lock()
	defer running.Unlock()
	ok := true
	for cp := range running.all {
		if err := cp.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			ok = false
		}
	}
	running.all = nil
	return ok
}

// apiServer is what all control planes run.
var apiServer controlplane.Program

// kubernetesVersion returns the release that the API server is of. COMPATIBILITY.md says
// which tests are for all of them.
func kubernetesVersion() string {
	return cmp.Or(os.Getenv("INFORMERKIT_KUBERNETES"), controlplane.KubernetesVersion)
}

// start runs a control plane that TestMain stops at the latest.
func start(opts controlplane.Options) (*controlplane.ControlPlane, error) {
	opts.Progress, opts.APIServer = os.Stderr, apiServer
	cp, err := controlplane.Start(context.Background(), opts)
	if err != nil {
		return nil, err
	}
	running.Lock()
	defer running.Unlock()
	if running.all == nil {
		running.all = map[*controlplane.ControlPlane]bool{}
	}
	running.all[cp] = true
	return cp, nil
}

// startShared runs the control plane with default settings, once.
var startShared = sync.OnceValues(func() (*controlplane.ControlPlane, error) {
	return start(controlplane.Options{})
})

// shared returns the control plane with default settings, for tests that leave it
// as it is but for what they put into their own namespaces.
func shared(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	cp, err := startShared()
	require.NoError(t, err)
	return cp
}

// startClusterWide runs a second control plane, once. Its admission is as strict as that of OpenShift.
var startClusterWide = sync.OnceValues(func() (*controlplane.ControlPlane, error) {
	return start(controlplane.Options{APIServerFlags: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"}})
})

// clusterWide returns the control plane for tests whose controllers act on all
// namespaces. On the shared one they would interfere with the tests of the same
// controllers there: two controllers of one set create and delete each other's pods.
func clusterWide(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	cp, err := startClusterWide()
	require.NoError(t, err)
	return cp
}

// dedicated starts a control plane for one test, which may do with it what it likes.
func dedicated(t *testing.T, opts controlplane.Options) *controlplane.ControlPlane {
	t.Helper()
	cp, err := start(opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(cp.Logs())
		}
		running.Lock()
		defer running.Unlock()
		delete(running.all, cp)
		require.NoError(t, cp.Stop())
	})
	return cp
}

// clientFor returns a clientset for a control plane.
func clientFor(t *testing.T, cp *controlplane.ControlPlane) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	require.NoError(t, err)
	return client
}

// newNamespace creates a namespace named after the test and returns its name. It is
// not deleted: without a controller manager it would stay half deleted for ever.
func newNamespace(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	prefix := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.Name())), "-")
	prefix = prefix[:min(len(prefix), 40)] + "-"
	ns, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return ns.Name
}
