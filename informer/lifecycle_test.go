package informer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/reflector"
)

func TestStopIsPromptInEveryState(t *testing.T) {
	t.Parallel()
	states := map[string]func(w *world){
		"before the first list":  func(w *world) { w.fail(errors.New("boom")) },
		"in a backoff":           func(w *world) { w.fail(errors.New("boom")); time.Sleep(10 * time.Minute) },
		"watching":               func(w *world) { time.Sleep(time.Minute) },
		"just disconnected":      func(w *world) { w.disconnect(true) },
		"with a queue":           func(w *world) { w.writeMany(5000) },
		"with a handler behind":  func(w *world) { w.slowly(time.Millisecond); w.writeMany(5000); synctest.Wait() },
		"with a handler waiting": func(w *world) { w.slowly(0); synctest.Wait() },
		"with a resync running":  func(w *world) { w.slowly(time.Millisecond); time.Sleep(3 * time.Second) },
	}
	for name, reach := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			c.set("a", "x", 1)
			inWorld(t, c, Options[*pod]{QueueLimit: 10}, func(t *testing.T, w *world) {
				reach(w)
				begin := time.Now()
				w.stop()
				assert.Less(t, time.Since(begin), 100*time.Millisecond)
			})
		})
	}
}

func (w *world) writeMany(n int) {
	for i := range n {
		w.set("a", fmt.Sprint(i%100), i)
	}
}

// slowly adds a handler that takes some time for each call.
func (w *world) slowly(d time.Duration) {
	_, err := w.inf.AddHandler(HandlerFunc[*pod](func(Event[*pod]) { time.Sleep(d) }), HandlerOptions{ResyncPeriod: time.Second})
	require.NoError(w.t, err)
}

func TestHandlersMayAddAndRemoveHandlers(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		other, r := w.join(HandlerOptions{})
		inner := observe(t, w.inf)
		w.add(HandlerFunc[*pod](func(e Event[*pod]) {
			if e.Type == Added {
				r.Remove()
				_, err := w.inf.AddHandler(inner, HandlerOptions{})
				require.NoError(t, err)
				require.NoError(t, WaitForSync(t.Context(), w.inf))
				_ = w.inf.Health()
			}
		}), HandlerOptions{})
		<-r.Done()
		other.take()
		w.set("a", "x", 2)
		synctest.Wait()
		assert.Empty(t, other.take())
		requireSame(t, c, w.inf, inner)
	})
}

func TestConcurrentAddRemoveAndStop(t *testing.T) {
	t.Parallel()
	c := newCluster()
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		ended := make(chan struct{})
		const goroutines = 100
		for i := range goroutines {
			go func() {
				defer func() { ended <- struct{}{} }()
				for range 10 {
					r, err := w.inf.AddHandler(observe(t, w.inf), HandlerOptions{})
					if errors.Is(err, ErrStopped) {
						return
					}
					w.set("a", fmt.Sprint(i), i)
					if i%2 == 0 {
						r.Remove()
					} else if err := r.RemoveAndWait(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		for range goroutines {
			if <-ended; runtime.NumGoroutine()%7 == 0 {
				w.stop()
			}
		}
		w.stop()
		assert.Empty(t, w.inf.Health().Handlers)
	})
}

type recorder struct {
	name   string
	health func() Health
	counts EventCounts
	synced []time.Duration
	closed int
}

func (r *recorder) Informer(name string, health func() Health) Metrics {
	r.name, r.health = name, health
	return r
}

func (r *recorder) Applied(c EventCounts, _ time.Duration) {
	r.counts.Added += c.Added
	r.counts.Updated += c.Updated
	r.counts.Deleted += c.Deleted
	r.counts.Lists += c.Lists
	r.counts.Objects = c.Objects
}

func (r *recorder) Synced(after time.Duration) { r.synced = append(r.synced, after) }
func (r *recorder) Close()                     { r.closed++ }

func TestMetricsCountEventsAndEndWithTheInformer(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	c.set("a", "y", 1)
	m := &recorder{}
	inWorld(t, c, Options[*pod]{Name: "pods", Metrics: m}, func(t *testing.T, w *world) {
		w.set("a", "x", 2)
		w.set("a", "x", 3)
		w.remove("a", "x")
		w.set("a", "z", 1)
		synctest.Wait()
		w.disconnect(true)
		w.remove("a", "z")
		w.set("a", "y", 2)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, EventCounts{Added: 3, Updated: 3, Deleted: 2, Lists: 2, Objects: 1}, m.counts)
		assert.Equal(t, "pods", m.name)
		assert.Equal(t, w.inf.Health().Events, m.health().Events)
		assert.Len(t, m.synced, 1)
		assert.Zero(t, m.closed)
		w.stop()
		assert.Equal(t, 1, m.closed)
	})
}

func TestMetricsCountTheListAndTheEventsOfOneBatch(t *testing.T) {
	t.Parallel()
	m := &recorder{}
	inf, err := New(newCluster().source(), Options[*pod]{})
	require.NoError(t, err)
	inf.applier.metrics = m
	state := func(name string, version int) *pod {
		return &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(version)}}
	}
	inf.applier.apply(inf.applier.progress.sources[0], deltafifo.Deltas[*pod]{
		{Type: deltafifo.Added, Object: state("x", 1)},
		{Type: deltafifo.Added, Object: state("y", 2)},
		{Type: deltafifo.Updated, Object: state("x", 3)},
		{Type: deltafifo.Added, Object: state("z", 4)},
		{Type: deltafifo.Deleted, Object: state("z", 5)},
		{Type: deltafifo.Replaced, List: &deltafifo.List[*pod]{Objects: []*pod{state("x", 6), state("w", 7)}, ResourceVersion: "8"}},
	})
	assert.Equal(t, EventCounts{Added: 4, Updated: 2, Deleted: 2, Lists: 1, Objects: 2}, m.counts)
}

func TestMetricsHearNothingAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.set("a", "x", 1)
		m := &recorder{}
		inf, err := NewNamespaced(map[string]reflector.ListerWatcher[*pod]{"a": c.namespaced("a")}, Options[*pod]{Metrics: m})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- inf.Run(ctx) }()
		require.NoError(t, WaitForSync(ctx, inf))
		stop()
		require.NoError(t, <-ran)
		require.Equal(t, 1, m.closed)
		before := m.counts
		assert.True(t, inf.RemoveNamespace("a"))
		assert.Equal(t, before, m.counts)
	})
}

func TestHealthDescribesSourceAndHandlers(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{Name: "pods"}, func(t *testing.T, w *world) {
		w.join(HandlerOptions{Name: "b"})
		w.join(HandlerOptions{Name: "a"})
		h := w.inf.Health()
		assert.Equal(t, "pods", h.Name)
		assert.True(t, h.Synced)
		assert.False(t, h.Stopped)
		assert.Equal(t, 1, h.Objects)
		assert.Equal(t, w.inf.Snapshot().ResourceVersion(), h.ResourceVersion)
		require.Len(t, h.Sources, 1)
		assert.True(t, h.Sources[0].Reflector.Synced)
		assert.Equal(t, []HandlerHealth{{Name: "a", Synced: true, Delivered: 1}, {Name: "b", Synced: true, Delivered: 1}}, h.Handlers)
		assert.Equal(t, "pods", w.inf.Name())
		assert.Equal(t, 1, w.inf.Snapshot().Len())
	})
}

func TestLagOfAHandlerIncludesWhatIsBeingDelivered(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		next := make(chan struct{})
		w.add(HandlerFunc[*pod](func(Event[*pod]) { <-next }), HandlerOptions{})
		const n = 5
		for i := range n {
			w.set("a", strconv.Itoa(i), 1)
			synctest.Wait()
		}
		for left := n; left > 0; left-- {
			assert.Equal(t, left, w.inf.Health().Handlers[0].Lag)
			next <- struct{}{}
			synctest.Wait()
		}
		assert.Zero(t, w.inf.Health().Handlers[0].Lag)
	})
}

// TestIdleInformerHasOneGoroutine counts those of a source that has none itself.
func TestIdleInformerHasOneGoroutine(t *testing.T) {
	const n = 100
	before := runtime.NumGoroutine()
	for range n {
		running(t, 1)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+n; runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "%d goroutines for %d informers", runtime.NumGoroutine()-before, n)
	}
}
