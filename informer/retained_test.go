package informer

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/reflector"
)

// alive returns how many of the objects are still referenced, when the cluster
// keeps no history.
func (w *world) alive(objs []weak.Pointer[pod]) (n int) {
	w.mu.Lock()
	w.history, w.start = nil, w.rv
	w.mu.Unlock()
	runtime.GC()
	for _, p := range objs {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

// A loop over Events that has ended holds nothing of the log.
func TestEventsThatEndedHoldNothing(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 0)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		for range w.inf.Events(t.Context()) {
			break
		}
		var held []weak.Pointer[pod]
		w.add(HandlerFunc[*pod](func(e Event[*pod]) { held = append(held, weak.Make(e.New)) }), HandlerOptions{})
		for n := range 500 {
			w.set("a", "x", n)
			synctest.Wait()
		}
		assert.Less(t, w.alive(held), 10)
	})
}

// A burst leaves nothing behind in the memory of its consumer.
func TestAppliedChangesAreNotRetained(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		for n := range 40 {
			w.set("a", "x", n)
		}
		synctest.Wait()
		a := w.inf.applier
		assert.LessOrEqual(t, cap(a.records), maxScratch)
		for _, r := range a.records[:cap(a.records)] {
			assert.Zero(t, r)
		}
		w.writeMany(3 * applyAtOnce)
		synctest.Wait()
		assert.LessOrEqual(t, cap(a.records), maxScratch)
	})
}

// What filled the cache at first may hold another cache.
func TestSeedIsNotRetained(t *testing.T) {
	t.Parallel()
	seeded := func(create func(Options[*pod]) (*Informer[*pod], error)) (*Informer[*pod], weak.Pointer[[1024]byte]) {
		seed := new([1024]byte)
		inf, err := create(Options[*pod]{InitialObjects: func(yield func(*pod) bool) { yield(labelled(fmt.Sprint(len(seed)))) }})
		require.NoError(t, err)
		assert.Equal(t, 1, inf.Snapshot().Len())
		return inf, weak.Make(seed)
	}
	for name, create := range map[string]func(Options[*pod]) (*Informer[*pod], error){
		"New": func(o Options[*pod]) (*Informer[*pod], error) { return New(newCluster().source(), o) },
		"NewNamespaced": func(o Options[*pod]) (*Informer[*pod], error) {
			return NewNamespaced(map[string]reflector.ListerWatcher[*pod]{"a": newCluster().namespaced("a")}, o)
		},
	} {
		inf, seed := seeded(create)
		runtime.GC()
		assert.Nil(t, seed.Value(), name)
		runtime.KeepAlive(inf)
	}
}

func TestEventsEndsWithItsContextAlsoWithinADifference(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	c.set("a", "y", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for range w.inf.Events(ctx) {
			n++
			cancel()
		}
		assert.Equal(t, 1, n)
	})
}

// Slices that were missed, on a machine that slept for example, are due as well.
func TestMissedSlicesOfAResyncAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newResyncer(time.Minute, func() {})
		r.begin()
		r.timer.Stop()
		time.Sleep(10*time.Second + time.Millisecond)
		r.step()
		assert.Equal(t, 10, bits.OnesCount64(r.due.Load()), fmt.Sprintf("%b", r.due.Load()))
		r.end()
	})
}

// The cache as a whole is where the slowest of its sources is.
func TestVersionOfSeveralNamespacesIsTheLeast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a", "b")
		w.run()
		begin := w.inf.Snapshot().ResourceVersion()
		w.set("a", "x", 1)
		synctest.Wait()
		assert.Equal(t, begin, w.inf.Snapshot().ResourceVersion())
		w.set("b", "x", 1)
		synctest.Wait()
		a := w.get(objKey("a", "x")).ResourceVersion
		assert.Equal(t, a, w.inf.Snapshot().ResourceVersion())
		w.stop()
	})
}
