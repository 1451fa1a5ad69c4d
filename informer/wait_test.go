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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestWaitForResourceVersionReadsYourWrites(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{Name: "pods"}, func(t *testing.T, w *world) {
		for n := range 20 {
			p := w.set("a", "x", n)
			require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), p.ResourceVersion))
			got, err := w.inf.Lister().Get(objKey("a", "x"))
			require.NoError(t, err)
			assert.Equal(t, p.ResourceVersion, got.ResourceVersion)
		}
		require.ErrorContains(t, w.inf.WaitForResourceVersion(t.Context(), "no-number"), "cannot be compared")
		require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), ""))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.inf.WaitForResourceVersion(ctx, "9999")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, `"9999"`)

		ended := make(chan error, 1)
		go func() { ended <- w.inf.WaitForResourceVersion(t.Context(), "9999") }()
		synctest.Wait()
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Bookmark(t.Context(), "10000"))
		require.NoError(t, <-ended, "a bookmark is progress too")

		go func() { ended <- w.inf.WaitForResourceVersion(t.Context(), "99999") }()
		synctest.Wait()
		w.stop()
		require.ErrorIs(t, <-ended, ErrStopped)
		assert.Zero(t, waiting(w.inf))
	})
}

func TestWaitForDeletedWaitsForThatObject(t *testing.T) {
	t.Parallel()
	c := newCluster()
	p := c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		key := objKey("a", "x")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.inf.WaitForDeleted(ctx, key, p.UID), context.DeadlineExceeded)
		require.NoError(t, w.inf.WaitForDeleted(t.Context(), key, "another"))
		require.NoError(t, w.inf.WaitForDeleted(t.Context(), objKey("a", "none"), ""))

		ended, all := make(chan error, 1), make(chan error, 1)
		go func() { ended <- w.inf.WaitForDeleted(t.Context(), key, p.UID) }()
		go func() { all <- w.inf.WaitForDeleted(t.Context(), key, "") }()
		synctest.Wait()
		w.disconnect(true)
		w.remove("a", "x")
		w.set("a", "x", 2) // another one takes the name before the cache sees it
		require.NoError(t, <-ended)
		synctest.Wait()
		assert.Empty(t, all, "there is still one of that name")
		w.remove("a", "x")
		require.NoError(t, <-all)
	})
}

func TestWaitForResourceVersionWaitsForEveryNamespace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a", "b")
		w.run()
		p := w.set("a", "x", 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.inf.WaitForResourceVersion(ctx, p.ResourceVersion), context.DeadlineExceeded)
		for _, s := range w.inf.applier.progress.sources {
			require.NoError(t, s.sink().Bookmark(t.Context(), p.ResourceVersion))
		}
		require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), p.ResourceVersion))
		w.stop()
	})
}

func TestWaitThatFailsSaysHowFarItsNamespacesAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		w := namespacedWorld(t, c, "a", "b")
		w.run()
		c.fail(errors.New("boom"))
		require.NoError(t, w.inf.AddNamespace("c", c.namespaced("c")))
		for _, test := range []struct {
			namespaces, has, hasNot []string
		}{
			{nil, []string{`namespace "a": at`, `namespace "b": at`, "boom"}, nil},
			{[]string{"b"}, []string{`(namespace "b": at`}, []string{`"a"`, "boom"}},
			{[]string{"c"}, []string{"boom"}, []string{`"a"`, `"b"`, "("}},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := w.inf.WaitForResourceVersion(ctx, "9999", test.namespaces...)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			for _, text := range test.has {
				assert.ErrorContains(t, err, text)
			}
			for _, text := range test.hasNot {
				assert.NotContains(t, err.Error(), text)
			}
		}
		w.stop()
	})
}

// A wait returns at the very moment of the arrival: time stands still in a
// bubble, and there are no bookmarks.
func TestWaitForObjectReturnsWhenTheWriteArrives(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 0)
	inWorld(t, c, Options[*pod]{Name: "pods"}, func(t *testing.T, w *world) {
		for n := range 20 {
			p := w.set("a", "x", n)
			begin := time.Now()
			require.NoError(t, w.inf.WaitForObject(t.Context(), p))
			assert.Zero(t, time.Since(begin))
			got, err := w.inf.Lister().Get(objKey("a", "x"))
			require.NoError(t, err)
			assert.Equal(t, p.ResourceVersion, got.ResourceVersion)
		}
		require.NoError(t, w.inf.WaitForObject(t.Context(), &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", ResourceVersion: "101"},
		}), "any type will do, and a later version has arrived before")
		assert.Zero(t, waiting(w.inf))
	})
}

