package informer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/object"
)

// One test, or a few, for each numbered promise of the package documentation.

// Promise informer/1
func TestPromise1CacheAndIndexesAreUpdatedBeforeTheEvent(t *testing.T) {
	t.Parallel()
	byN := indexer.NewIndex("n", func(p *pod) ([]string, error) { return []string{p.Labels["n"]}, nil })
	opts := Options[*pod]{Indexer: indexer.Options[*pod]{Indexes: []indexer.IndexDefinition[*pod]{byN}}}
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, opts, func(t *testing.T, w *world) {
		checked := 0
		w.add(HandlerFunc[*pod](func(e Event[*pod]) {
			checked++
			snap := w.inf.Snapshot()
			got, ok := snap.Get(e.Key)
			hits := indexer.IndexLen(snap, byN, e.Object().Labels["n"])
			if e.Type == Deleted {
				assert.False(t, ok)
				assert.Zero(t, hits)
				return
			}
			assert.Same(t, e.New, got)
			assert.Equal(t, 1, hits)
		}), HandlerOptions{})
		// Often, as the time between the one and the other would be short.
		for n := range 2000 {
			w.set("a", "x", n+2)
			synctest.Wait()
		}
		w.remove("a", "x")
		synctest.Wait()
		assert.Equal(t, 2002, checked)
	})
}

// Promise informer/2
func TestPromise2CallsOfOneHandlerAreSequential(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{ResyncPeriod: time.Second}) // fails on overlap
		o.each = func(Event[*pod]) { time.Sleep(300 * time.Millisecond) }
		for i := range 20 {
			w.set("a", fmt.Sprint(i), 1)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.GreaterOrEqual(t, o.len(), 40)
	})
}

// Promise informer/3
func TestPromise3EventsOfAnObjectAreAChain(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{}) // fails if Old is not New of before
		for n := range 100 {
			w.set("a", "x", n)
			if n%7 == 0 {
				w.remove("a", "x")
			}
			if n%10 == 0 {
				w.disconnect(n%20 == 0)
				time.Sleep(time.Minute)
			}
			synctest.Wait()
		}
		last := 0
		require.Greater(t, len(o.events), 50)
		for _, e := range o.events {
			var rv int
			_, err := fmt.Sscan(e.Object().ResourceVersion, &rv)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, rv, last, "never back in time")
			last = rv
		}
	})
}

// Promise informer/4
func TestPromise4NoEventForAnObjectThatTheHandlerDoesNotKnow(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{})
		w.disconnect(true)
		p := w.set("a", "never-seen", 1)
		w.remove("a", "never-seen")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"Added a/x 1 InitialList"}, o.take())

		// A deletion that the server reports, of an object that is not cached.
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Delete(t.Context(), p))
		synctest.Wait()
		assert.Empty(t, o.take())
	})
}

// Promise informer/5
func TestPromise5AnotherUIDIsADeleteAndAnAdd(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{})
		o.take()
		w.disconnect(true) // the deletion is not seen
		w.remove("a", "x")
		w.set("a", "x", 2)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"Deleted a/x 1 Relist unseen", "Added a/x 2 Relist"}, o.take())

		other := w.get(object.KeyOf(o.view[objKey("a", "x")])).DeepCopy()
		other.UID, other.ResourceVersion, other.Labels["n"] = "other", "9999", "3"
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Update(t.Context(), other)) // and no deletion reported
		synctest.Wait()
		assert.Equal(t, []string{"Deleted a/x 2 Watch unseen", "Added a/x 3 Watch"}, o.take())
	})
}

// Promise informer/6
func TestPromise6RelistThatChangesNothingDeliversNothing(t *testing.T) {
	t.Parallel()
	c := newCluster()
	for i := range 100 {
		c.set("a", fmt.Sprint(i), 1)
	}
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{})
		before := w.inf.Snapshot()
		o.take()
		for range 3 {
			w.disconnect(true)
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		assert.GreaterOrEqual(t, w.lists, 4)
		assert.Empty(t, o.take())
		for range indexer.Diff(before, w.inf.Snapshot()) {
			assert.Fail(t, "the cache has changed")
		}
	})
}

// Promise informer/7
func TestPromise7EveryViewBecomesTheServersState(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		fast, _ := w.join(HandlerOptions{})
		slow, _ := w.join(HandlerOptions{Bound: 1})
		lossless, _ := w.join(HandlerOptions{Lossless: true})
		slow.each = func(Event[*pod]) { time.Sleep(time.Second) }
		lossless.each = slow.each
		for n := range 2000 {
			w.set("a", fmt.Sprint(n%50), n)
			if n%3 == 0 {
				w.remove("a", fmt.Sprint(n%7))
			}
			if n%500 == 0 {
				w.disconnect(true)
				time.Sleep(time.Minute)
			}
			synctest.Wait()
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		requireSame(t, w.cluster, w.inf, fast, slow, lossless)
		assert.Less(t, slow.len(), fast.len()/2)
		assert.Positive(t, overflowsOf(w.inf, "handler-2"))
		assert.Zero(t, overflowsOf(w.inf, "handler-3"))
	})
}

