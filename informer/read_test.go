package informer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/reflector"
)

func TestListerReadsTheCache(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	c.set("a", "y", 2)
	c.set("b", "x", 1)
	opts := Options[*pod]{Resource: schema.GroupResource{Group: "g", Resource: "pods"}}
	inWorld(t, c, opts, func(t *testing.T, w *world) {
		l := w.inf.Lister()
		p, err := l.Get(objKey("a", "y"))
		require.NoError(t, err)
		assert.Equal(t, "2", p.Labels["n"])
		_, err = l.Get(objKey("b", "y"))
		assert.True(t, apierrors.IsNotFound(err))
		assert.EqualError(t, err, `pods.g "y" not found`)
		_, err = l.Namespace("b").Get("y")
		assert.True(t, apierrors.IsNotFound(err))

		one := labels.SelectorFromSet(labels.Set{"n": "1"})
		assert.Len(t, slices.Collect(l.List(nil)), 3)
		assert.Len(t, slices.Collect(l.List(labels.Everything())), 3)
		assert.Len(t, slices.Collect(l.List(one)), 2)
		assert.Len(t, slices.Collect(l.Namespace("a").List(nil)), 2)
		assert.Len(t, slices.Collect(l.Namespace("a").List(one)), 1)
		assert.Empty(t, slices.Collect(l.Namespace("c").List(nil)))
	})
}

func TestEventsYieldsWhatAHandlerGets(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o := observe(t, w.inf)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for e := range w.inf.Events(ctx) {
				o.OnEvent(e)
			}
		}()
		synctest.Wait()
		w.set("a", "y", 1)
		w.remove("a", "x")
		synctest.Wait()
		assert.Equal(t, []string{"Added a/x 1 InitialList", "Added a/y 1 Watch", "Deleted a/x 1 Watch"}, o.take())
		cancel()
		<-ended

		n := 0
		for range w.inf.Events(t.Context()) {
			n++
			break
		}
		assert.Equal(t, 1, n)
		go func() {
			for range w.inf.Events(t.Context()) {
				n++
			}
			n = -1
		}()
		synctest.Wait()
		w.stop()
		synctest.Wait()
		assert.Equal(t, -1, n, "the sequence ends with the informer")
		for range w.inf.Events(t.Context()) {
			assert.Fail(t, "an event after the end")
		}
	})
}

func TestWaitForSyncNamesWhoIsNotSyncedAndWhy(t *testing.T) {
	t.Parallel()
	good, bad := newCluster(), newCluster()
	bad.fail(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no role")))
	synctest.Test(t, func(t *testing.T) {
		w1, w2 := newWorld(t, good, Options[*pod]{Name: "pods"}), newWorld(t, bad, Options[*pod]{Name: "secrets"})
		good.set("a", "x", 1)
		_, slow := w1.join(HandlerOptions{Name: "never-done"})
		idle, err := New(good.source(), Options[*pod]{Name: "idle"})
		require.NoError(t, err)
		gate := make(chan struct{})
		_, ok := w1.join(HandlerOptions{Name: "fine"})
		stuck := w1.add(HandlerFunc[*pod](func(Event[*pod]) { <-gate }), HandlerOptions{Name: "stuck"})
		w1.run()
		w2.run()
		require.NoError(t, WaitForSync(t.Context(), w1.inf, ok, slow))
		require.NoError(t, WaitForSync(t.Context()))

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err = WaitForSync(ctx, w1.inf, w2.inf, stuck, idle)
		var not *NotSyncedError
		require.ErrorAs(t, err, &not)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.True(t, apierrors.IsForbidden(not.Unsynced[0]), "%v", not.Unsynced[0])
		require.Len(t, not.Unsynced, 3)
		for i, parts := range [][]string{{`"secrets"`, "no role"}, {`"stuck"`}, {`"idle"`, "call Run"}} {
			for _, part := range parts {
				assert.ErrorContains(t, not.Unsynced[i], part)
				assert.ErrorContains(t, err, part)
			}
		}

		require.NotErrorIs(t, w2.inf.Unsynced(), ErrStopped)
		w2.stop()
		require.ErrorIs(t, w2.inf.Unsynced(), ErrStopped)
		err = WaitForSync(t.Context(), w1.inf, w2.inf)
		require.ErrorIs(t, err, ErrStopped, "waiting for what has stopped ends at once")
		close(gate)
		require.NoError(t, WaitForSync(t.Context(), stuck))
		w1.stop()
		require.NoError(t, w1.inf.Unsynced(), "synced stays synced")
		require.NoError(t, WaitForSync(t.Context(), w1.inf, stuck), "synced stays synced")
	})
}

func TestNotSyncedErrorListsEveryReason(t *testing.T) {
	t.Parallel()
	err := &NotSyncedError{Cause: errors.New("late"), Unsynced: []error{errors.New("one"), errors.New("two")}}
	require.EqualError(t, err, "informer: late before everything was synced: one; two")
}

func TestWaitForSyncEndsWhenAnyOfThemHasStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.fail(errors.New("boom"))
		waits, removed := newWorld(t, c, Options[*pod]{Name: "waits"}), newWorld(t, c, Options[*pod]{Name: "removed"})
		waits.run()
		removed.run()
		_, r := removed.join(HandlerOptions{Name: "gone"})
		begin := time.Now()
		time.AfterFunc(time.Second, r.Remove)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := WaitForSync(ctx, waits.inf, r)
		require.ErrorIs(t, err, ErrStopped)
		assert.Equal(t, time.Second, time.Since(begin))
		assert.ErrorContains(t, err, `"waits"`)
		assert.ErrorContains(t, err, `"gone"`)
		waits.stop()
		removed.stop()
	})
}

