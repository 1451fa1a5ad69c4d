package sharding

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// What a factory reads by range, over HTTP, from a server whose gate is on, off, and
// switched: as list and as initial events, in protobuf, JSON and metadata.
func TestFactoryReadsByRange(t *testing.T) {
	t.Parallel()
	for _, gate := range []bool{true, false} {
		for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList} {
			t.Run(fmt.Sprint("gate=", gate, " ", mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testFactoryReadsByRange(t, gate, mode) })
			})
		}
	}
}

func testFactoryReadsByRange(t *testing.T, gate bool, mode reflector.SyncMode) {
	server := informertest.Start(t, informertest.Options{InMemory: true, ShardedListAndWatch: gate})
	for i := range 60 {
		require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("o-", i)}}))
	}
	f, err := NewFactory(server.Config(), informer.FactoryOptions{Reflector: reflector.Options{Sync: mode}})
	require.NoError(t, err)
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	typed, err := For(f, HashUID, informer.ForOptions[*corev1.ConfigMap]{Resource: gvr})
	require.NoError(t, err)
	meta, err := For(f, HashUID, informer.ForOptions[*metav1.PartialObjectMetadata]{Resource: gvr})
	require.NoError(t, err)
	whole, err := informer.For(f.Factory, informer.ForOptions[*corev1.ConfigMap]{Resource: gvr})
	require.NoError(t, err)
	parts := SplitHashes(4)
	require.NoError(t, f.AddRanges(parts[0], parts[1]))
	f.Start(t.Context())
	require.NoError(t, f.WaitForRanges(t.Context()))
	late, err := For(f, HashUID, informer.ForOptions[*unstructured.Unstructured]{Resource: gvr})
	require.NoError(t, err)
	require.NoError(t, f.AddRanges(parts[3]))
	require.NoError(t, f.WaitForRanges(t.Context(), parts[3]))
	assert.True(t, f.RemoveRanges(parts[0]))
	assert.False(t, f.RemoveRanges(parts[0]))
	require.NoError(t, informer.WaitForSync(t.Context(), whole, late))
	check := func() {
		t.Helper()
		synctest.Wait()
		want := map[string]string{}
		for cm := range whole.Snapshot().All() {
			if hash := HashUID.Of(cm); parts[1].Contains(hash) || parts[3].Contains(hash) {
				want[cm.Name] = cm.ResourceVersion
			}
		}
		assert.Equal(t, want, versionsOf(typed))
		assert.Equal(t, want, versionsOf(meta))
		assert.Equal(t, want, versionsOf(late))
	}
	check()
	by := map[bool]informer.FilteredBy{true: informer.FilteredByServer, false: informer.FilteredByClient}
	for range 3 {
		assert.Equal(t, by[gate], typed.Health().Sources[0].FilteredBy)
		gate = !gate
		server.SetShardedListAndWatch(gate)
		server.BreakConnections()
		time.Sleep(time.Minute)
		for i := range 120 {
			name := fmt.Sprint("o-", i)
			require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(name, "-", time.Now().Unix())}}))
		}
		time.Sleep(time.Minute)
		check()
	}
	require.NoError(t, f.Shutdown(t.Context()))
	require.ErrorIs(t, f.AddRanges(parts[0]), informer.ErrStopped)
}

// versionsOf returns the names and versions in a cache.
func versionsOf[T informer.Object](inf Cache[T]) map[string]string {
	m := map[string]string{}
	for obj := range inf.Snapshot().All() {
		m[object.KeyOf(obj).Name] = obj.GetResourceVersion()
	}
	return m
}

func TestImpossibleRangesOfAFactoryAreErrors(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	options := informer.ForOptions[*corev1.ConfigMap]{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}
	f, err := NewFactory(server.Config(), informer.FactoryOptions{Namespaces: []string{"a"}})
	require.NoError(t, err)
	_, err = For(f, HashUID, options)
	require.ErrorContains(t, err, "cannot be combined")
	f, err = NewFactory(server.Config(), informer.FactoryOptions{})
	require.NoError(t, err)
	parts := SplitHashes(2)
	require.NoError(t, f.AddRanges(parts[0]))
	require.ErrorContains(t, f.AddRanges(parts...), "overlaps")
	_, err = For(f, 9, options)
	require.ErrorContains(t, err, "unknown HashKey")
	_, err = For(nil, HashUID, options)
	require.ErrorContains(t, err, "the factory is nil")
	inf, err := For(f, HashOwner, options)
	require.NoError(t, err)
	assert.Equal(t, "configmaps/HashOwner", inf.Name())
	assert.Equal(t, []informer.PartHealth{{Name: parts[0].String()}}, inf.Health().Parts)
	other, err := For(f, HashUID, options)
	require.NoError(t, err)
	assert.NotEqual(t, inf.Done(), other.Done())
	again, err := For(f, HashUID, options)
	require.NoError(t, err)
	assert.Equal(t, again.Done(), other.Done())
	again.Release()
	require.NoError(t, f.AddRanges(parts[1]))
	assert.Len(t, other.Health().Parts, 2)
	other.Release()
	inf.Release()
	assert.Empty(t, f.ranged)
}
