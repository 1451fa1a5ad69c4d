package e2e

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
	"github.com/informerkit/informerkit/reflector"
)

// shardedCollections creates 40 ConfigMaps and 40 custom resources, and returns
// the resource of the latter.
func shardedCollections(t *testing.T, cp *controlplane.ControlPlane) schema.GroupVersionResource {
	client := clientFor(t, cp)
	dyn, err := dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)
	gvr := schema.GroupVersionResource{Group: "e2e.informerkit.test", Version: "v1", Resource: "shardees"}
	_, err = dyn.Resource(crdResource).Create(t.Context(), definition(gvr.Group, "Shardee", gvr.Resource), metav1.CreateOptions{})
	require.NoError(t, err)
	lw, err := reflector.NewResource[*unstructured.Unstructured](cp.Config(), gvr, reflector.ResourceOptions{})
	require.NoError(t, err)
	note, wait := states()
	startReflector(t, lw, reflector.Options{OnStateChange: note})
	wait(t, "the custom resource is not served", func(h reflector.Health) bool { return h.Synced })
	for i := range 40 {
		name := fmt.Sprintf("o-%x", sha256.Sum256([]byte{byte(i)}))[:20]
		_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = dyn.Resource(gvr).Namespace("default").Create(t.Context(), widget(gvr.GroupVersion().WithKind("Shardee"), name), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return gvr
}

// testShards reads both halves of a collection, each by its selector, and checks that they
// are disjoint and together the whole, whether or not the server filters.
func testShards[T reflector.Object](t *testing.T, cp *controlplane.ControlPlane, gvr schema.GroupVersionResource, mode reflector.SyncMode) {
	t.Helper()
	all := map[string]int{}
	for _, half := range sharding.SplitHashes(2) {
		whole, err := reflector.NewResource[T](cp.Config(), gvr, reflector.ResourceOptions{Namespace: "default"})
		require.NoError(t, err)
		note, wait := states()
		_, sink := startReflector(t, sharding.Source(whole, sharding.HashUID, half), reflector.Options{Sync: mode, OnStateChange: note})
		h := wait(t, "it did not sync", func(h reflector.Health) bool { return h.Synced })
		assert.NoError(t, h.LastError)
		for key := range sink.versions() {
			all[key.Name]++
		}
	}
	assert.Len(t, all, 40)
	for name, times := range all {
		assert.Equal(t, 1, times, name)
	}
}

func TestShardsOfACollection(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("ShardedListAndWatch=%v", on), func(t *testing.T) {
			t.Parallel()
			cp := dedicated(t, controlplane.Options{FeatureGates: map[string]bool{"ShardedListAndWatch": on}})
			gvr := shardedCollections(t, cp)
			for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList} {
				t.Run("typed "+string(mode), func(t *testing.T) { testShards[*corev1.ConfigMap](t, cp, configMapResource, mode) })
				t.Run("unstructured "+string(mode), func(t *testing.T) {
					testShards[*unstructured.Unstructured](t, cp, configMapResource, mode)
				})
				t.Run("metadata "+string(mode), func(t *testing.T) {
					testShards[*metav1.PartialObjectMetadata](t, cp, configMapResource, mode)
				})
				t.Run("custom "+string(mode), func(t *testing.T) { testShards[*unstructured.Unstructured](t, cp, gvr, mode) })
			}
			t.Run("ranges", func(t *testing.T) { testRanges(t, cp, on) })
		})
	}
}
