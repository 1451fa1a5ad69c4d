package informer

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/reflector"
)

// stall adds an observer that blocks in its first call until released.
func (w *world) stall(opts HandlerOptions) (o *observer, release func()) {
	gate := make(chan struct{})
	o = observe(w.t, w.inf)
	o.each = func(Event[*pod]) { <-gate }
	w.add(o, opts)
	return o, func() { close(gate); synctest.Wait() }
}

func TestHandlerBeyondItsBoundGetsTheDifference(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "deleted", 0)
	c.set("a", "replaced", 0)
	c.set("a", "updated", 0)
	c.set("a", "same", 0)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		fast, _ := w.join(HandlerOptions{})
		slow, _ := w.join(HandlerOptions{Bound: 100, Name: "slow"})
		gate := make(chan struct{})
		slow.each = func(Event[*pod]) { <-gate }
		slow.take()
		w.set("a", "first", 0)
		synctest.Wait()
		for n := range 2000 {
			w.set("a", "updated", n)
			w.set("a", "short-lived", n)
			w.remove("a", "short-lived")
			synctest.Wait()
		}
		w.remove("a", "deleted")
		w.remove("a", "replaced")
		w.set("a", "replaced", 1)
		w.set("a", "added", 7)
		synctest.Wait()
		assert.Equal(t, 6005, healthOf(w.inf, "slow").Lag)
		close(gate)
		synctest.Wait()
		got := slow.take()
		assert.Equal(t, "Added a/first 0 Watch", got[0])
		assert.ElementsMatch(t, []string{
			"Updated a/updated 0→1999 CatchUp",
			"Deleted a/deleted 0 CatchUp unseen",
			"Deleted a/replaced 0 CatchUp unseen",
			"Added a/replaced 1 CatchUp",
			"Added a/added 7 CatchUp",
		}, got[1:])
		requireSame(t, c, w.inf, fast, slow)
		assert.Equal(t, uint64(1), overflowsOf(w.inf, "slow"))
		assert.Zero(t, healthOf(w.inf, "slow").Lag)
		assert.Zero(t, healthOf(w.inf, "slow").LagAge)
	})
}

func TestLosslessHandlerGetsEveryEvent(t *testing.T) {
	t.Parallel()
	c := newCluster()
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, release := w.stall(HandlerOptions{Lossless: true})
		total := 3 * defaultBound
		for n := range total {
			w.set("a", "x", n)
			if n%1000 == 0 {
				synctest.Wait()
			}
		}
		release()
		assert.Equal(t, total, o.len())
		requireSame(t, c, w.inf, o)
	})
}

func TestLagIsVisibleInEventsAndTime(t *testing.T) {
	t.Parallel()
	c := newCluster()
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		_, release := w.stall(HandlerOptions{Name: "stalled"})
		w.set("a", "x", 0)
		synctest.Wait()
		time.Sleep(time.Minute)
		for n := range 9 {
			w.set("a", "x", n)
		}
		synctest.Wait()
		h := healthOf(w.inf, "stalled")
		assert.Equal(t, 10, h.Lag)
		assert.Equal(t, time.Minute, h.LagAge)
		assert.Equal(t, uint64(1), h.Delivered)
		release()
		h = healthOf(w.inf, "stalled")
		assert.Zero(t, h.Lag)
		assert.Zero(t, h.LagAge)
		assert.Equal(t, uint64(10), h.Delivered)
	})
}

// What a stalled handler holds is bounded by the objects that changed, not by
// the number of changes.
func TestStalledHandlerHoldsNoHistory(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		_, release := w.stall(HandlerOptions{Bound: 500})
		var held []weak.Pointer[pod]
		seen := HandlerFunc[*pod](func(e Event[*pod]) { held = append(held, weak.Make(e.New)) })
		w.add(seen, HandlerOptions{})
		const keys, total = 20, 20_000
		for n := range total {
			w.set("a", fmt.Sprint(n%keys), n)
			if n%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		w.mu.Lock()
		w.history, w.start = nil, w.rv // the cluster is to hold nothing either
		w.mu.Unlock()
		runtime.GC()
		alive := 0
		for _, p := range held {
			if p.Value() != nil {
				alive++
			}
		}
		require.Len(t, held, total)
		// The run at hand, what is within the bound, the old and the new state.
		assert.Less(t, alive, 500+3*256+2*keys)
		release()
	})
}