func TestWaitForObjectIsMetByWhatCameAfterTheWrite(t *testing.T) {
	t.Parallel()
	object := func(name string, uid types.UID, rv string) *pod {
		return &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: uid, ResourceVersion: rv}}
	}
	written := object("x", "uid-x", "50")
	for name, test := range map[string]struct {
		arrives func(t *testing.T, s *sink[*pod]) error
		met     bool
	}{
		"the write":                  {func(t *testing.T, s *sink[*pod]) error { return s.Update(t.Context(), written) }, true},
		"the version before":         {func(t *testing.T, s *sink[*pod]) error { return s.Update(t.Context(), object("x", "uid-x", "49")) }, false},
		"a newer version":            {func(t *testing.T, s *sink[*pod]) error { return s.Update(t.Context(), object("x", "uid-x", "51")) }, true},
		"its deletion":               {func(t *testing.T, s *sink[*pod]) error { return s.Delete(t.Context(), object("x", "uid-x", "52")) }, true},
		"the deletion of an older":   {func(t *testing.T, s *sink[*pod]) error { return s.Delete(t.Context(), object("x", "uid-w", "48")) }, false},
		"an older one of that name":  {func(t *testing.T, s *sink[*pod]) error { return s.Update(t.Context(), object("x", "uid-w", "47")) }, false},
		"another one after it":       {func(t *testing.T, s *sink[*pod]) error { return s.Update(t.Context(), object("x", "uid-y", "60")) }, true},
		"a later list without it":    {func(t *testing.T, s *sink[*pod]) error { return s.Replace(t.Context(), nil, "70") }, true},
		"an earlier list without it": {func(t *testing.T, s *sink[*pod]) error { return s.Replace(t.Context(), nil, "45") }, false},
		"a later object":             {func(t *testing.T, s *sink[*pod]) error { return s.Add(t.Context(), object("z", "uid-z", "53")) }, false},
		"a later bookmark":           {func(t *testing.T, s *sink[*pod]) error { return s.Bookmark(t.Context(), "54") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
				s := w.inf.applier.progress.sources[0].sink()
				require.NoError(t, s.Replace(t.Context(), []*pod{object("x", "uid-x", "40")}, "40"))
				synctest.Wait()
				ended := make(chan error, 1)
				go func() { ended <- w.inf.WaitForObject(t.Context(), written) }()
				synctest.Wait()
				require.Empty(t, ended)
				require.NoError(t, test.arrives(t, s))
				synctest.Wait()
				if test.met {
					require.NoError(t, <-ended)
				} else {
					require.Empty(t, ended)
					require.NoError(t, s.Update(t.Context(), object("x", "uid-x", "80")))
					require.NoError(t, <-ended)
				}
			})
		})
	}
}

// What was written and is outside of the selectors never arrives, but the cache
// gets past it.
func TestWaitForObjectThatTheInformerDoesNotSelectEndsWithTheNextEvent(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		hidden := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "hidden", ResourceVersion: "101"}}
		ended := make(chan error, 1)
		go func() { ended <- w.inf.WaitForObject(t.Context(), hidden) }()
		synctest.Wait()
		assert.Empty(t, ended)
		w.set("a", "x", 1)
		require.NoError(t, <-ended)
	})
}

// Promise informer/11
func TestWaitsDoNotEndBeforeTheFirstList(t *testing.T) {
	t.Parallel()
	c := newCluster()
	p := c.set("a", "x", 1)
	c.fail(errors.New("boom"))
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, c, Options[*pod]{InitialObjects: func(yield func(*pod) bool) { yield(p) }})
		ended := make(chan string, 6)
		for name, wait := range map[string]func() error{
			"object":          func() error { return w.inf.WaitForObject(t.Context(), p) },
			"version":         func() error { return w.inf.WaitForResourceVersion(t.Context(), "1") },
			"empty":           func() error { return w.inf.WaitForResourceVersion(t.Context(), "") },
			"named":           func() error { return w.inf.WaitForResourceVersion(t.Context(), "1", "a") },
			"deleted":         func() error { return w.inf.WaitForDeleted(t.Context(), objKey("a", "none"), "") },
			"another deleted": func() error { return w.inf.WaitForDeleted(t.Context(), objKey("a", "x"), "other") },
		} {
			go func() {
				assert.NoError(t, wait(), name)
				ended <- name
			}()
			synctest.Wait()
		}
		assert.Empty(t, ended, "before Run")
		w.run()
		s := w.inf.applier.progress.sources[0].sink()
		require.NoError(t, s.Bookmark(t.Context(), "99"))
		require.NoError(t, s.Add(t.Context(), w.get(objKey("a", "x"))))
		synctest.Wait()
		assert.Empty(t, ended, "before the first list")
		w.fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, ended, 6)
		w.stop()
	})
}

