package informer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/reflector"
)

// namespacedWorld is a world whose informer reads the given namespaces.
func namespacedWorld(t *testing.T, c *cluster, namespaces ...string) *world {
	c.enter()
	sources := map[string]reflector.ListerWatcher[*pod]{}
	for _, ns := range namespaces {
		sources[ns] = c.namespaced(ns)
	}
	inf, err := NewNamespaced(sources, Options[*pod]{Name: "pods"})
	require.NoError(t, err)
	return &world{cluster: c, t: t, inf: inf}
}

func TestSeveralNamespacesFeedOneCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a", "b")
		w.set("a", "x", 1)
		w.set("b", "x", 1)
		w.set("c", "x", 1)
		o, r := w.join(HandlerOptions{})
		w.run()
		assert.True(t, w.inf.HasSynced())
		assert.True(t, r.HasSynced())
		assert.ElementsMatch(t, []string{"Added a/x 1 InitialList", "Added b/x 1 InitialList"}, o.take())

		w.disconnect(true) // a relist of one namespace must not touch the other
		w.set("a", "y", 1)
		w.remove("b", "x")
		w.set("c", "y", 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"Added a/y 1 Relist", "Deleted b/x 1 Relist unseen"}, o.take())
		w.stop()
	})
}

func TestNamespacesComeAndGoWhileRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster())
		w.set("a", "x", 1)
		w.set("b", "x", 1)
		o, r := w.join(HandlerOptions{})
		w.run()
		assert.True(t, w.inf.HasSynced(), "without a namespace there is nothing to wait for")
		assert.True(t, r.HasSynced())

		require.NoError(t, w.inf.AddNamespace("a", w.namespaced("a")))
		synctest.Wait()
		assert.Equal(t, []string{"Added a/x 1 InitialList"}, o.take())
		require.NoError(t, w.inf.AddNamespace("b", w.namespaced("b")))
		synctest.Wait()
		assert.Equal(t, []string{"Added b/x 1 InitialList"}, o.take())
		w.set("a", "x", 2)
		synctest.Wait()
		assert.Equal(t, []string{"Updated a/x 1→2 Watch"}, o.take())

		assert.True(t, w.inf.RemoveNamespace("a"))
		assert.False(t, w.inf.RemoveNamespace("a"))
		synctest.Wait()
		assert.Equal(t, []string{"Deleted a/x 2 PartRemoved unseen"}, o.take())
		w.set("a", "x", 3)
		w.set("b", "x", 3)
		synctest.Wait()
		assert.Equal(t, []string{"Updated b/x 1→3 Watch"}, o.take())
		require.NoError(t, w.inf.AddNamespace("a", w.namespaced("a")))
		synctest.Wait()
		assert.Equal(t, []string{"Added a/x 3 InitialList"}, o.take())
		requireSame(t, w.cluster, w.inf, o)
		w.stop()
		require.ErrorIs(t, w.inf.AddNamespace("c", w.namespaced("c")), ErrStopped)
	})
}

func TestLateHandlerWaitsForANamespaceThatWasAddedBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a")
		w.run()
		w.fail(errors.New("boom"))
		require.NoError(t, w.inf.AddNamespace("b", w.namespaced("b")))
		_, r := w.join(HandlerOptions{})
		assert.False(t, r.HasSynced())
		assert.True(t, w.inf.HasSynced())
		assert.ErrorContains(t, r.Unsynced(), `namespace "b"`)
		assert.ErrorContains(t, r.Unsynced(), "boom")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, w.inf.WaitForResourceVersion(ctx, "1"), context.DeadlineExceeded, "nor is the cache")
		w.fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.True(t, r.HasSynced())
		require.NoError(t, r.Unsynced())
		w.stop()
	})
}

func TestRemovingANamespaceThatNeverListedSyncsTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a", "b")
		w.fail(errors.New("boom"))
		_, r := w.join(HandlerOptions{})
		w.run()
		assert.False(t, w.inf.HasSynced())
		assert.True(t, w.inf.RemoveNamespace("a"))
		assert.True(t, w.inf.RemoveNamespace("b"))
		synctest.Wait()
		assert.True(t, w.inf.HasSynced())
		assert.True(t, r.HasSynced())
		w.stop()
	})
}

func TestImpossibleNamespacesAreErrors(t *testing.T) {
	t.Parallel()
	c := newCluster()
	inf, err := New(c.source(), Options[*pod]{})
	require.NoError(t, err)
	require.Error(t, inf.AddNamespace("a", c.namespaced("a")), "it reads all of them")
	assert.False(t, inf.RemoveNamespace("a"))
	inf, err = NewNamespaced[*pod](nil, Options[*pod]{})
	require.NoError(t, err)
	require.Error(t, inf.AddNamespace("", c.source()))
	require.Error(t, inf.AddNamespace("a", nil))
	require.NoError(t, inf.AddNamespace("a", c.namespaced("a")))
	require.ErrorContains(t, inf.AddNamespace("a", c.namespaced("a")), "before")
	assert.True(t, inf.RemoveNamespace("a"))
}

// The source of a namespace that is being removed is not begun by a Run that
// comes in between: it would fill the cache for ever.
func TestNamespaceRemovedWhileRunBeginsIsNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a")
		w.set("a", "x", 1)
		s := w.inf.endSource("a")
		require.NotNil(t, s)
		w.run()
		assert.True(t, w.inf.dropSource(s))
		assert.False(t, w.inf.dropSource(s), "it was removed before")
		w.set("a", "y", 1)
		synctest.Wait()
		assert.Zero(t, w.inf.Snapshot().Len())
		assert.Zero(t, w.lists)
		w.stop()
	})
}

