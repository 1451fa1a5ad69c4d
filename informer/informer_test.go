package informer

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/object"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the tests that are about logs have a logger
	goleak.VerifyTestMain(m)
}

// world is an informer that runs on a cluster in a synctest bubble.
type world struct {
	*cluster
	t    *testing.T
	inf  *Informer[*pod]
	stop func()
}

// inWorld runs f in a bubble with a running informer of c that has had the time
// to sync, and stops the informer afterwards.
func inWorld(t *testing.T, c *cluster, opts Options[*pod], f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, c, opts)
		w.run()
		f(t, w)
		w.stop()
	})
}

func newWorld(t *testing.T, c *cluster, opts Options[*pod]) *world {
	c.enter()
	inf, err := New(c.source(), opts)
	require.NoError(t, err)
	return &world{cluster: c, t: t, inf: inf}
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.inf.Run(ctx) }()
	stopped := false
	w.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(w.t, <-ended)
		}
	}
	synctest.Wait()
}

// join adds an observer and lets it catch up.
func (w *world) join(opts HandlerOptions) (*observer, *Registration) {
	w.t.Helper()
	o := observe(w.t, w.inf)
	return o, w.add(o, opts)
}

func (w *world) add(h Handler[*pod], opts HandlerOptions) *Registration {
	w.t.Helper()
	r, err := w.inf.AddHandler(h, opts)
	require.NoError(w.t, err)
	synctest.Wait()
	return r
}

func TestCacheAndHandlersFollowTheServer(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, r := w.join(HandlerOptions{})
		assert.True(t, w.inf.HasSynced())
		assert.True(t, r.HasSynced())
		w.set("a", "x", 2)
		w.set("b", "y", 1)
		w.remove("a", "x")
		synctest.Wait()
		assert.Equal(t, []string{
			"Added a/x 1 InitialList",
			"Updated a/x 1→2 Watch",
			"Added b/y 1 Watch",
			"Deleted a/x 2 Watch",
		}, o.take())
		requireSame(t, c, w.inf, o)
	})
}

func TestHandlerAddedBeforeRunGetsTheFirstList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newCluster(), Options[*pod]{})
		w.set("a", "x", 1)
		o, r := w.join(HandlerOptions{})
		assert.Empty(t, o.take())
		assert.False(t, r.HasSynced())
		w.run()
		assert.True(t, r.HasSynced())
		assert.Equal(t, []string{"Added a/x 1 InitialList"}, o.take())
		w.stop()
	})
}

func TestRunTwiceFails(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		require.ErrorIs(t, w.inf.Run(t.Context()), ErrRunning)
		w.stop()
		require.ErrorIs(t, w.inf.Run(t.Context()), ErrRunning)
	})
}

func TestStoppedInformerKeepsItsCacheAndRefusesHandlers(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		_, r := w.join(HandlerOptions{})
		w.stop()
		<-r.Done()
		<-w.inf.Done()
		_, err := w.inf.AddHandler(observe(t, nil), HandlerOptions{Name: "late"})
		require.ErrorIs(t, err, ErrStopped)
		assert.ErrorContains(t, err, `"late"`)
		assert.Equal(t, 1, w.inf.Snapshot().Len())
		assert.True(t, w.inf.Health().Stopped)
		assert.Empty(t, w.inf.Health().Handlers)
		r.Remove()
		require.NoError(t, r.RemoveAndWait(t.Context()))
	})
}

func TestCacheIsEditedWhileTheInformerDoesNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.set("a", "listed", 1)
		w := newWorld(t, c, Options[*pod]{})
		set := func(name string, n int, rv string) func(*indexer.Batch[*pod]) {
			return func(b *indexer.Batch[*pod]) {
				_, _, err := b.Set(&pod{ObjectMeta: metav1.ObjectMeta{
					Namespace: "a", Name: name, UID: types.UID(name), ResourceVersion: rv, Labels: map[string]string{"n": strconv.Itoa(n)},
				}})
				require.NoError(t, err)
				b.SetResourceVersion(rv)
			}
		}
		require.NoError(t, w.inf.Edit(set("edited", 1, "7")))
		o, r := w.join(HandlerOptions{})
		require.NoError(t, w.inf.Edit(set("edited", 2, "8")))
		synctest.Wait()
		assert.Equal(t, []string{"Added a/edited 1 InitialList", "Updated a/edited 1→2 Watch"}, o.take())
		assert.Equal(t, "8", w.inf.Snapshot().ResourceVersion())
		assert.False(t, r.HasSynced(), "only a list says what there is")
		assert.Panics(t, func() {
			_ = w.inf.Edit(func(b *indexer.Batch[*pod]) { set("lost", 1, "9")(b); panic("on purpose") })
		})
		assert.Equal(t, 1, w.inf.Snapshot().Len())
		assert.Equal(t, "8", w.inf.Snapshot().ResourceVersion(), "discarded")

		w.run()
		requireSame(t, c, w.inf, o)
		require.ErrorIs(t, w.inf.Edit(set("running", 1, "10")), ErrRunning)
		assert.Equal(t, 1, w.inf.Snapshot().Len())
		w.stop()
		require.NoError(t, w.inf.Edit(set("after", 1, "11")))
		assert.Equal(t, 2, w.inf.Snapshot().Len())
	})
}

func TestRunWithAnEndedContextReturnsAndStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newCluster(), Options[*pod]{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, w.inf.Run(ctx))
		assert.False(t, w.inf.HasSynced())
		_, err := w.inf.AddHandler(observe(t, nil), HandlerOptions{})
		require.ErrorIs(t, err, ErrStopped)
	})
}

func TestRunWaitsForRunningCallbacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newCluster(), Options[*pod]{})
		w.set("a", "x", 1)
		release := make(chan struct{})
		o, _ := w.join(HandlerOptions{})
		o.each = func(Event[*pod]) { <-release }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.inf.Run(ctx) }()
		synctest.Wait()
		w.set("a", "x", 2)
		synctest.Wait()
		cancel()
		synctest.Wait()
		assert.Empty(t, ended, "Run must not return during a call")
		close(release)
		require.NoError(t, <-ended)
		assert.Equal(t, 1, o.len(), "no call starts after the end")
	})
}

func TestImpossibleOptionsAreErrors(t *testing.T) {
	t.Parallel()
	inf, err := New(newCluster().source(), Options[*pod]{})
	require.NoError(t, err)
	for name, opts := range map[string]HandlerOptions{
		"negative resync":    {ResyncPeriod: -1},
		"too short resync":   {ResyncPeriod: minResyncStep - 1},
		"negative bound":     {Bound: -1},
		"lossless and bound": {Lossless: true, Bound: 1},
	} {
		_, err := inf.AddHandler(observe(t, nil), opts)
		require.Error(t, err, name)
	}
	_, err = inf.AddHandler(nil, HandlerOptions{})
	require.Error(t, err)
	_, err = New[*pod](nil, Options[*pod]{})
	require.Error(t, err)
	assert.Empty(t, inf.Health().Handlers)
}

func TestSeedIsServedBeforeTheFirstListAndCorrectedByIt(t *testing.T) {
	t.Parallel()
	c := newCluster()
	kept := c.set("a", "kept", 1)
	gone := c.set("a", "gone", 1)
	changed := c.set("a", "changed", 1)
	c.remove("a", "gone")
	c.set("a", "changed", 2)
	seed := func(yield func(*pod) bool) {
		_ = yield(kept) && yield(gone) && yield(changed)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, c, Options[*pod]{InitialObjects: seed})
		o, r := w.join(HandlerOptions{})
		assert.Len(t, o.take(), 3)
		assert.False(t, r.HasSynced())
		w.run()
		assert.True(t, r.HasSynced())
		assert.ElementsMatch(t, []string{
			"Deleted a/gone 1 InitialList unseen",
			"Updated a/changed 1→2 InitialList",
		}, o.take())
		requireSame(t, c, w.inf, o)
		got, ok := w.inf.Snapshot().Get(object.KeyOf(kept))
		require.True(t, ok)
		assert.Same(t, kept, got, "what has not changed keeps its pointer")
		w.stop()
	})
}

func TestInitialObjectThatCannotBeCachedIsLogged(t *testing.T) {
	t.Parallel()
	l := &logged{}
	other := labelled("2")
	other.Name = "y"
	seed := func(yield func(*pod) bool) { _ = yield(labelled("1")) && yield(other) && yield(&pod{}) }
	inf, err := New(newCluster().source(), Options[*pod]{Logger: l.logger(), InitialObjects: seed})
	require.NoError(t, err)
	assert.Equal(t, 2, inf.Snapshot().Len())
	assert.Len(t, l.take("an initial object is not cached"), 1)
}

func TestTransformIsAppliedToWhatIsStored(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	opts := Options[*pod]{Transform: func(p *pod) (*pod, error) {
		p.Annotations = map[string]string{"seen": "yes"}
		return p, nil
	}}
	inWorld(t, c, opts, func(t *testing.T, w *world) {
		w.set("a", "y", 1)
		synctest.Wait()
		for p := range w.inf.Snapshot().All() {
			assert.Equal(t, "yes", p.Annotations["seen"])
		}
		assert.Equal(t, 2, w.inf.Snapshot().Len())
	})
}

func TestErrorOfTheSourceIsNamed(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.fail(errors.New("boom"))
	inWorld(t, c, Options[*pod]{Name: "pods"}, func(t *testing.T, w *world) {
		err := w.inf.Unsynced()
		require.ErrorContains(t, err, `"pods"`)
		require.ErrorContains(t, err, "boom")
	})
}
