package indexer

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func liveHeap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Usage is what the heap says, for indexes with few objects per value and with many, and with few
// namespaces and many.
func TestUsageIsWhatTheHeapSays(t *testing.T) {
	for _, namespaces := range []int{10, 500} {
		usageIsWhatTheHeapSays(t, namespaces)
	}
}

func usageIsWhatTheHeapSays(t *testing.T, namespaces int) {
	t.Helper()
	const n = 20_000
	pods := make([]*pod, n)
	for i := range pods {
		pods[i] = newPod("ns-"+strconv.Itoa(i%namespaces), "pod-"+strconv.Itoa(i))
		pods[i].Spec.NodeName = "node-" + strconv.Itoa(i%50)
		pods[i].Spec.Hostname = "host-" + strconv.Itoa(i)
	}
	node := NewIndex("node", func(p *pod) ([]string, error) { return []string{p.Spec.NodeName}, nil })
	host := NewIndex("host", func(p *pod) ([]string, error) { return []string{p.Spec.Hostname}, nil })
	for _, indexes := range [][]IndexDefinition[*pod]{nil, {node}, {node, host}} {
		before := liveHeap()
		ix, err := New(Options[*pod]{Indexes: indexes})
		require.NoError(t, err)
		b := ix.Batch()
		for _, p := range pods {
			_, _, err := b.Set(p)
			require.NoError(t, err)
		}
		snap := b.Commit()
		heap := liveHeap() - before
		u := snap.Usage()
		assert.InEpsilon(t, heap, u.Total(), 0.02, "%d namespaces, %d indexes", namespaces, len(indexes))
		assert.Len(t, u.Indexes, len(indexes))
		runtime.KeepAlive(ix)
	}
	runtime.KeepAlive(pods)
}

// A small store has no table, and no room for keys that it does not have.
func TestUsageOfASmallStoreIsWhatTheHeapSays(t *testing.T) {
	const stores = 2000
	node := NewIndex("node", func(p *pod) ([]string, error) { return []string{p.Spec.NodeName}, nil })
	perStore := func(objects int, indexes ...IndexDefinition[*pod]) (heap, usage float64) {
		pods := make([]*pod, objects)
		for i := range pods {
			pods[i] = newPod("ns", "pod-"+strconv.Itoa(i))
			pods[i].Spec.NodeName = "node"
		}
		all := make([]*Indexer[*pod], stores)
		before := liveHeap()
		for i := range all {
			ix, err := New(Options[*pod]{Indexes: indexes})
			require.NoError(t, err)
			set(t, ix, pods...)
			all[i] = ix
		}
		heap = float64(liveHeap()-before) / stores
		usage = float64(all[0].Snapshot().Usage().Total())
		assert.Equal(t, objects <= neighbours, all[0].lookup.small())
		runtime.KeepAlive(all)
		runtime.KeepAlive(pods)
		return heap, usage
	}
	for _, indexes := range [][]IndexDefinition[*pod]{nil, {node}} {
		// What New makes, beside a snapshot, is not counted, nor is the name of the namespace.
		heap0, usage0 := perStore(0, indexes...)
		for _, objects := range []int{1, 2, 3, neighbours, neighbours + 1} {
			heap, usage := perStore(objects, indexes...)
			assert.InDelta(t, heap-heap0, usage-usage0, 120, "%d objects, %d indexes", objects, len(indexes))
			if objects == 1 && indexes == nil {
				assert.Less(t, usage-usage0, 450.0)
			}
			t.Logf("%d objects, %d indexes: %.0f bytes, as counted %.0f", objects, len(indexes), heap, usage)
		}
	}
}

func TestUsageOfAnEmptySnapshot(t *testing.T) {
	t.Parallel()
	ix, err := New(Options[*pod]{})
	require.NoError(t, err)
	assert.Less(t, ix.Snapshot().Usage().Total(), 1000)
}