// An idle namespace, and one that may not be listed, delay no wait that does not
// name them.
func TestWaitsConcernOnlyTheNamespacesThatTheyName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		forbidden := newCluster()
		forbidden.enter()
		forbidden.fail(apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no role")))
		w := namespacedWorld(t, newCluster(), "a", "idle")
		require.NoError(t, w.inf.AddNamespace("secret", forbidden.namespaced("secret")))
		w.run()
		begin := time.Now()
		p := w.set("a", "x", 1)
		require.NoError(t, w.inf.WaitForObject(t.Context(), p))
		q := w.set("a", "x", 2)
		require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), q.ResourceVersion, "a"))
		w.remove("a", "x")
		require.NoError(t, w.inf.WaitForDeleted(t.Context(), objKey("a", "x"), p.UID))
		require.NoError(t, w.inf.WaitForDeleted(t.Context(), objKey("idle", "x"), ""))
		assert.Zero(t, time.Since(begin))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.inf.WaitForResourceVersion(ctx, q.ResourceVersion, "a", "secret")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.True(t, apierrors.IsForbidden(err), "%v", err)
		assert.ErrorContains(t, err, `namespace "secret"`)
		assert.NotContains(t, err.Error(), `"idle"`)
		require.ErrorIs(t, w.inf.WaitForDeleted(ctx, objKey("secret", "x"), ""), context.DeadlineExceeded)
		require.ErrorIs(t, w.inf.WaitForResourceVersion(ctx, "1"), context.DeadlineExceeded, "it names none, so all of them")
		w.stop()
	})
}

func TestWaitingForANamespaceThatIsNotReadFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a", "b")
		w.run()
		p := w.set("c", "x", 1)
		for _, err := range []error{
			w.inf.WaitForObject(t.Context(), p),
			w.inf.WaitForResourceVersion(t.Context(), "1", "a", "c"),
		} {
			assert.ErrorContains(t, err, `does not read namespace "c"`)
		}
		require.NoError(t, w.inf.WaitForDeleted(t.Context(), objKey("c", "x"), ""), "there are no objects of it")

		// Nor does it read one that is removed during the wait.
		w.fail(errors.New("boom"))
		w.disconnect(false)
		synctest.Wait()
		p = w.set("b", "x", 1)
		ended, deleted := make(chan error, 1), make(chan error, 1)
		go func() { ended <- w.inf.WaitForObject(t.Context(), p) }()
		synctest.Wait()
		assert.Empty(t, ended)
		go func() { deleted <- w.inf.WaitForDeleted(t.Context(), objKey("b", "x"), "") }()
		assert.True(t, w.inf.RemoveNamespace("b"))
		assert.ErrorContains(t, <-ended, `does not read namespace "b"`)
		require.NoError(t, <-deleted)
		w.stop()
	})
}

func TestWaitForObjectWantsWhatTheServerReturned(t *testing.T) {
	t.Parallel()
	inf, err := New(newCluster().source(), Options[*pod]{Name: "pods"})
	require.NoError(t, err)
	for _, written := range []metav1.Object{nil, (*pod)(nil), labelled("no version"), &pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}} {
		assert.ErrorContains(t, inf.WaitForObject(t.Context(), written), `"pods": WaitForObject`)
	}
}

func TestWaitsEndWithTheInformer(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		p := labelled("1")
		p.ResourceVersion = "9999"
		ended := make(chan error, 2)
		go func() { ended <- w.inf.WaitForObject(t.Context(), p) }()
		go func() { ended <- w.inf.WaitForResourceVersion(t.Context(), "9999") }()
		synctest.Wait()
		w.stop()
		require.ErrorIs(t, <-ended, ErrStopped)
		require.ErrorIs(t, <-ended, ErrStopped)
		assert.Zero(t, waiting(w.inf))
	})
}

