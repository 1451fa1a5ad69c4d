package informer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A handler that joins late and takes its time delays nothing: neither the
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
		assert.ErrorContains(t, r.Unsynced(), "1 events were delivered")
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
		assert.Equal(t, "gone", r.name)
		w.run()
		assert.False(t, r.HasSynced())
		w.stop()
	})
}

// A late handler is synced when it has returned from the calls for the objects
// that were there. The call for a change may wait for that.
func TestHandlerIsSyncedBeforeItsFirstChange(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{true, false} {
		t.Run(fmt.Sprint("late=", late), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				w := newWorld(t, c, Options[*pod]{InitialObjects: func(yield func(*pod) bool) { yield(c.set("a", "x", 1)) }})
				if late {
					w.run()
				}
				joined, more := make(chan *Registration, 1), make(chan struct{})
				var r *Registration
				var changes []string
				reg, err := w.inf.AddHandler(HandlerFunc[*pod](func(e Event[*pod]) {
					if r == nil { // the first object: what follows is in the log when it returns
						r = <-joined
						<-more
						assert.False(t, r.HasSynced(), "it has not returned from the call")
					}
					if e.Origin != Watch {
						return
					}
					changes = append(changes, describe(e))
					select {
					case <-r.Synced():
					case <-time.After(time.Hour):
						assert.Fail(t, "a change is delivered, and it is not synced")
					}
				}), HandlerOptions{})
				require.NoError(t, err)
				joined <- reg
				synctest.Wait()
				if !late {
					w.run()
				}
				w.set("a", "x", 2)
				synctest.Wait()
				w.set("a", "y", 1)
				synctest.Wait()
				close(more)
				synctest.Wait()
				assert.Equal(t, []string{"Updated a/x 1→2 Watch", "Added a/y 1 Watch"}, changes)
				w.stop()
			})
		})
	}
}
