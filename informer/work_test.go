package informer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue"
)

func TestGroupKeepsCachesAliveUntilTheWorkHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, v := newWorld(t, newCluster(), Options[*pod]{Name: "one"}), newWorld(t, newCluster(), Options[*pod]{Name: "two"})
		group, err := NewGroup(w.inf, v.inf)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		worked := errors.New("worked")
		err = group.Run(ctx, func(ctx context.Context) error {
			assert.True(t, w.inf.HasSynced())
			assert.True(t, v.inf.HasSynced())
			cancel()
			<-ctx.Done()
			p := w.set("a", "x", 1) // a worker that is finishing
			require.NoError(t, w.inf.WaitForObject(context.Background(), p))
			return worked
		})
		require.ErrorIs(t, err, worked)
		<-w.inf.Done()
		<-v.inf.Done()
	})
}

// The end of the work is an error only if it is not that of the context.
func TestGroupReportsWhatTheWorkEndsWith(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cancel bool
		work   error
		want   bool
	}{
		"the end of the context":              {true, fmt.Errorf("worker: %w", context.Canceled), false},
		"an end that is not the context's":    {false, context.Canceled, true},
		"a failure at the end of the context": {true, errors.Join(context.Canceled, errors.New("boom")), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newCluster(), Options[*pod]{})
				group, err := NewGroup(w.inf)
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err = group.Run(ctx, func(context.Context) error {
					if test.cancel {
						cancel()
					}
					return test.work
				})
				if !test.want {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, test.work)
			})
		})
	}
}

func TestGroupEndsWithAnInformerThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newCluster(), Options[*pod]{Name: "one"})
		go func() { _ = w.inf.Run(t.Context()) }()
		synctest.Wait()
		group, err := NewGroup(w.inf)
		require.NoError(t, err)
		err = group.Run(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		require.ErrorIs(t, err, ErrRunning)
		require.Error(t, group.Run(t.Context(), nil))
		_, err = NewGroup()
		require.ErrorContains(t, err, "empty")
		_, err = NewGroup(w.inf, nil)
		require.ErrorContains(t, err, "nil")
	})
}

func TestFactoryRunKeepsCachesAliveUntilTheWorkHasEnded(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		pods, err := For[*pod](fac)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		require.Error(t, fac.Run(ctx, nil))
		require.NoError(t, fac.Run(ctx, func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			createPod(t, s, "default", "x")
			_, err := pods.WaitFor(t.Context(), objKey("default", "x"), func(_ *pod, exists bool) bool { return exists })
			return err
		}))
		<-pods.Done()
	})
}

func TestReadyNamesWhatIsNotSyncedOrDegraded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newCluster(), Options[*pod]{Name: "pods"})
		h, err := ReadyHandler(w.inf)
		require.NoError(t, err)
		get := func() (int, string) {
			r := httptest.NewRecorder()
			h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			return r.Code, r.Body.String()
		}
		code, body := get()
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Contains(t, body, `"pods" is not running`)
		w.run()
		code, body = get()
		assert.Equal(t, http.StatusOK, code)
		assert.Equal(t, "ok\n", body)

		w.fail(errors.New("boom"))
		w.disconnect(false)
		time.Sleep(degradedGrace - time.Second)
		require.NoError(t, w.inf.Ready(), "it may recover")
		time.Sleep(2 * time.Second)
		code, body = get()
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Contains(t, body, `"pods" is degraded`)
		assert.Contains(t, body, "boom")
		w.fail(nil)
		time.Sleep(time.Minute)
		require.NoError(t, w.inf.Ready())
		w.stop()
		require.ErrorIs(t, w.inf.Ready(), ErrStopped)
	})
	_, err := ReadyHandler()
	require.Error(t, err)
	_, err = ReadyHandler(nil)
	require.Error(t, err)
}

func TestWaitForReturnsTheObjectThatMeetsTheCondition(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{Name: "pods"}, func(t *testing.T, w *world) {
		key, got := objKey("a", "x"), make(chan *pod, 2)
		wait := func(condition func(*pod, bool) bool) {
			go func() {
				p, err := w.inf.WaitFor(t.Context(), key, condition)
				assert.NoError(t, err)
				got <- p
			}()
			synctest.Wait()
		}
		calls := 0
		wait(func(p *pod, exists bool) bool { calls++; return exists && p.Labels["n"] == "2" })
		assert.Equal(t, 1, calls)
		w.set("a", "x", 1)
		w.set("b", "y", 1)
		synctest.Wait()
		assert.Empty(t, got)
		assert.Equal(t, 2, calls, "another object is not looked at")
		w.set("a", "x", 2)
		assert.Equal(t, "2", (<-got).Labels["n"])
		wait(func(_ *pod, exists bool) bool { return !exists })
		w.remove("a", "x")
		assert.Nil(t, <-got)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.inf.WaitFor(ctx, key, func(*pod, bool) bool { return false })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "a/x")
		_, err = w.inf.WaitFor(ctx, key, nil)
		require.ErrorContains(t, err, "condition is nil")
		_, err = w.inf.WaitFor(ctx, types.NamespacedName{}, func(*pod, bool) bool { return true })
		require.ErrorContains(t, err, "no name")
		assert.Zero(t, waiting(w.inf))
	})
}

