package informer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// A watch that is resumed may repeat what is cached.
func TestStateThatIsCachedAlreadyIsNoEventAndKeepsItsPointer(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{})
		o.take()
		before, _ := w.inf.Snapshot().Get(objKey("a", "x"))
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Update(t.Context(), before.DeepCopy()))
		synctest.Wait()
		assert.Empty(t, o.take())
		after, _ := w.inf.Snapshot().Get(objKey("a", "x"))
		assert.Same(t, before, after)
	})
}

// A deletion of another object of that name says nothing of the end of this one.
func TestDeletionOfAnotherUIDIsADeletionWithoutAFinalState(t *testing.T) {
	t.Parallel()
	c := newCluster()
	p := c.set("a", "x", 1).DeepCopy()
	p.UID += "-another"
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{})
		o.take()
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Delete(t.Context(), p))
		synctest.Wait()
		assert.Equal(t, []string{"Deleted a/x 1 Watch unseen"}, o.take())
	})
}

// Changes and bookmarks before the first list do not complete a cache, and an
// empty list does.
func TestASourceIsSyncedWhenItsFirstListIsApplied(t *testing.T) {
	t.Parallel()
	inf, err := New(newCluster().source(), Options[*pod]{})
	require.NoError(t, err)
	s := inf.applier.progress.sources[0]
	p := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", UID: "u", ResourceVersion: "2"}}
	for _, before := range []deltafifo.Delta[*pod]{
		{Type: deltafifo.Bookmark, List: &deltafifo.List[*pod]{ResourceVersion: "1"}},
		{Type: deltafifo.Added, Object: p},
		{Type: deltafifo.Deleted, Object: p},
	} {
		inf.applier.apply(s, deltafifo.Deltas[*pod]{before})
		assert.ErrorContains(t, inf.applier.progress.unlisted(), "the reflector is", before.Type)
	}
	inf.applier.apply(s, deltafifo.Deltas[*pod]{{Type: deltafifo.Replaced, List: &deltafifo.List[*pod]{ResourceVersion: "3"}}})
	assert.NoError(t, inf.applier.progress.unlisted())
	inf.applier.apply(s, deltafifo.Deltas[*pod]{{Type: deltafifo.Bookmark, List: &deltafifo.List[*pod]{ResourceVersion: "4"}}})
	assert.NoError(t, inf.applier.progress.unlisted(), "it stays so")
}

// However much is pending, a handler that stalls holds only a part of it.
func TestLongQueueIsAppliedInParts(t *testing.T) {
	t.Parallel()
	inf, err := New(newCluster().source(), Options[*pod]{})
	require.NoError(t, err)
	applied := 0
	inf.applier.metrics = counter{&applied}
	var deltas deltafifo.Deltas[*pod]
	for i := range 2*applyAtOnce + 1 {
		p := labelled("1")
		p.Name, p.ResourceVersion = fmt.Sprint(i), fmt.Sprint(i+1)
		deltas = append(deltas, deltafifo.Delta[*pod]{Type: deltafifo.Added, Object: p})
	}
	inf.applier.apply(inf.applier.progress.sources[0], deltas)
	assert.Equal(t, 3, applied)
}

type counter struct{ applied *int }

func (c counter) Applied(EventCounts, time.Duration) { *c.applied++ }
func (c counter) Synced(time.Duration)               {}
func (c counter) Close()                             {}

// A handler that is removed before it has seen all that was there is not synced,
// and keeps nothing of the cache alive.
func TestHandlerRemovedAmongTheFirstObjectsIsNotSynced(t *testing.T) {
	t.Parallel()
	c := newCluster()
	for i := range 10 {
		c.set("a", fmt.Sprint(i), 1)
	}
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		gate := make(chan struct{})
		r := w.add(HandlerFunc[*pod](func(Event[*pod]) { <-gate }), HandlerOptions{})
		r.Remove()
		close(gate)
		<-r.Done()
		assert.False(t, r.HasSynced())
		o, whole := w.join(HandlerOptions{})
		assert.Equal(t, 10, o.len())
		whole.Remove()
		<-whole.Done()
		for _, r := range []*Registration{r, whole} {
			h := r.runner.(*runner[*pod])
			assert.Nil(t, h.seen.snap)
			assert.Nil(t, h.start)
		}
	})
}

// One namespace that cannot be read at all ends the informer, and is named.
func TestNamespaceThatFailsForGoodEndsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good, bad := newCluster(), newCluster()
		good.enter()
		bad.enter()
		bad.fail(errors.New("boom"))
		stop := func(reflector.Failure) reflector.Decision { return reflector.Stop() }
		inf, err := NewNamespaced(map[string]reflector.ListerWatcher[*pod]{"good": good.namespaced("good"), "bad": bad.namespaced("bad")},
			Options[*pod]{Reflector: reflector.Options{Policy: stop}})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err = inf.Run(ctx)
		require.ErrorContains(t, err, `namespace "bad"`)
		require.ErrorContains(t, err, "boom")
		require.NoError(t, ctx.Err())
	})
}

// An informer that reads no namespace yet says nothing before Run.
func TestWaitForDeletedWaitsForRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.inf.WaitForDeleted(ctx, objKey("a", "x"), ""), context.DeadlineExceeded)
		w.run()
		require.NoError(t, w.inf.WaitForDeleted(t.Context(), objKey("a", "x"), ""))
		w.stop()
	})
}

// A resource that has never existed is not an empty one, also if it is named.
func TestResourceThatDoesNotExistIsNotSynced(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, _ *informertest.Server, fac *Factory) {
		fac.Start(t.Context())
		widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
		inf, err := For(fac, ForOptions[untyped]{Resource: widgets})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.False(t, inf.HasSynced())
	})
}

func TestFactoryReadsWhatTheFieldSelectorSelects(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "default", "x")
		createPod(t, s, "default", "y")
		fac.Start(t.Context())
		all, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		x, err := For(fac, ForOptions[*pod]{FieldSelector: "metadata.name=x"})
		require.NoError(t, err)
		require.NoError(t, fac.WaitForSync(t.Context()))
		assert.Equal(t, 2, all.Snapshot().Len())
		assert.Equal(t, 1, x.Snapshot().Len())

		byN := indexer.NewIndex("n", func(p *pod) ([]string, error) { return []string{p.Labels["n"]}, nil })
		_, err = For(fac, ForOptions[*pod]{Indexer: indexer.Options[*pod]{Indexes: []indexer.IndexDefinition[*pod]{byN}}})
		require.ErrorContains(t, err, "AddIndex")
	})
}
