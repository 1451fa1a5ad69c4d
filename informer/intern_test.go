package informer

import (
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer/intern"
)

// alike are names of pods that differ in nothing else.
func alike(c *cluster, n int) {
	for i := range n {
		c.set("a", fmt.Sprint("pod-", i), 12)
	}
}

func TestEqualPartsAreStoredOnce(t *testing.T) {
	t.Parallel()
	pool := intern.NewPool()
	c := newCluster()
	alike(c, 10)
	inWorld(t, c, Options[*pod]{Transform: intern.Transform[*pod](pool)}, func(t *testing.T, w *world) {
		var labels []map[string]string
		for p := range w.inf.Snapshot().All() {
			require.Equal(t, map[string]string{"n": "12"}, p.Labels)
			labels = append(labels, p.Labels)
		}
		labels[0]["seen"], labels[9]["seen"] = "", "" // what no program may do
		shared := 0
		for _, l := range labels {
			shared += len(l) - 1
		}
		assert.Greater(t, shared, 5)
		assert.NotZero(t, pool.Stats().Found)
	})
}

// A modified part is found in whatever sampled object has it.
func TestMutationOfASharedPartIsFound(t *testing.T) {
	t.Parallel()
	var found []indexer.Mutation
	opts := Options[*pod]{
		Transform: intern.Transform[*pod](intern.NewPool()), Logger: slog.New(slog.DiscardHandler),
		Indexer: indexer.Options[*pod]{Mutations: indexer.MutationOptions{
			SampleEvery: 1, OnMutation: func(m indexer.Mutation) { found = append(found, m) },
		}},
	}
	c := newCluster()
	alike(c, 10)
	inWorld(t, c, opts, func(t *testing.T, w *world) {
		c.set("a", "pod-5", 13)
		synctest.Wait()
		require.Zero(t, w.inf.applier.store.CheckMutations())
		// The pod that was read first may have a map of its own: a part enters the pool
		// when it is seen for the second time.
		holders := map[uintptr]int{}
		for obj := range w.inf.Snapshot().All() {
			holders[reflect.ValueOf(obj.Labels).Pointer()]++
		}
		for obj := range w.inf.Snapshot().All() {
			if holders[reflect.ValueOf(obj.Labels).Pointer()] > 5 {
				obj.Labels["n"] = "modified"
				break
			}
		}
		w.inf.applier.store.CheckMutations()
		assert.Greater(t, len(found), 5, "all that share the map")
		for _, m := range found {
			assert.Equal(t, "metadata.labels.n", m.Path)
		}
	})
}