// A reconcile that has written is repeated when the cache has seen the write, and
// no worker waits for that.
//
// Promise informer/11
func TestSeenParksAKeyUntilTheCacheHasTheWrite(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		queue := workqueue.NewRateLimiting(nil, workqueue.Options[string]{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		var written *pod
		var runs, ahead int
		go func() {
			err := workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[string]{Workers: 1}, func(context.Context, string) (workqueue.Result, error) {
				runs++
				if written == nil {
					written = w.set("a", "x", 1).DeepCopy()
					written.ResourceVersion = "102" // that of a later write, which the watch has not delivered
					return workqueue.Result{Until: w.inf.Seen(written)}, nil
				}
				if cached, ok := w.inf.Snapshot().Get(objKey("a", "x")); !ok || cached.ResourceVersion != "102" {
					ahead++
				}
				return workqueue.Result{}, nil
			})
			ended <- err
		}()
		queue.Add("key")
		time.Sleep(5 * time.Second)
		queue.Add("key")
		synctest.Wait()
		assert.Equal(t, 1, runs, "it is parked")
		assert.Equal(t, 1, waiting(w.inf))
		w.set("a", "x", 2)
		synctest.Wait()
		assert.Equal(t, 2, runs)
		assert.Zero(t, ahead)
		assert.Zero(t, waiting(w.inf))
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestSeenIsMetWhenItCannotBeAnyMore(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		assert.Nil(t, w.inf.Seen(nil))
		assert.Nil(t, w.inf.Seen(&pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}}))
		late := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", ResourceVersion: "9999"}}
		met, cancelled := 0, 0
		w.inf.Seen(late).Register(func() { met++ })
		cancel := w.inf.Seen(late).Register(func() { cancelled++ })
		cancel()
		w.stop()
		assert.Equal(t, 1, met)
		assert.Zero(t, cancelled)
		assert.Nil(t, w.inf.Seen(late).Register(func() { met++ }), "met at once")
		assert.Equal(t, 2, met)
	})
}

func TestMappedHandlerEnqueuesKeysOfAnyType(t *testing.T) {
	t.Parallel()
	var q anyKeys[int]
	h := EnqueueMapped(&q, func(p *pod) []int { return []int{len(p.Labels["n"]), 7} })
	one, long := labelled("1"), labelled("long")
	h.OnEvent(Event[*pod]{Type: Added, New: one})
	assert.Equal(t, anyKeys[int]{1, 7}, q)
	q = nil
	h.OnEvent(Event[*pod]{Type: Updated, Old: one, New: long})
	assert.Equal(t, anyKeys[int]{1, 7, 4}, q, "both states, each key once")
	q = nil
	h.OnEvent(Event[*pod]{Type: Deleted, Old: long, FinalStateUnknown: true})
	assert.Equal(t, anyKeys[int]{4, 7}, q)
}

func TestOwnersWithAndWithoutController(t *testing.T) {
	t.Parallel()
	p := labelled("1")
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Widget", Name: "plain"}, {APIVersion: "v1", Kind: "Widget", Name: "controller", Controller: &yes},
		{APIVersion: "v1", Kind: "Other", Name: "no"},
	}
	kind := widgetKind
	kind.Group = ""
	var q keys
	EnqueueOwner[*pod](&q, Owner{Kind: kind}).OnEvent(Event[*pod]{New: p})
	assert.Equal(t, keys{"a/controller"}, q)
	q = nil
	EnqueueOwner[*pod](&q, Owner{Kind: kind, AnyReference: true}).OnEvent(Event[*pod]{New: p})
	assert.Equal(t, keys{"a/plain", "a/controller"}, q)
}

type anyKeys[K any] []K

func (q *anyKeys[K]) Add(key K) { *q = append(*q, key) }

func TestHandlersOfImpossibleArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	inf, err := New(newCluster().source(), Options[*pod]{})
	require.NoError(t, err)
	var q keys
	good := EnqueueKey[*pod](&q)
	for says, h := range map[string]Handler[*pod]{
		"the handler is nil":       nil,
		"FilterHandler: match":     FilterHandler[*pod](nil, good),
		"the predicate is nil":     When[*pod](nil, good),
		"When: the handler":        When(InitialOrResync[*pod](), nil),
		"WhenElse: the handler":    WhenElse(InitialOrResync[*pod](), good, nil),
		"Handlers: the handler":    Handlers(good, nil),
		"EnqueueKey: the queue":    EnqueueKey[*pod](nil),
		"EnqueueOwner: the queue":  EnqueueOwner[*pod](nil, Owner{Kind: podKind}),
		"Owner.Kind":               When(InitialOrResync[*pod](), EnqueueOwner[*pod](&q, Owner{})),
		"EnqueueMapped: the queue": EnqueueMapped[*pod, int](nil, func(*pod) []int { return nil }),
		"EnqueueMapped: the func":  EnqueueMapped[*pod, types.NamespacedName](&q, nil),
		"AddHandler: the handler":  HandlerFunc[*pod](nil),
	} {
		_, err := inf.AddHandler(h)
		assert.ErrorContains(t, err, says)
	}
	_, err = EnqueueKeysOf[*pod](nil, &q)
	require.ErrorContains(t, err, "informer is nil")
	_, err = EnqueueOwnersOf(inf, &q, Owner{})
	require.ErrorContains(t, err, "Owner.Kind")
	_, err = EnqueueKeysOf(inf, &q)
	require.NoError(t, err)
	assert.Len(t, inf.Health().Handlers, 1)
}
