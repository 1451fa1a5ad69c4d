package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// podWorld is a Ranged of a cluster, and its run.
type podWorld struct {
	*cluster
	t    *testing.T
	inf  *Ranged[*pod]
	stop func()
}

// newPodWorld returns one whose informer reads no range yet.
func newPodWorld(t *testing.T, c *cluster, key HashKey, opts informer.Options[*pod]) *podWorld {
	c.enter()
	inf, err := NewRanged(c.source(), key, opts)
	require.NoError(t, err)
	return &podWorld{cluster: c, t: t, inf: inf}
}

func (w *podWorld) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.inf.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(w.t, <-ended)
	})
	synctest.Wait()
}

// join adds an observer and lets it catch up.
func (w *podWorld) join(opts informer.HandlerOptions) (*observer, *informer.Registration) {
	w.t.Helper()
	o := observe(w.t)
	return o, w.add(o, opts)
}

func (w *podWorld) add(h informer.Handler[*pod], opts informer.HandlerOptions) *informer.Registration {
	w.t.Helper()
	r, err := w.inf.AddHandler(h, opts)
	require.NoError(w.t, err)
	synctest.Wait()
	return r
}

// within returns the state of the server in some ranges.
func (c *cluster) within(key HashKey, owned ...HashRange) map[types.NamespacedName]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := map[types.NamespacedName]string{}
	for k, p := range c.objs {
		if slices.ContainsFunc(owned, func(r HashRange) bool { return r.Contains(key.Of(p)) }) {
			m[k] = p.ResourceVersion
		}
	}
	return m
}

// requireWithin checks that the cache and the observers have exactly the ranges.
func requireWithin(t testing.TB, w *podWorld, key HashKey, owned []HashRange, all ...*observer) {
	t.Helper()
	want, got := w.within(key, owned...), map[types.NamespacedName]string{}
	for p := range w.inf.Snapshot().All() {
		got[object.KeyOf(p)] = p.ResourceVersion
	}
	require.Equal(t, want, got, "cache")
	for i, o := range all {
		require.Equal(t, want, o.state(), "observer %d", i)
	}
}

// populate sets n pods.
func (c *cluster) populate(n int) {
	for i := range n {
		c.set(fmt.Sprint("ns-", i%10), fmt.Sprint("pod-", i), 1)
	}
}

// origins counts events by type and origin.
func origins(o *observer) map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := map[string]int{}
	for _, e := range o.events {
		m[fmt.Sprint(e.Type, " ", e.Origin)]++
	}
	o.events = nil
	return m
}

// Promise: the cache has exactly the objects of the ranges, and handlers see the
// additions and deletions of a range that comes and goes.
//
// Promise informer/sharding/11
func TestRangesComeAndGoWhileRunning(t *testing.T) {
	t.Parallel()
	for _, gate := range []bool{true, false} {
		t.Run(fmt.Sprint("gate=", gate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				c.gate = gate
				c.populate(400)
				w := newPodWorld(t, c, HashUID, informer.Options[*pod]{Name: "pods"})
				o, r := w.join(informer.HandlerOptions{})
				w.run()
				assert.True(t, w.inf.HasSynced(), "without a range there is nothing to wait for")
				assert.True(t, r.HasSynced())
				assert.Empty(t, w.inf.Health().Sources, "nor anything to read")

				parts := SplitHashes(4)
				require.NoError(t, w.inf.AddRanges(parts[0], parts[2]))
				require.NoError(t, w.inf.WaitForRanges(t.Context(), parts[0], parts[2]))
				requireWithin(t, w, HashUID, []HashRange{parts[0], parts[2]}, nil...)
				synctest.Wait()
				assert.Equal(t, map[string]int{"Added InitialList": w.inf.Snapshot().Len()}, origins(o))
				assert.Equal(t, 1, c.lists, "ranges that are added together are listed together")

				before := w.inf.Snapshot().Len()
				require.NoError(t, w.inf.AddRanges(parts[1]))
				assert.Equal(t, []informer.PartHealth{{Name: parts[0].String(), Synced: true}, {Name: parts[1].String()}, {Name: parts[2].String(), Synced: true}}, w.inf.Health().Parts)
				require.NoError(t, w.inf.WaitForRanges(t.Context()))
				requireWithin(t, w, HashUID, parts[:3])
				synctest.Wait()
				assert.Equal(t, map[string]int{"Added InitialList": w.inf.Snapshot().Len() - before}, origins(o))

				all := w.inf.Snapshot().Len()
				assert.True(t, w.inf.RemoveRanges(parts[0]))
				requireWithin(t, w, HashUID, parts[1:3]) // at once
				synctest.Wait()
				assert.Equal(t, map[string]int{"Deleted PartRemoved": all - w.inf.Snapshot().Len()}, origins(o))
				assert.False(t, w.inf.RemoveRanges(parts[0]))
				lists := c.lists
				c.populate(400) // every object changes
				synctest.Wait()
				requireWithin(t, w, HashUID, parts[1:3], o)
				assert.Equal(t, map[string]int{"Updated Watch": w.inf.Snapshot().Len()}, origins(o))
				assert.Equal(t, lists, c.lists, "to remove a range costs no list")

				assert.True(t, w.inf.RemoveRanges(parts[1], parts[2]))
				synctest.Wait()
				assert.Empty(t, w.inf.Health().Sources)
				assert.Empty(t, o.state())
				w.stop()
				require.ErrorIs(t, w.inf.AddRanges(parts[0]), informer.ErrStopped)
			})
		})
	}
}

