package e2e

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
	"github.com/informerkit/informerkit/reflector"
)

// modes are the ways to read a collection as a whole.
var modes = []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList}

// stored returns what the server has of the ConfigMaps of a namespace.
func stored(t *testing.T, client kubernetes.Interface, namespace string) versions {
	t.Helper()
	list, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	vs := versions{}
	for i := range list.Items {
		vs[keyOf(&list.Items[i])] = versionOf(&list.Items[i])
	}
	return vs
}

// mustWrite creates ConfigMaps.
func mustWrite(t *testing.T, client kubernetes.Interface, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap(name), metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

// mustDelete deletes a ConfigMap.
func mustDelete(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	require.NoError(t, client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

func TestReflectorResumesWithoutAListAfterABrokenConnection(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	client := clientFor(t, cp)
	for _, mode := range modes {
		namespace := newNamespace(t, client)
		mustWrite(t, client, namespace, "stays", "goes")
		var network gate
		note, wait := states()
		r, sink := reflectConfigMaps(t, network.through(cp.Config()), namespace, reflector.Options{Sync: mode, OnStateChange: note})
		sink.waitFor(t, stored(t, client, namespace), "the first list")
		before := r.Health()

		network.cut()
		wait(t, "it was not noticed that the connection is gone", func(h reflector.Health) bool {
			return h.State == reflector.StateDegraded && h.LastErrorClass == reflector.ClassRefused
		})
		mustDelete(t, client, namespace, "goes")
		mustWrite(t, client, namespace, "comes")
		network.heal()

		sink.waitFor(t, stored(t, client, namespace), "after the connection was back")
		after := r.Health()
		assert.Equal(t, before.Lists+before.WatchLists, after.Lists+after.WatchLists, "mode %s: the watch should have been resumed", mode)
		assert.Equal(t, 1, sink.replaced)
	}
}

func TestReflectorListsAnewWhenItsVersionWasCompacted(t *testing.T) {
	t.Parallel()
	// Without a watch cache nothing but etcd has the past.
	cp := dedicated(t, controlplane.Options{APIServerFlags: []string{"--watch-cache=false"}})
	client := clientFor(t, cp)
	for _, mode := range modes {
		namespace := newNamespace(t, client)
		mustWrite(t, client, namespace, "stays", "goes")
		var network gate
		note, wait := states()
		r, sink := reflectConfigMaps(t, network.through(cp.Config()), namespace, reflector.Options{Sync: mode, OnStateChange: note})
		sink.waitFor(t, stored(t, client, namespace), "the first list")

		network.cut()
		wait(t, "it was not noticed that the connection is gone", func(h reflector.Health) bool {
			return h.State == reflector.StateDegraded && h.LastErrorClass == reflector.ClassRefused
		})
		mustDelete(t, client, namespace, "goes")
		mustWrite(t, client, namespace, "comes")
		_, err := cp.Compact(t.Context())
		require.NoError(t, err)
		network.heal()

		sink.waitFor(t, stored(t, client, namespace), "after the compaction")
		assert.Equal(t, 1, r.Health().Reconnects[reflector.ClassExpired], "mode %s", mode)
		assert.Equal(t, 2, sink.replaced, "mode %s: once at first and once after the compaction", mode)
		assert.Equal(t, 1, sink.same, "mode %s: the object that did not change keeps its pointer", mode)
	}
}

func TestReflectorSurvivesARestartOfTheAPIServer(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	client := clientFor(t, cp)
	type follower struct {
		*reflector.Reflector[*corev1.ConfigMap]
		sink *mirror[*corev1.ConfigMap]
		wait func(t *testing.T, why string, ok func(reflector.Health) bool) reflector.Health
	}
	var followers []follower
	mustWrite(t, client, "default", "stays", "goes")
	for _, mode := range modes {
		note, wait := states()
		r, sink := reflectConfigMaps(t, cp.Config(), "default", reflector.Options{Sync: mode, OnStateChange: note})
		sink.waitFor(t, stored(t, client, "default"), "the first list")
		followers = append(followers, follower{r, sink, wait})
	}
	for _, end := range []func() error{cp.StopAPIServer, cp.KillAPIServer} {
		require.NoError(t, end())
		for _, f := range followers {
			f.wait(t, "it was not noticed that the server is gone", func(h reflector.Health) bool {
				return h.State == reflector.StateDegraded && h.LastErrorClass == reflector.ClassRefused
			})
		}
		require.NoError(t, cp.StartAPIServer(t.Context()))
		mustDelete(t, client, "default", "goes")
		mustWrite(t, client, "default", "goes")
		for _, f := range followers {
			f.sink.waitFor(t, stored(t, client, "default"), "after the restart")
		}
	}
}

// A watch cache that has just started does not know the past: it answers a watch
// from before its start with 410, although etcd would have known.
func TestReflectorListsAnewWhenARestartedServerHasForgottenItsVersion(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	client := clientFor(t, cp)
	for _, mode := range modes {
		namespace := newNamespace(t, client)
		mustWrite(t, client, namespace, "stays", "goes")
		var network gate
		note, wait := states()
		r, sink := reflectConfigMaps(t, network.through(cp.Config()), namespace, reflector.Options{Sync: mode, OnStateChange: note})
		sink.waitFor(t, stored(t, client, namespace), "the first list")

		network.cut()
		wait(t, "it was not noticed that the connection is gone", func(h reflector.Health) bool {
			return h.State == reflector.StateDegraded && h.LastErrorClass == reflector.ClassRefused
		})
		mustDelete(t, client, namespace, "goes")
		mustWrite(t, client, namespace, "comes")
		require.NoError(t, cp.StopAPIServer())
		require.NoError(t, cp.StartAPIServer(t.Context()))
		network.heal()

		sink.waitFor(t, stored(t, client, namespace), "after the restart")
		assert.Equal(t, 1, r.Health().Reconnects[reflector.ClassExpired], "mode %s", mode)
		assert.Equal(t, 1, sink.same, "mode %s: the object that did not change keeps its pointer", mode)
	}
}

func TestReflectorListsWhereWatchListIsRefused(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]controlplane.Options{
		"feature gate":  {FeatureGates: map[string]bool{"WatchList": false}},
		"older version": {APIServerFlags: []string{"--emulated-version=1.33"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cp := dedicated(t, opts)
			client := clientFor(t, cp)
			mustWrite(t, client, "default", "a", "b")
			r, sink := reflectConfigMaps(t, cp.Config(), "default", reflector.Options{})
			sink.waitFor(t, stored(t, client, "default"), "the first list")
			mustWrite(t, client, "default", "c")
			sink.waitFor(t, stored(t, client, "default"), "the watch after it")
			h := r.Health()
			assert.Equal(t, 1, h.WatchLists, "it should have been tried once")
			assert.Positive(t, h.Lists)
			assert.Equal(t, 1, sink.replaced)
			assert.Equal(t, reflector.ErrorClass("rejected"), h.LastErrorClass, "%v", h.LastError)
			assert.False(t, h.WatchListRefusedUntil.IsZero(), "the refusal should be remembered")
		})
	}
}

// On an old etcd the API server accepts a WatchList and says in the stream that it
// cannot serve it.
func TestReflectorListsWhereWatchListIsAcceptedAndFails(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{Etcd: controlplane.Etcd34})
	client := clientFor(t, cp)
	mustWrite(t, client, "default", "a", "b")
	r, sink := reflectConfigMaps(t, cp.Config(), "default", reflector.Options{})
	sink.waitFor(t, stored(t, client, "default"), "the first list")
	mustWrite(t, client, "default", "c")
	sink.waitFor(t, stored(t, client, "default"), "the watch after it")
	h := r.Health()
	assert.Equal(t, reflector.ClassServer, h.LastErrorClass, "%v", h.LastError)
	assert.Positive(t, h.Lists)
	assert.False(t, h.WatchListRefusedUntil.IsZero(), "the refusal should be remembered")
}

func TestReflectorWorksWithoutAWatchCache(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{APIServerFlags: []string{"--watch-cache=false"}})
	client := clientFor(t, cp)
	b := burst{client: client, namespaces: []string{"default"}, names: 30, workers: 4, writes: 50}
	b.run(t)
	var sinks []*mirror[*corev1.ConfigMap]
	for _, mode := range modes {
		_, sink := reflectConfigMaps(t, cp.Config(), "default", reflector.Options{Sync: mode, PageSize: 7})
		sinks = append(sinks, sink)
	}
	b.run(t)
	for i, sink := range sinks {
		sink.waitFor(t, stored(t, client, "default"), string(modes[i]))
	}
}