func TestInformerWithoutNamespacesIsNotSyncedBeforeRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a")
		_, r := w.join(HandlerOptions{})
		require.True(t, w.inf.RemoveNamespace("a"))
		synctest.Wait()
		assert.False(t, w.inf.HasSynced())
		assert.False(t, r.HasSynced())
		require.ErrorContains(t, w.inf.Unsynced(), "call Run")
		w.run()
		assert.True(t, w.inf.HasSynced())
		assert.True(t, r.HasSynced())
		w.stop()
	})
}

// Namespaces are added and removed at random, also the same one by several at
// once, while they change, disconnect and fail. The observers check each event.
func TestNamespacesThatComeAndGoAtRandom(t *testing.T) {
	t.Parallel()
	for range 5 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 0))
				w := namespacedWorld(t, newCluster(), "a")
				all := []string{"a", "b", "c"}
				var observers []*observer
				w.run()
				for range 300 {
					ns := all[rnd.IntN(len(all))]
					switch n := rnd.IntN(20); {
					case n < 10:
						for range rnd.IntN(10) {
							w.set(ns, fmt.Sprint(rnd.IntN(5)), rnd.IntN(1000))
						}
						w.remove(ns, fmt.Sprint(rnd.IntN(5)))
					case n < 13:
						go func() { _ = w.inf.AddNamespace(ns, w.namespaced(ns)) }() // it may be there
					case n < 16:
						go w.inf.RemoveNamespace(ns)
						go w.inf.RemoveNamespace(ns)
					case n < 17:
						w.disconnect(rnd.IntN(2) == 0)
					case n < 18:
						w.fail([]error{nil, errors.New("trouble")}[rnd.IntN(2)])
					case n < 19 && len(observers) < 10:
						o := observe(t, nil) // the cache may have gone back in the meantime
						if rnd.IntN(2) == 0 {
							o.each = func(Event[*pod]) { time.Sleep(100 * time.Millisecond) }
						}
						w.add(o, HandlerOptions{Bound: 1 + rnd.IntN(300)})
						observers = append(observers, o)
					default:
						time.Sleep(time.Duration(rnd.IntN(5000)) * time.Millisecond)
					}
					if rnd.IntN(3) == 0 {
						synctest.Wait()
					}
				}
				synctest.Wait()
				w.fail(nil)
				for _, ns := range all {
					_ = w.inf.AddNamespace(ns, w.namespaced(ns))
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				requireSame(t, w.cluster, w.inf, observers...)
				for _, ns := range all {
					assert.True(t, w.inf.RemoveNamespace(ns))
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				for _, o := range observers {
					assert.Empty(t, o.state())
				}
				w.stop()
			})
		})
	}
}

func TestHandlersMayWaitAndAddAndRemoveNamespaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a")
		a := w.set("a", "x", 1)
		b := w.set("b", "x", 1)
		calls := 0
		w.add(HandlerFunc[*pod](func(e Event[*pod]) {
			if calls++; calls > 1 {
				return
			}
			require.NoError(t, w.inf.AddNamespace("b", w.namespaced("b")))
			require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), a.ResourceVersion))
			assert.True(t, w.inf.RemoveNamespace("a"))
			require.NoError(t, w.inf.WaitForDeleted(t.Context(), e.Key, a.UID))
			for e := range w.inf.Events(t.Context()) {
				assert.Equal(t, b.UID, e.New.UID)
				break
			}
		}), HandlerOptions{})
		w.run()
		assert.Equal(t, 3, calls)
		w.stop()
	})
}

// What the cache was filled with does not stay for ever where nothing reads.
func TestSeededObjectOfANamespaceWithoutSourceGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.enter()
		a, b, cluster := c.set("a", "x", 1), c.set("b", "x", 1), labelled("cluster")
		cluster.Namespace, cluster.ResourceVersion = "", "1"
		seed := func(yield func(*pod) bool) { _ = yield(a) && yield(b) && yield(cluster) }
		m := &recorder{}
		inf, err := NewNamespaced(map[string]reflector.ListerWatcher[*pod]{"a": c.namespaced("a")},
			Options[*pod]{InitialObjects: seed, Metrics: m})
		require.NoError(t, err)
		w := &world{cluster: c, t: t, inf: inf}
		o, r := w.join(HandlerOptions{})
		assert.Len(t, o.take(), 3)
		c.fail(errors.New("boom"))
		w.run()
		assert.False(t, r.HasSynced())
		assert.ElementsMatch(t, []string{
			"Deleted b/x 1 PartRemoved unseen", "Deleted /x cluster PartRemoved unseen",
		}, o.take())
		assert.Equal(t, 2, m.counts.Deleted)
		assert.Equal(t, 1, inf.Snapshot().Len(), "that of a namespace which is read stays until its list")
		require.NoError(t, inf.WaitForDeleted(t.Context(), objKey("b", "x"), ""))

		c.fail(nil)
		require.NoError(t, inf.AddNamespace("b", c.namespaced("b")))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.True(t, r.HasSynced())
		assert.Equal(t, []string{"Added b/x 1 InitialList"}, o.take())
		requireSame(t, c, inf, o)
		w.stop()
	})
}
