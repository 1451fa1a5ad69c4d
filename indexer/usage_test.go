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

// Usage is what the heap says, for indexes with few objects per value and with many.
func TestUsageIsWhatTheHeapSays(t *testing.T) {
	const n = 20_000
	pods := make([]*pod, n)
	for i := range pods {
		pods[i] = newPod("ns-"+strconv.Itoa(i%10), "pod-"+strconv.Itoa(i))
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
		assert.InEpsilon(t, heap, u.Total(), 0.02, "%d indexes", len(indexes))
		assert.Len(t, u.Indexes, len(indexes))
		runtime.KeepAlive(ix)
	}
	runtime.KeepAlive(pods)
}

func TestUsageOfAnEmptySnapshot(t *testing.T) {
	t.Parallel()
	ix, err := New(Options[*pod]{})
	require.NoError(t, err)
	assert.Less(t, ix.Snapshot().Usage().Total(), 1000)
}