func TestReflectorRecoversFromAServerThatWasRestoredFromABackup(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	client := clientFor(t, cp)
	b := burst{client: client, namespaces: []string{"default"}, names: 30, workers: 4, writes: 50}
	b.run(t)
	var sinks []*mirror[*corev1.ConfigMap]
	var restored atomic.Bool
	for _, mode := range modes {
		// The server is silent about a watch from the future. What makes a reflector
		// ask again soon is a network that breaks every watch; otherwise it does so
		// after minutes of silence.
		var network gate
		note, wait := states()
		_, sink := reflectConfigMaps(t, network.through(cp.Config()), "default", reflector.Options{
			Sync: mode,
			OnStateChange: func(h reflector.Health) {
				note(h)
				if restored.Load() && h.State == reflector.StateWatching {
					network.sever()
				}
			},
		})
		sink.waitFor(t, stored(t, client, "default"), "the first list")
		wait(t, "it does not watch", func(h reflector.Health) bool { return h.State == reflector.StateWatching })
		sinks = append(sinks, sink)
	}
	restored.Store(true)
	require.NoError(t, cp.Reset(t.Context()))
	mustWrite(t, client, "default", "new")
	want := stored(t, client, "default")
	for i, sink := range sinks {
		sink.waitFor(t, want, string(modes[i]))
	}
}

func TestReflectorSaysWhyItMayNot(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	stranger := cp.Config()
	stranger.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	impostor := cp.Config()
	impostor.BearerToken = "wrong"
	for class, cfg := range map[reflector.ErrorClass]*rest.Config{
		reflector.ClassForbidden:    stranger,
		reflector.ClassUnauthorized: impostor,
	} {
		for _, mode := range modes {
			note, wait := states()
			reflectConfigMaps(t, cfg, "default", reflector.Options{Sync: mode, OnStateChange: note})
			h := wait(t, "no failure was reported", func(h reflector.Health) bool { return h.State == reflector.StateDegraded })
			assert.Equal(t, class, h.LastErrorClass, "%v", h.LastError)
			assert.False(t, h.Synced)
			t.Log(h.LastError)
		}
	}
}

func TestReflectorEndsPromptlyOnARealServer(t *testing.T) {
	t.Parallel()
	lw, err := reflector.NewResource[*corev1.ConfigMap](shared(t).Config(), configMapResource, reflector.ResourceOptions{})
	require.NoError(t, err)
	note, wait := states()
	r, err := reflector.New(lw, newMirror[*corev1.ConfigMap](), reflector.Options{OnStateChange: note})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	wait(t, "it does not watch", func(h reflector.Health) bool { return h.State == reflector.StateWatching })
	cancel()
	require.NoError(t, <-ended)
}
