package differential

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
)

// jsonWatchList is a seed whose server has WatchLists and serves JSON.
const jsonWatchList = 2

// inWorld runs f in a world that has not started.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(jsonWatchList, &tally{})
		require.NoError(t, err)
		defer w.close()
		f(t, w)
	})
}

// play plays a history.
func (w *world) play(t *testing.T, steps ...step) {
	t.Helper()
	for _, s := range steps {
		require.NoError(t, w.step(s))
	}
}

// D1, D2, D4, D5 and D7 are met with by the histories.

func TestD3ARelistThatChangesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.play(t, step{Do: write}, step{Do: join, N: int(resyncing)}, step{Do: start})
		w.settle(61 * time.Second) // both have resynced twice; client-go does again at 90
		p := w.pairs[0]
		ours, theirs := p.resyncCounts()
		require.NotZero(t, theirs[keys[0]])
		watches := w.server.Count("watch", pods.Resource)
		for side := range 2 {
			w.server.Inject(informertest.Fault{Verb: "watch", Match: w.isOf(side), Effect: informertest.FailWatch(0, expired)})
		}
		w.server.BreakConnections()
		w.settle(10 * time.Second)
		require.Equal(t, watches+4, w.server.Count("watch", pods.Resource), "each failed once and relisted")
		_, theirsNow := p.resyncCounts()
		assert.Greater(t, theirsNow[keys[0]], theirs[keys[0]], "client-go delivers each relist")
		w.settle(20 * time.Second)
		oursNow, _ := p.resyncCounts()
		assert.Equal(t, ours[keys[0]]+1, oursNow[keys[0]], "ours keeps to its turns")
		require.NoError(t, p.compare(true, w.met))
	})
}

func TestD6HandlerThatCannotFollow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var g gate
		var ours, caughtUp, theirs atomic.Int64
		_, err := w.ours.AddHandler(informer.HandlerFunc[*corev1.Pod](func(e informer.Event[*corev1.Pod]) {
			g.pass()
			ours.Add(1)
			if e.Origin == informer.CatchUp {
				caughtUp.Add(1)
			}
		}), informer.HandlerOptions{Bound: 1})
		require.NoError(t, err)
		_, err = w.theirs.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { g.pass(); theirs.Add(1) },
			UpdateFunc: func(any, any) { g.pass(); theirs.Add(1) },
		}, 0)
		require.NoError(t, err)
		w.play(t, step{Do: start})
		g.close()
		const writes = 800
		for n := range writes {
			w.play(t, step{Do: write, Key: n % 2, N: n / 2})
			if n%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		g.open()
		synctest.Wait()
		assert.EqualValues(t, writes, theirs.Load())
		assert.Less(t, ours.Load(), int64(writes/2))
		assert.Positive(t, caughtUp.Load())
	})
}

func TestD8ObjectThatCannotBeDecoded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.play(t, step{Do: write})
		broken := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": "broken"}, "spec": "a string",
		}}
		require.NoError(t, w.server.Create(broken))
		w.start()
		w.settle(10 * time.Minute)
		assert.True(t, w.ours.HasSynced())
		assert.Equal(t, 1, w.ours.Snapshot().Len())
		assert.False(t, w.theirs.HasSynced())
		require.NoError(t, w.server.Delete(pods, "default", "broken"))
		w.settle(recovery)
		assert.True(t, w.theirs.HasSynced())
		require.NoError(t, w.compareStores())
	})
}

func TestD9InitialEventsThatNeverEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.play(t, step{Do: write})
		w.server.Inject(informertest.Fault{Verb: "watch", Times: -1, Effect: informertest.SwallowBookmarks()})
		w.start()
		w.settle(time.Hour)
		assert.True(t, w.ours.HasSynced())
		assert.Less(t, w.ours.Health().SyncedAfter, 15*time.Second)
		assert.False(t, w.theirs.HasSynced())
	})
}