// Writers wait for their own writes while others write, and find them.
// Promise informer/11
func TestConcurrentWritersReadTheirWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster(), "a", "b", "c")
		w.run()
		const writers, rounds = 9, 100
		ended := make(chan struct{})
		for i := range writers {
			ns, name := string(rune('a'+i%3)), fmt.Sprint(i)
			go func() {
				defer func() { ended <- struct{}{} }()
				for n := range rounds {
					p := w.set(ns, name, n)
					assert.NoError(t, w.inf.WaitForObject(t.Context(), p))
					got, ok := w.inf.Snapshot().Get(objKey(ns, name))
					if assert.True(t, ok) {
						assert.Equal(t, p.ResourceVersion, got.ResourceVersion)
					}
					if n%5 == 4 {
						w.remove(ns, name)
						assert.NoError(t, w.inf.WaitForDeleted(t.Context(), objKey(ns, name), p.UID))
						_, ok := w.inf.Snapshot().Get(objKey(ns, name))
						assert.False(t, ok)
					}
				}
			}()
		}
		for range writers {
			<-ended
		}
		assert.Zero(t, waiting(w.inf))
		w.stop()
	})
}

// waiting returns the number of calls that wait.
func waiting(inf *Informer[*pod]) int {
	inf.applier.progress.mu.Lock()
	defer inf.applier.progress.mu.Unlock()
	return len(inf.applier.progress.waiting.all)
}

// The number of checks grows with waits plus events, not with their product.
func TestABatchChecksOnlyTheWaitsThatItMayConcern(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newCluster(), Options[*pod]{})
		w.run()
		const n = 200
		checks, met := 0, 0
		w.disconnect(true)
		var writes []*pod
		for i := range n {
			writes = append(writes, w.set("a", fmt.Sprint(i), i))
		}
		for _, p := range writes {
			seen, err := w.inf.seenCondition("", p)
			require.NoError(t, err)
			condition := seen.condition
			seen.condition = func() (bool, error) { checks++; return condition() }
			seen.ended = func(err error) { require.NoError(t, err); met++ }
			done, err := w.inf.applier.progress.register(seen)
			require.NoError(t, err)
			require.False(t, done)
			waiter := &waiter{key: objKey("a", "none"), condition: func() (bool, error) { checks++; return false, nil }, ended: func(error) {}}
			_, err = w.inf.applier.progress.register(waiter)
			require.NoError(t, err)
		}
		checks = 0
		for _, p := range writes { // one batch each
			require.NoError(t, w.inf.applier.progress.sources[0].sink().Update(t.Context(), p))
			synctest.Wait()
		}
		assert.Equal(t, n, met)
		assert.LessOrEqual(t, checks, 2*n)
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Replace(t.Context(), writes, writes[n-1].ResourceVersion))
		synctest.Wait()
		assert.GreaterOrEqual(t, checks, 2*n, "a list may concern every wait")
		assert.Equal(t, n, waiting(w.inf))
		w.stop()
	})
}

// Waits of random objects, in random order and with cancels, end at the batch that brings their version.
func TestTheHeapOfVersionsReturnsTheLeastFirst(t *testing.T) {
	t.Parallel()
	seed := time.Now().UnixNano()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	for range 200 {
		p, ws := newProgress[*pod](), &waiters[*pod]{}
		p.setSources([]*source[*pod]{{namespace: "a"}, {namespace: "b"}})
		model := map[*waiter]int{}
		for range 40 {
			version := r.IntN(30) + 1
			w := &waiter{key: objKey(string(rune('a'+r.IntN(2))), "x"), version: fmt.Sprint(version)}
			ws.add(w, p.sourceLocked(w.key.Namespace))
			model[w] = version
			if r.IntN(3) == 0 {
				for gone := range model {
					ws.remove(gone)
					ws.remove(gone)
					delete(model, gone)
					break
				}
			}
			if r.IntN(4) == 0 {
				p.sources = []*source[*pod]{{namespace: "a"}, {namespace: "b"}}
				ws.resort(p.sourceLocked)
			}
			at, got := r.IntN(30), map[*waiter]struct{}{}
			ws.reached("a", fmt.Sprint(at), got)
			for w, version := range model {
				_, ok := got[w]
				require.Equal(t, w.key.Namespace == "a" && version <= at, ok)
				if ok {
					ws.remove(w)
					delete(model, w)
				}
			}
		}
		for w := range model {
			ws.remove(w)
		}
		require.Empty(t, ws.all)
		require.Empty(t, ws.keys)
		if h := ws.versions["a"]; h != nil {
			require.Empty(t, *h)
		}
	}
}
