package e2e

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// configMap returns an object to write.
func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestControlPlaneListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(shared(t).Config().Host[len("https://"):])
	require.NoError(t, err)
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, addr := range addrs {
		ip, _, err := net.ParseCIDR(addr.String())
		require.NoError(t, err)
		if ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		conn, err := net.Dial("tcp", net.JoinHostPort(ip.String(), port))
		if !assert.Error(t, err, "%s accepts connections", ip) {
			conn.Close()
		}
	}
}

func TestControlPlaneKnowsItsVersion(t *testing.T) {
	t.Parallel()
	version, err := clientFor(t, shared(t)).Discovery().ServerVersion()
	require.NoError(t, err)
	assert.Equal(t, kubernetesVersion(), version.GitVersion)
}

func TestControlPlaneStopLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	kubeconfig, err := cp.Kubeconfig()
	require.NoError(t, err)
	data := filepath.Dir(kubeconfig)
	address := cp.Config().Host[len("https://"):]

	require.NoError(t, cp.Stop())
	assert.NoDirExists(t, data)
	assert.NoFileExists(t, data+".lock")
	_, err = net.Dial("tcp", address)
	require.Error(t, err)
	require.NoError(t, cp.Stop(), "a second Stop does nothing")
}

func TestControlPlaneThatCannotStartSaysWhyAndLeavesNothingBehind(t *testing.T) {
	before, err := filepath.Glob(".data/cp-*")
	require.NoError(t, err)
	_, err = controlplane.Start(t.Context(), controlplane.Options{APIServerFlags: []string{"--no-such-flag"}})
	require.ErrorContains(t, err, "unknown flag: --no-such-flag")
	after, err := filepath.Glob(".data/cp-*")
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestControlPlaneRestartKeepsAddressAndObjects(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	configMaps := clientFor(t, cp).CoreV1().ConfigMaps("default")
	created, err := configMaps.Create(t.Context(), configMap("kept"), metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, cp.KillAPIServer())
	_, err = configMaps.Get(t.Context(), "kept", metav1.GetOptions{})
	require.Error(t, err, "nothing should answer")

	require.NoError(t, cp.StartAPIServer(t.Context()))
	require.Error(t, cp.StartAPIServer(t.Context()), "it runs already")
	got, err := configMaps.Get(t.Context(), "kept", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, created.UID, got.UID)
	assert.Equal(t, created.ResourceVersion, got.ResourceVersion)
}

func TestControlPlaneCompactionExpiresVersions(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{APIServerFlags: []string{"--watch-cache=false"}})
	configMaps := clientFor(t, cp).CoreV1().ConfigMaps("default")
	old, err := configMaps.Create(t.Context(), configMap("a"), metav1.CreateOptions{})
	require.NoError(t, err)
	atOld := metav1.ListOptions{ResourceVersion: old.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	_, err = configMaps.List(t.Context(), atOld)
	require.NoError(t, err)

	_, err = configMaps.Create(t.Context(), configMap("b"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = cp.Compact(t.Context())
	require.NoError(t, err)
	_, err = configMaps.List(t.Context(), atOld)
	assert.True(t, apierrors.IsResourceExpired(err), "got %v", err)
}

func TestControlPlaneBuildIsDoneOnceByManyAtOnce(t *testing.T) {
	t.Parallel()
	type result struct {
		paths []string
		err   error
	}
	results := make(chan result)
	const builders = 4
	for range builders {
		go func() {
			paths, err := controlplane.Build(t.Context(), os.Stderr, controlplane.Etcd, controlplane.KubeAPIServer)
			results <- result{paths, err}
		}()
	}
	first := <-results
	require.NoError(t, first.err)
	for range builders - 1 {
		assert.Equal(t, first, <-results)
	}
	for _, path := range first.paths {
		assert.FileExists(t, path)
	}
}
