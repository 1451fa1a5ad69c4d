package informer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A handler that joins late and takes its time holds up nobody: neither the
// cache, nor the handlers that were there.
func TestLateHandlerHoldsUpNobody(t *testing.T) {
	t.Parallel()
	c := newCluster()
	for i := range 1000 {
		c.set("a", fmt.Sprint(i), 1)
	}
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		early, _ := w.join(HandlerOptions{})
		early.take()
		gate := make(chan struct{})
		late := observe(t, w.inf)
		late.each = func(Event[*pod]) { <-gate }
		r := w.add(late, HandlerOptions{Name: "late"})
		begin := time.Now()
		for n := range 100 {
			p := w.set("a", "0", n)
			require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), p.ResourceVersion))
		}
		synctest.Wait()
		assert.Equal(t, 100, early.len())
		assert.Zero(t, time.Since(begin))
		assert.Equal(t, 1, late.len())
		assert.False(t, r.HasSynced())
		assert.True(t, healthOf(w.inf, "late").CatchingUp)
		assert.ErrorContains(t, r.Unsynced(), "told of 1 objects")
		close(gate)
		synctest.Wait()
		assert.True(t, r.HasSynced())
		require.NoError(t, r.Unsynced())
		requireSame(t, c, w.inf, early, late)
	})
}

// A handler is synced when it has returned from the call for the last object.
func TestHandlerIsSyncedAfterItsLastCallReturned(t *testing.T) {
	t.Parallel()
	c := newCluster()
	for i := range 10 {
		c.set("a", fmt.Sprint(i), 1)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, c, Options[*pod]{})
		o := observe(t, w.inf)
		o.each = func(Event[*pod]) { time.Sleep(time.Second) }
		r := w.add(o, HandlerOptions{})
		w.run()
		begin := time.Now()
		assert.True(t, w.inf.HasSynced())
		<-r.Synced()
		assert.Equal(t, 10*time.Second, time.Since(begin))
		assert.Equal(t, 10, o.len())
		w.stop()
	})
}

// A removed handler that never got to its first objects does not sync.
func TestRemovedHandlerSaysWhyItIsNotSynced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newCluster(), Options[*pod]{})
		_, r := w.join(HandlerOptions{Name: "gone"})
		r.Remove()
		err := WaitForSync(t.Context(), r)
		require.ErrorIs(t, err, ErrStopped)
		assert.ErrorContains(t, err, `"gone"`)
		assert.Equal(t, "gone", r.Name())
		w.run()
		assert.False(t, r.HasSynced())
		w.stop()
	})
}