// What an owner of many ranges costs: they are added one by one, faster than lists end.
func TestRangesAddedInQuickSuccessionCostTwoLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.populate(100)
		w := newPodWorld(t, c, HashUID, informer.Options[*pod]{})
		w.run()
		slow := errors.New("not yet")
		c.fail(slow) // the list does not end
		for _, r := range SplitHashes(64) {
			require.NoError(t, w.inf.AddRanges(r))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		tried := c.lists
		c.fail(nil)
		require.NoError(t, w.inf.WaitForRanges(t.Context()))
		assert.Equal(t, 2, c.lists-tried)
		requireWithin(t, w, HashUID, SplitHashes(64))
		w.stop()
	})
}

// A handler that was beyond its bound does not take a range that went for deletions,
// nor deletions for a range that went.
func TestCatchingUpTellsDeletionsFromRemovedRanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.populate(100)
		w := newPodWorld(t, c, HashUID, informer.Options[*pod]{})
		halves := SplitHashes(2)
		require.NoError(t, w.inf.AddRanges(halves...))
		w.run()
		o := observe(t)
		o.exists = c.exists
		gate := make(chan struct{})
		blocked := false
		o.each = func(e informer.Event[*pod]) {
			if e.Type == informer.Updated && !blocked {
				blocked = true
				<-gate
			}
		}
		w.add(o, informer.HandlerOptions{Bound: 1})
		origins(o)
		c.populate(1)
		synctest.Wait()
		for i := range 50 {
			c.remove(fmt.Sprint("ns-", i%10), fmt.Sprint("pod-", i))
		}
		synctest.Wait()
		w.inf.RemoveRanges(halves[0])
		for n := range 1000 { // beyond any bound
			c.set(fmt.Sprint("ns-", n%50%10), fmt.Sprint("pod-", 50+n%50), n)
		}
		synctest.Wait()
		removed, gone := 0, 0
		for k := range o.state() {
			if p := o.view[k]; halves[0].Contains(HashUID.Of(p)) {
				removed++
			} else if !c.exists(p.UID) {
				gone++
			}
		}
		close(gate)
		synctest.Wait()
		seen := origins(o)
		assert.Positive(t, healthOf(w.inf, "handler-1").Overflows)
		assert.Equal(t, removed, seen["Deleted PartRemoved"], "%v", seen)
		assert.Equal(t, gone, seen["Deleted CatchUp"], "%v", seen)
		requireWithin(t, w, HashUID, halves[1:], o)
		w.stop()
	})
}