// Promise informer/8
func TestPromise8RegistrationIsGaplessAndFreeOfDuplicates(t *testing.T) {
	t.Parallel()
	c := newCluster()
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		n := 0
		burst := func() { // is being applied, bit by bit, when it returns
			for range 10 {
				n++
				w.set("a", fmt.Sprint(n%100), n)
				if n%5 == 0 {
					w.remove("a", fmt.Sprint(n%11))
				}
			}
		}
		var all []*observer
		for range 100 {
			burst()
			o := observe(t, w.inf) // fails on duplicates and on gaps within an object
			_, err := w.inf.AddHandler(o, HandlerOptions{})
			require.NoError(t, err)
			all = append(all, o)
			burst()
			if n%3 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		requireSame(t, c, w.inf, all...)
		late, _ := w.join(HandlerOptions{})
		requireSame(t, c, w.inf, late)
	})
}

// Promise informer/9
func TestPromise9NoCallStartsAfterRemove(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		started := make(chan struct{})
		release := make(chan struct{})
		calls := 0
		r := w.add(HandlerFunc[*pod](func(Event[*pod]) {
			calls++
			started <- struct{}{}
			<-release
		}), HandlerOptions{})
		for i := range 10 {
			w.set("a", fmt.Sprint(i), 1)
		}
		<-started
		r.Remove() // during the first of ten calls
		r.Remove()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.RemoveAndWait(ctx), context.DeadlineExceeded)
		close(release)
		require.NoError(t, r.RemoveAndWait(t.Context()))
		w.set("a", "more", 1)
		synctest.Wait()
		assert.Equal(t, 1, calls)
		assert.Empty(t, w.inf.Health().Handlers)
	})
}

// Promise informer/9
func TestPromise9RemoveFromWithinTheHandler(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		var r *Registration
		var got []error
		r = w.add(HandlerFunc[*pod](func(Event[*pod]) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			got = append(got, r.RemoveAndWait(ctx))
		}), HandlerOptions{})
		w.set("a", "x", 1)
		w.set("a", "y", 1)
		<-r.Done()
		require.Len(t, got, 1)
		require.ErrorIs(t, got[0], context.DeadlineExceeded)
		assert.ErrorContains(t, got[0], "from within the handler?")
	})
}

// Promise informer/10
func TestPromise10PanicGoesToOnPanicAndTheHandlerGoesOn(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		var panics []HandlerPanic
		o := observe(t, w.inf)
		o.each = func(e Event[*pod]) {
			if len(o.events)%2 == 1 {
				panic("boom")
			}
		}
		r := w.add(o, HandlerOptions{Name: "shaky", OnPanic: func(p HandlerPanic) { panics = append(panics, p) }})
		other, _ := w.join(HandlerOptions{})
		assert.True(t, r.HasSynced(), "also the first call panicked")
		for n := range 9 {
			w.set("a", "x", n)
		}
		synctest.Wait()
		requireSame(t, c, w.inf, o, other)
		require.Len(t, panics, 5)
		assert.Equal(t, "boom", panics[0].Value)
		assert.Equal(t, "shaky", panics[0].Handler)
		assert.Equal(t, Added, panics[0].Type)
		assert.Contains(t, string(panics[0].Stack), "promises_test.go")
		health := healthOf(w.inf, "shaky")
		assert.Equal(t, uint64(5), health.Panics)
		require.NotNil(t, health.LastPanic)
		assert.Equal(t, "boom", health.LastPanic.Value)
		assert.Equal(t, panics[4].Key, health.LastPanic.Key)
		assert.Equal(t, time.Now(), health.LastPanicTime)
	})
}

// Promise informer/10
func TestPromise10PanicWithoutOnPanicEndsTheProcess(t *testing.T) {
	t.Parallel()
	const variable = "INFORMER_TEST_PANIC"
	if os.Getenv(variable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"=1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.True(t, errors.As(err, &exit), "%v: %s", err, out)
		assert.Contains(t, string(out), "panic: boom from a handler")
		assert.Contains(t, string(out), "promises_test.go", "the stack is that of the panic")
		return
	}
	c := newCluster()
	c.enter()
	c.set("a", "x", 1)
	inf, err := New(c.source(), Options[*pod]{})
	require.NoError(t, err)
	_, err = inf.AddHandler(HandlerFunc[*pod](func(Event[*pod]) { panic("boom from a handler") }), HandlerOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, inf.Run(ctx))
}

func TestHandlerThatEndsItsGoroutineIsRemoved(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		r := w.add(HandlerFunc[*pod](func(Event[*pod]) { goexit() }), HandlerOptions{})
		<-r.Done()
		other, _ := w.join(HandlerOptions{})
		requireSame(t, c, w.inf, other)
	})
}

// Between the publishing of a snapshot and that of the events that lead to it the
// cache is ahead of the log. A handler that joins then begins where the log is.
// Promise informer/8
func TestPromise8JoiningBetweenTheCacheAndTheLogMakesNoDuplicate(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		y := labelled("2")
		y.Namespace, y.Name, y.UID, y.ResourceVersion = "a", "y", "uid-y", "200"
		batch := w.inf.applier.store.Batch()
		_, _, err := batch.Set(y)
		require.NoError(t, err)
		snap := batch.Commit()

		o, _ := w.join(HandlerOptions{})
		assert.Equal(t, []string{"Added a/x 1 InitialList"}, o.take())

		added := Event[*pod]{Type: Added, Key: object.KeyOf(y), New: y, Origin: Watch}
		w.inf.applier.events.Append([]record[*pod]{{event: added}}, view[*pod]{snap: snap, synced: true}, false)
		synctest.Wait()
		assert.Equal(t, []string{"Added a/y 2 Watch"}, o.take())
	})
}