// Done is closed before Run has returned. What has failed is known by then.
func TestWaitForSyncReturnsWhatAnInformerHasFailedWith(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, boom := newCluster(), errors.New("boom")
		c.fail(boom)
		w := newWorld(t, c, Options[*pod]{Name: "pods", Reflector: reflector.Options{
			Policy: func(reflector.Failure) reflector.Decision { return reflector.Stop() },
		}})
		_, r := w.join(HandlerOptions{})
		failed := make(chan error, 1)
		go func() { failed <- w.inf.Run(t.Context()) }()
		for _, s := range []Syncable{w.inf, r} {
			var not *NotSyncedError
			require.ErrorAs(t, WaitForSync(t.Context(), s), &not) // before the caller of Run knows
			require.ErrorIs(t, not.Cause, boom)
			require.ErrorIs(t, not, ErrStopped)
		}
		err := <-failed
		var not *NotSyncedError
		require.ErrorAs(t, WaitForSync(t.Context(), w.inf), &not)
		assert.Equal(t, err, not.Cause, "the same, so that it can be said once")
	})
}

func TestInformerThatHasJustBegunSaysSo(t *testing.T) {
	t.Parallel()
	inf, err := NewNamespaced[*pod](nil, Options[*pod]{})
	require.NoError(t, err)
	inf.applier.start() // as in the middle of Run
	assert.EqualError(t, inf.Unsynced(), `informer "Pod" is not synced: it has only just begun`)
}

func TestEventsEndsWithTheInformerAlsoWithinADifference(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	c.set("a", "y", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		n := 0
		for range w.inf.Events(t.Context()) {
			n++
			w.stop()
		}
		assert.Equal(t, 1, n)
	})
}

// What synced and ended is synced: the wait for the others goes on.
func TestWaitForSyncIsNotEndedByWhatSyncedAndEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		done := newWorld(t, c, Options[*pod]{})
		done.run()
		_, r := done.join(HandlerOptions{})
		done.stop()
		for range 20 { // both channels of what ended are closed, and select takes any
			c.fail(errors.New("boom"))
			w := newWorld(t, c, Options[*pod]{})
			w.run()
			ended := make(chan error, 1)
			go func() { ended <- WaitForSync(t.Context(), done.inf, r, w.inf) }()
			synctest.Wait()
			require.Empty(t, ended)
			c.fail(nil)
			require.NoError(t, <-ended)
			w.stop()
		}
	})
}