// The removal of a range is one entry of the log that holds all of its objects, so a handler that is stalled does not
// keep one per removal.
func TestStalledHandlerDoesNotKeepTheObjectsOfEachRemovedRange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const keys, rounds = 20, 30
		c := newCluster()
		c.populate(keys)
		w := newPodWorld(t, c, HashUID, informer.Options[*pod]{})
		w.run()
		var held []weak.Pointer[pod]
		w.add(informer.HandlerFunc[*pod](func(e informer.Event[*pod]) {
			if e.Type == informer.Added {
				held = append(held, weak.Make(e.New))
			}
		}), informer.HandlerOptions{})
		gate := make(chan struct{})
		w.add(informer.HandlerFunc[*pod](func(informer.Event[*pod]) { <-gate }), informer.HandlerOptions{Name: "stalled"})
		for range rounds {
			require.NoError(t, w.inf.AddRanges(SplitHashes(1)...))
			require.NoError(t, w.inf.WaitForRanges(t.Context()))
			synctest.Wait()
			w.inf.RemoveRanges(SplitHashes(1)...)
			c.populate(keys) // every object changes
			synctest.Wait()
		}
		require.Len(t, held, keys*rounds)
		c.mu.Lock()
		c.history, c.start = nil, c.rv
		c.mu.Unlock()
		runtime.GC()
		alive := 0
		for _, p := range held {
			if p.Value() != nil {
				alive++
			}
		}
		assert.LessOrEqual(t, alive, 4*keys)
		close(gate)
		w.stop()
	})
}

// A range that is removed and added back was not followed in between.
//
// Promise informer/sharding/13
func TestRangeThatComesBackIsListedAgain(t *testing.T) {
	t.Parallel()
	for _, gate := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster()
			c.gate = gate
			c.populate(100)
			w := newPodWorld(t, c, HashUID, informer.Options[*pod]{})
			halves := SplitHashes(2)
			require.NoError(t, w.inf.AddRanges(halves...))
			w.run()
			assert.True(t, w.inf.RemoveRanges(halves[0]))
			c.populate(100)
			synctest.Wait()
			require.NoError(t, w.inf.AddRanges(halves[0]))
			require.NoError(t, w.inf.WaitForRanges(t.Context(), halves[0]))
			requireWithin(t, w, HashUID, halves)
			// Both at once, before anything has run.
			assert.True(t, w.inf.RemoveRanges(halves[1]))
			require.NoError(t, w.inf.AddRanges(halves[1]))
			require.NoError(t, w.inf.WaitForRanges(t.Context()))
			requireWithin(t, w, HashUID, halves)
			w.stop()
		})
	}
}

func TestImpossibleRangesAreErrors(t *testing.T) {
	t.Parallel()
	c := newCluster()
	_, err := NewRanged[*pod](nil, HashUID, informer.Options[*pod]{})
	require.ErrorContains(t, err, "ListerWatcher is nil")
	_, err = NewRanged(c.source(), HashKey(9), informer.Options[*pod]{})
	require.ErrorContains(t, err, "unknown HashKey 9")
	_, err = NewRanged(c.source(), HashUID, informer.Options[*pod]{Reflector: reflector.Options{Sync: "odd"}})
	require.ErrorContains(t, err, "odd", "what is wrong with the options is found here")
	inf, err := NewRanged(c.source(), HashUID, informer.Options[*pod]{Name: "pods"})
	require.NoError(t, err)
	parts := SplitHashes(4)
	require.NoError(t, inf.AddRanges(parts[1]))
	require.ErrorContains(t, inf.AddRanges(parts[0], parts[1]), "overlaps")
	require.ErrorContains(t, inf.AddRanges(HashRange{parts[1].Last, math.MaxUint64}), "overlaps")
	require.ErrorContains(t, inf.AddRanges(HashRange{2, 1}), "is empty")
	require.ErrorContains(t, inf.AddRanges(parts[2], parts[2]), "overlaps")
	assert.Len(t, inf.Health().Parts, 1, "all or none")
	require.ErrorContains(t, inf.WaitForRanges(t.Context(), parts[2]), "add it with AddRanges")
	require.ErrorContains(t, inf.AddNamespace("a", c.source()), "NewNamespaced")
	assert.False(t, inf.RemoveNamespace("a"))
}

