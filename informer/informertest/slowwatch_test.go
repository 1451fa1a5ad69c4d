package informertest_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer/informertest"
)

// A watch over TCP that the client does not read fills the buffers of the two sockets and
// then waits, without holding up writers, collecting events, or keeping Close.
// Promise informertest/7
func TestAWatchThatIsNeverReadCostsNoMoreThanTheHistory(t *testing.T) { //nolint:paralleltest // it measures the heap
	const size, writes, history = 100_000, 150, 10
	s := informertest.Start(t, informertest.Options{HistoryLength: history})
	body, err := core(t, s).Get().Resource("configmaps").Param("watch", "true").Param("resourceVersion", s.ResourceVersion()).Stream(t.Context())
	require.NoError(t, err)
	defer body.Close()
	before := heap()
	cm := configmap("a")
	require.NoError(t, s.Create(cm))
	for i := range writes {
		cm.Object["data"] = map[string]any{"k": strings.Repeat(string(rune('a'+i%26)), size)}
		require.NoError(t, s.Update(cm))
	}
	// The history, what the watch is about to send, and what is on its way.
	assert.Less(t, heap()-before, int64(6*history*size), "of %d bytes written", writes*size)
	s.Close() // returns although the watch waits for its client
}

// heap is the size of what is reachable.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// A config map may be as large as a cluster's, and is then shown whole.
func TestALargeObjectIsShownWhole(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{})
	content := strings.Repeat("x", 1<<20)
	cm := &corev1.ConfigMap{Data: map[string]string{"k": content}}
	cm.Namespace, cm.Name = "default", "large"
	client := core(t, s)
	from := s.ResourceVersion()
	var got corev1.ConfigMap
	require.NoError(t, client.Post().Namespace("default").Resource("configmaps").Body(cm).Do(t.Context()).Into(&got))
	assert.Equal(t, content, got.Data["k"])
	var list corev1.ConfigMapList
	require.NoError(t, client.Get().Resource("configmaps").Do(t.Context()).Into(&list))
	require.Len(t, list.Items, 1)
	assert.Equal(t, content, list.Items[0].Data["k"])
	w, err := client.Get().Resource("configmaps").Param("watch", "true").Param("resourceVersion", from).Watch(t.Context())
	require.NoError(t, err)
	defer w.Stop()
	event, ok := (<-w.ResultChan()).Object.(*corev1.ConfigMap)
	require.True(t, ok)
	assert.Equal(t, content, event.Data["k"])
}
