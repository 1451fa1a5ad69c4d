package informer

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
	f, err := NewFactory(server.Config(), FactoryOptions{ByRange: true, Reflector: reflector.Options{Sync: mode}})
	require.NoError(t, err)
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	typed, err := For(f, ForOptions[*corev1.ConfigMap]{Resource: gvr})
	require.NoError(t, err)
	meta, err := For(f, ForOptions[*metav1.PartialObjectMetadata]{Resource: gvr})
	require.NoError(t, err)
	whole, err := For(f, ForOptions[*corev1.ConfigMap]{Resource: gvr, Whole: true})
	require.NoError(t, err)
	parts := SplitHashes(4)
	require.NoError(t, f.AddRanges(parts[0], parts[1]))
	f.Start(t.Context())
	require.NoError(t, f.WaitForRanges(t.Context()))
	late, err := For(f, ForOptions[*unstructured.Unstructured]{Resource: gvr})
	require.NoError(t, err)
	require.NoError(t, f.AddRanges(parts[3]))
	require.NoError(t, f.WaitForRanges(t.Context(), parts[3]))
	assert.True(t, f.RemoveRanges(parts[0]))
	assert.False(t, f.RemoveRanges(parts[0]))
	require.NoError(t, WaitForSync(t.Context(), whole, late))
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
	by := map[bool]FilteredBy{true: FilteredByServer, false: FilteredByClient}
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
	require.ErrorIs(t, f.AddRanges(parts[0]), ErrStopped)
}

// versionsOf returns the names and versions in a cache.
func versionsOf[T Object](inf Cache[T]) map[string]string {
	m := map[string]string{}
	for obj := range inf.Snapshot().All() {
		m[object.KeyOf(obj).Name] = obj.GetResourceVersion()
	}
	return m
}

func TestImpossibleRangesOfAFactoryAreErrors(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	_, err := NewFactory(server.Config(), FactoryOptions{ByRange: true, Namespaces: []string{"a"}})
	require.ErrorContains(t, err, "set one of the two")
	f, err := NewFactory(server.Config(), FactoryOptions{})
	require.NoError(t, err)
	parts := SplitHashes(2)
	require.ErrorContains(t, f.AddRanges(parts[0]), "FactoryOptions.ByRange")
	require.ErrorContains(t, f.WaitForRanges(t.Context()), "FactoryOptions.ByRange")
	assert.False(t, f.RemoveRanges(parts[0]))
	f, err = NewFactory(server.Config(), FactoryOptions{ByRange: true})
	require.NoError(t, err)
	require.NoError(t, f.AddRanges(parts[0]))
	require.ErrorContains(t, f.AddRanges(parts...), "overlaps")
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	selector := newHashSet(parts[:1]).selector(HashUID)
	_, err = For(f, ForOptions[*corev1.ConfigMap]{Resource: gvr, ShardSelector: selector})
	require.ErrorContains(t, err, "ShardSelector")
	_, err = For(f, ForOptions[*corev1.ConfigMap]{Resource: gvr, HashKey: 9})
	require.ErrorContains(t, err, "unknown HashKey")
	inf, err := For(f, ForOptions[*corev1.ConfigMap]{Resource: gvr, HashKey: HashOwner})
	require.NoError(t, err)
	assert.Equal(t, "configmaps/HashOwner", inf.Name())
	assert.Equal(t, []RangeHealth{{Range: parts[0]}}, inf.Health().Ranges)
}