// Promise informer/sharding/13
func TestWaitingInRanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.populate(20)
		w := newPodWorld(t, c, HashUID, informer.Options[*pod]{})
		w.run()
		halves := SplitHashes(2)
		p := c.set("a", "x", 1)
		mine, others := halves[0], halves[1]
		if !mine.Contains(HashUID.Of(p)) {
			mine, others = others, mine
		}
		require.ErrorContains(t, w.inf.WaitForObject(t.Context(), p), "it reads no range of hashes; add one with AddRanges")
		c.fail(errors.New("boom"))
		require.NoError(t, w.inf.AddRanges(mine))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.inf.WaitForRanges(ctx, mine)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "boom", "it says why")
		_, r := w.join(informer.HandlerOptions{})
		assert.False(t, r.HasSynced())
		require.ErrorContains(t, r.Unsynced(), "1 of 1 ranges of hashes are not listed yet, such as "+mine.String())
		gone := make(chan error, 1)
		go func() { gone <- w.inf.WaitForRanges(t.Context(), mine) }()
		synctest.Wait()
		assert.True(t, w.inf.RemoveRanges(mine))
		require.ErrorContains(t, <-gone, "add it with AddRanges", "it went while it was waited for")
		synctest.Wait()
		assert.True(t, r.HasSynced())
		require.NoError(t, w.inf.AddRanges(mine))
		c.fail(nil)
		require.NoError(t, w.inf.WaitForObject(t.Context(), p))
		require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), p.ResourceVersion))

		// A write to another range moves the cache on, though nothing of it is stored.
		for i := range 20 {
			q := c.set("b", fmt.Sprint(i), 1)
			if others.Contains(HashUID.Of(q)) {
				require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), q.ResourceVersion))
				require.ErrorContains(t, w.inf.WaitForObject(t.Context(), q), "not in the ranges of hashes")
			}
		}
		requireWithin(t, w, HashUID, []HashRange{mine})
		w.stop()
	})
}

// A server that begins to ignore the selector, or to honour it, makes no difference but
// to the report: one line, each time.
//
// Promise informer/sharding/12
func TestServerThatChangesItsMindAboutShardsIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := &syncedLog{}
		c := newCluster()
		c.gate = true
		c.populate(300)
		w := newPodWorld(t, c, HashUID, informer.Options[*pod]{Logger: slog.New(slog.NewTextHandler(logs, nil))})
		half := SplitHashes(2)[0]
		require.NoError(t, w.inf.AddRanges(half))
		o, _ := w.join(informer.HandlerOptions{})
		w.run()
		source := func() informer.SourceHealth { return w.inf.Health().Sources[0] }
		assert.Equal(t, informer.FilteredByServer, source().FilteredBy)
		assert.Zero(t, source().Outside)
		assert.Equal(t, 1, logs.take("the server filters by the shard selector"))
		for round := range 3 {
			c.setGate(false)
			w.disconnect(round == 1) // resumed, or listed again
			time.Sleep(time.Minute)
			c.populate(300)
			synctest.Wait()
			requireWithin(t, w, HashUID, []HashRange{half}, o)
			assert.Equal(t, informer.FilteredByClient, source().FilteredBy)
			assert.Positive(t, source().Outside)
			assert.Equal(t, 1, logs.take("the server ignores the shard selector"))

			c.setGate(true)
			w.disconnect(round == 1)
			time.Sleep(time.Minute)
			for range 100 { // one object alone proves nothing
				c.set("ns-0", "pod-0", 1)
			}
			c.populate(300)
			synctest.Wait()
			requireWithin(t, w, HashUID, []HashRange{half}, o)
			assert.Equal(t, informer.FilteredByServer, source().FilteredBy)
			assert.Equal(t, 1, logs.take("the server filters by the shard selector"))
		}
		w.stop()
	})
}