// A handler that is removed while a call of it lasts has no bound any more: the
// log does not grow for it.
func TestStalledLosslessHandlerHoldsNothingOnceRemoved(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		gate := make(chan struct{})
		r := w.add(HandlerFunc[*pod](func(Event[*pod]) { <-gate }), HandlerOptions{Lossless: true})
		var held []weak.Pointer[pod]
		w.add(HandlerFunc[*pod](func(e Event[*pod]) { held = append(held, weak.Make(e.New)) }), HandlerOptions{})
		alive := func() (n int) {
			w.mu.Lock()
			w.history, w.start = nil, w.rv // the cluster is to hold nothing
			w.mu.Unlock()
			runtime.GC()
			for _, p := range held {
				if p.Value() != nil {
					n++
				}
			}
			return n
		}
		write := func() {
			for n := range 5000 {
				w.set("a", "x", n)
				if n%100 == 0 {
					synctest.Wait()
				}
			}
			synctest.Wait()
		}
		write()
		assert.Equal(t, 5000, alive(), "it is lossless")
		r.Remove()
		assert.Less(t, alive(), 1000, "what was not delivered is dropped")
		write()
		assert.Less(t, alive(), 1000)
		close(gate)
		<-r.Done()
		write()
		assert.Less(t, alive(), 10, "the log is empty when all that are left have read it")
	})
}

func TestLagOfAHandlerThatCatchesUpHasAnAge(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 0)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		_, release := w.stall(HandlerOptions{Name: "stalled"})
		time.Sleep(time.Minute)
		h := healthOf(w.inf, "stalled")
		assert.True(t, h.CatchingUp)
		assert.Equal(t, time.Minute, h.LagAge)
		release()
		assert.Zero(t, healthOf(w.inf, "stalled").LagAge)
	})
}

// A list is one entry of the log, however many objects it has changed.
func TestStalledHandlerKeepsTheObjectsOfThreeSnapshots(t *testing.T) {
	t.Parallel()
	const keys, rounds = 20, 30
	for name, change := range map[string]func(w *world, round int) error{
		"lists after expired watches": func(w *world, round int) error {
			w.disconnect(true)
			for k := range keys {
				w.set("a", fmt.Sprint(k), round)
			}
			return nil
		},
		"a namespace that comes and goes": func(w *world, round int) error {
			w.inf.RemoveNamespace("a")
			synctest.Wait()
			for k := range keys {
				w.set("a", fmt.Sprint(k), round)
			}
			return w.inf.AddNamespace("a", w.namespaced("a"))
		},
	} {
		for _, bound := range []int{0, 1} {
			t.Run(fmt.Sprint(name, ", bound ", bound), func(t *testing.T) {
				t.Parallel()
				c := newCluster()
				for k := range keys {
					c.set("a", fmt.Sprint(k), 0)
				}
				synctest.Test(t, func(t *testing.T) {
					c.enter()
					inf, err := NewNamespaced(map[string]reflector.ListerWatcher[*pod]{"a": c.namespaced("a")}, Options[*pod]{})
					require.NoError(t, err)
					w := &world{cluster: c, t: t, inf: inf}
					w.run()
					var held []weak.Pointer[pod]
					w.add(HandlerFunc[*pod](func(e Event[*pod]) { held = append(held, weak.Make(e.Object())) }), HandlerOptions{})
					o, release := w.stall(HandlerOptions{Bound: bound, Name: "stalled"})
					for round := range rounds {
						require.NoError(t, change(w, round+1))
						time.Sleep(5 * time.Minute)
						synctest.Wait()
					}
					require.GreaterOrEqual(t, len(held), keys*rounds)
					assert.LessOrEqual(t, w.alive(held), 4*keys)
					release()
					requireSame(t, c, w.inf, o)
					assert.Equal(t, uint64(1), overflowsOf(w.inf, "stalled"))
					w.stop()
				})
			})
		}
	}
}
