package informer

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
)

// A relist that keeps what is known must not keep the state before a change that
// is still queued.
func TestKnownIsWhatIsQueued(t *testing.T) {
	t.Parallel()
	inf, err := New(newCluster().source(), Options[*pod]{})
	require.NoError(t, err)
	s := inf.applier.progress.sources[0]
	p := labelled("queued")
	p.ResourceVersion = "1"
	known := func() *pod {
		found, _ := s.sink().Known(objKey("a", "x"))
		return found
	}
	require.NoError(t, s.sink().Add(t.Context(), p))
	assert.Same(t, p, known(), "not in the cache yet")
	require.NoError(t, s.queue.Pop(t.Context(), func(batch deltafifo.Batch[*pod]) error {
		assert.Same(t, p, known(), "neither queued nor in the cache")
		inf.applier.apply(s, batch.Deltas)
		return nil
	}))
	assert.Same(t, p, known(), "in the cache")

	// A write that fails is not queued.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{
		s.sink().Add(ended, p), s.sink().Update(ended, p), s.sink().Delete(ended, p),
		s.sink().Replace(ended, nil, "2"), s.sink().Bookmark(ended, "2"),
	} {
		require.ErrorIs(t, err, context.Canceled)
	}
	assert.Same(t, p, known())

	require.NoError(t, s.sink().Delete(t.Context(), p))
	assert.Nil(t, known(), "its deletion is queued")
}

// stubborn is a source whose List does not look at its context.
type stubborn struct {
	reflector.ListerWatcher[*pod]
	listing, release chan struct{}
}

func (s *stubborn) List(ctx context.Context, req reflector.Request, each func(reflector.WatchEvent[*pod]) error) (metav1.ListMeta, error) {
	s.listing <- struct{}{}
	<-s.release
	return s.ListerWatcher.List(context.WithoutCancel(ctx), req, each)
}

// What a removed namespace still reads must not be cached after its objects were
// dropped.
func TestRemoveNamespaceWaitsForItsSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := namespacedWorld(t, newCluster())
		w.set("a", "x", 1)
		w.run()
		s := &stubborn{w.namespaced("a"), make(chan struct{}), make(chan struct{})}
		require.NoError(t, w.inf.AddNamespace("a", s))
		<-s.listing
		removed := make(chan bool, 1)
		go func() { removed <- w.inf.RemoveNamespace("a") }()
		synctest.Wait()
		assert.Empty(t, removed, "its source still lists")
		require.ErrorContains(t, w.inf.AddNamespace("a", s), "before")
		close(s.release)
		assert.True(t, <-removed)
		synctest.Wait()
		assert.Zero(t, w.inf.Snapshot().Len())
		w.stop()
	})
}

// The final state of another object that had the name is not that of this one.
func TestFinalStateOfAnotherUIDIsNotReported(t *testing.T) {
	t.Parallel()
	c := newCluster()
	p := c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{})
		o.take()
		other := p.DeepCopy()
		other.UID, other.ResourceVersion, other.Labels["n"] = "other", "500", "2"
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Delete(t.Context(), other))
		synctest.Wait()
		require.Len(t, o.events, 1)
		assert.Nil(t, o.events[0].New)
		assert.Equal(t, []string{"Deleted a/x 1 Watch unseen"}, o.take())
	})
}

// Two copies of one version are no difference, wherever they come from.
func TestDifferenceSkipsEqualVersions(t *testing.T) {
	t.Parallel()
	snapshot := func(objs ...*pod) *indexer.Snapshot[*pod] {
		ix, err := indexer.New(indexer.Options[*pod]{})
		require.NoError(t, err)
		b := ix.Batch()
		_, err = b.Replace(objs)
		require.NoError(t, err)
		return b.Commit()
	}
	one := labelled("1")
	one.ResourceVersion = "1"
	two := one.DeepCopy()
	two.ResourceVersion = "2"
	var got []string
	deliver := func(e Event[*pod]) bool {
		got = append(got, describe(e))
		return true
	}
	assert.True(t, difference(snapshot(one), view[*pod]{snap: snapshot(one.DeepCopy())}, CatchUp, deliver))
	assert.Empty(t, got)
	assert.True(t, difference(snapshot(one), view[*pod]{snap: snapshot(two)}, CatchUp, deliver))
	assert.Equal(t, []string{"Updated a/x 1→1 CatchUp"}, got)
}