// An object of HashOwner leaves a range when its owner does: as a deletion with its
// final state, as if a selector did not match it any more.
func TestObjectMovesWithItsOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		halves := SplitHashes(2)
		var owners [2]types.UID
		for i := 0; owners[0] == "" || owners[1] == ""; i++ {
			uid := types.UID(fmt.Sprint("owner-", i))
			owners[HashOf(string(uid))>>63] = uid
		}
		c.set("a", "x", 1)
		c.own("a", "x", owners[0])
		w := newPodWorld(t, c, HashOwner, informer.Options[*pod]{})
		require.NoError(t, w.inf.AddRanges(halves[0]))
		o, _ := w.join(informer.HandlerOptions{})
		w.run()
		assert.Equal(t, []string{"Added a/x 1 InitialList"}, o.take())
		assert.Equal(t, informer.FilteredByClient, w.inf.Health().Sources[0].FilteredBy)
		c.own("a", "x", owners[1])
		synctest.Wait()
		assert.Equal(t, []string{"Deleted a/x 1 Watch"}, o.take())
		c.set("a", "x", 2)
		synctest.Wait()
		assert.Empty(t, o.take())
		c.own("a", "x", owners[0])
		synctest.Wait()
		assert.Equal(t, []string{"Added a/x 2 Watch"}, o.take())
		c.own("a", "x", owners[1])
		w.disconnect(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, o.take(), 1)
		requireWithin(t, w, HashOwner, halves[:1], o)
		w.stop()
	})
}

// Ranges are added and removed at random while the collection changes, the server
// disconnects, fails and changes its mind. The observers check each event; in the end,
// and whenever all is quiet, cache and views are the ranges exactly.
//
// Promise informer/sharding/11
// Promise informer/sharding/12
func TestRangesThatComeAndGoAtRandom(t *testing.T) {
	t.Parallel()
	for _, key := range []HashKey{HashUID, HashNamespace, HashOwner} {
		for range 3 {
			seed := rand.Uint64()
			t.Run(fmt.Sprint(key, " ", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { playRanges(t, rand.New(rand.NewPCG(seed, 0)), key) })
			})
		}
	}
}

func playRanges(t *testing.T, rnd *rand.Rand, key HashKey) {
	c := newCluster()
	c.gate = rnd.IntN(2) == 0
	w := newPodWorld(t, c, key, informer.Options[*pod]{})
	parts := SplitHashes(1 + rnd.IntN(12))
	owned := map[HashRange]bool{}
	list := func() (all []HashRange) {
		for r := range owned {
			all = append(all, r)
		}
		return all
	}
	var observers []*observer
	w.run()
	for range 150 {
		ns, name := scatter("ns", rnd.IntN(12)), fmt.Sprint(rnd.IntN(20))
		part := parts[rnd.IntN(len(parts))]
		switch n := rnd.IntN(20); {
		case n < 8:
			for range rnd.IntN(10) {
				w.set(ns, fmt.Sprint(rnd.IntN(20)), rnd.IntN(1000))
			}
			w.remove(ns, name)
		case n < 10:
			w.set(ns, name, rnd.IntN(1000))
			w.own(ns, name, uidOf(rnd.IntN(20)))
		case n < 13:
			if !owned[part] {
				owned[part] = true
				require.NoError(t, w.inf.AddRanges(part))
			}
		case n < 15:
			assert.Equal(t, owned[part], w.inf.RemoveRanges(part))
			delete(owned, part)
			for p := range w.inf.Snapshot().All() {
				assert.False(t, part.Contains(key.Of(p)))
			}
		case n < 16:
			w.disconnect(rnd.IntN(2) == 0)
		case n < 17:
			w.fail([]error{nil, errors.New("trouble")}[rnd.IntN(2)])
		case n < 18:
			w.setGate(rnd.IntN(2) == 0)
		case n < 19 && len(observers) < 10:
			o := observe(t) // the cache may have gone back in the meantime
			if rnd.IntN(2) == 0 {
				o.each = func(informer.Event[*pod]) { time.Sleep(100 * time.Millisecond) }
			}
			w.add(o, informer.HandlerOptions{Bound: 1 + rnd.IntN(100)})
			observers = append(observers, o)
		default:
			time.Sleep(time.Duration(rnd.IntN(5000)) * time.Millisecond)
		}
		if rnd.IntN(10) == 0 {
			w.fail(nil)
			time.Sleep(time.Hour)
			synctest.Wait()
			requireWithin(t, w, key, list(), observers...)
		}
	}
	w.fail(nil)
	time.Sleep(time.Hour)
	synctest.Wait()
	requireWithin(t, w, key, list(), observers...)
	require.NoError(t, w.inf.WaitForRanges(t.Context(), list()...))
	w.inf.RemoveRanges(list()...)
	synctest.Wait()
	time.Sleep(time.Hour)
	synctest.Wait()
	requireWithin(t, w, key, nil, observers...)
	w.stop()
}
