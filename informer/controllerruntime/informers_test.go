package controllerruntime_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controllerruntime"
	"github.com/informerkit/informerkit/informer/informertest"
)

// record is a handler of client-go that writes down its calls.
type record struct {
	mu    sync.Mutex
	calls []string
}

func (r *record) note(call string, obj any, more ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj, more = gone.Obj, append(more, "unknown")
	}
	key := client.ObjectKeyFromObject(obj.(client.Object)) //nolint:forcetypeassert // of a cache
	r.calls = append(r.calls, fmt.Sprintln(append([]any{call, key}, more...)...))
}

func (r *record) OnAdd(obj any, initial bool) { r.note("add", obj, initial) }
func (r *record) OnUpdate(_, obj any)         { r.note("update", obj) }
func (r *record) OnDelete(obj any)            { r.note("delete", obj) }

// take returns the calls so far, sorted, and forgets them.
func (r *record) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	slices.Sort(calls)
	for i := range calls {
		calls[i] = calls[i][:len(calls[i])-1]
	}
	return calls
}

// Promise controllerruntime/6
func TestHandlersGetEachObjectOnceAndThenEachChange(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]cache.Options{
		"one informer": {},
		"namespaces":   {DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}, cache.AllNamespaces: {}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, []client.Object{configMap("a", "x"), configMap("b", "x"), configMap("c", "x")}, func(t *testing.T, server *informertest.Server) {
				c := newCache(t, server, opts, quiet)
				inf, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
				require.NoError(t, err)
				var before, after record
				one, err := inf.AddEventHandler(&before)
				require.NoError(t, err)
				require.False(t, one.HasSynced())
				require.False(t, inf.HasSynced())
				require.NotEmpty(t, inf.HasSyncedChecker().Name())
				run(t, c)
				<-one.HasSyncedChecker().Done()
				<-inf.HasSyncedChecker().Done()
				require.True(t, one.HasSynced())
				require.True(t, inf.HasSynced())
				require.NotEmpty(t, one.HasSyncedChecker().Name())
				require.Equal(t, []string{"add a/x true", "add b/x true", "add c/x true"}, before.take())
				two, err := inf.AddEventHandlerWithResyncPeriod(&after, 0)
				require.NoError(t, err)
				require.Equal(t, []string{"add a/x true", "add b/x true", "add c/x true"}, after.take())

				require.NoError(t, server.Create(configMap("a", "y")))
				require.NoError(t, server.Update(configMap("b", "x", "changed")))
				require.NoError(t, server.Delete(configMaps, "c", "x"))
				time.Sleep(time.Second)
				for _, r := range []*record{&before, &after} {
					require.Equal(t, []string{"add a/y false", "delete c/x", "update b/x"}, r.take())
				}

				// A watch that breaks is resumed: nothing comes twice. What was deleted while
				// nothing could be watched, and the past is gone, comes as a tombstone.
				server.BreakConnections()
				time.Sleep(time.Minute)
				require.Empty(t, before.take())
				require.NoError(t, server.Pause())
				require.NoError(t, server.Delete(configMaps, "b", "x"))
				server.Compact()
				require.NoError(t, server.Resume())
				time.Sleep(5 * time.Minute)
				require.Equal(t, []string{"delete b/x unknown"}, before.take())
				after.take()

				require.NoError(t, inf.RemoveEventHandler(two))
				require.NoError(t, inf.RemoveEventHandler(two), "twice")
				require.NoError(t, server.Create(configMap("a", "z")))
				time.Sleep(time.Second)
				require.Empty(t, after.take())
				require.Len(t, before.take(), 1)
			})
		})
	}
}

func TestInformersRefuseWhatCannotBe(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]cache.Options{
		"one informer": {},
		"namespaces":   {DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, []client.Object{configMap("a", "x"), configMap("b", "x")}, func(t *testing.T, server *informertest.Server) {
				c := newCache(t, server, opts, quiet)
				stop := run(t, c)
				inf, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
				require.NoError(t, err)
				_, err = inf.AddEventHandler(nil)
				require.ErrorContains(t, err, "the handler is nil")
				require.ErrorContains(t, inf.RemoveEventHandler(nil), "is no handle of this informer")
				indexers := toolscache.Indexers{"x": func(any) ([]string, error) { return nil, nil }}
				require.NoError(t, inf.AddIndexers(indexers))
				require.ErrorContains(t, inf.AddIndexers(indexers), "indexer conflict")
				require.False(t, inf.IsStopped())

				require.EqualError(t, c.Start(t.Context()), "informer already started")
				stop()
				require.True(t, inf.IsStopped())
				_, err = inf.AddEventHandler(&record{})
				require.ErrorContains(t, err, "stopped already")
				require.EqualError(t, c.Start(t.Context()), "informer already started")
				_, err = c.GetInformer(t.Context(), &corev1.Secret{})
				require.ErrorIs(t, err, informer.ErrStopped)
				require.Equal(t, []string{"a/x", "b/x"}, names(t, c), "what is cached stays readable")
			})
		})
	}
}

// Promise controllerruntime/7
func TestNothingRunsAfterStartHasReturned(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]cache.Options{
		"one informer": {},
		"namespaces":   {DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, []client.Object{configMap("a", "x"), configMap("b", "x")}, func(t *testing.T, server *informertest.Server) {
				c := newCache(t, server, opts, quiet)
				stop := run(t, c)
				inf, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
				require.NoError(t, err)
				var returned atomic.Int64
				_, err = inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) {
					time.Sleep(time.Hour)
					returned.Add(1)
				}})
				require.NoError(t, err)
				time.Sleep(time.Second)
				stop()
				want := len(c.Health()) // one call for each informer
				require.EqualValues(t, want, returned.Load(), "Start waits for calls that are running, and no more begin")
				time.Sleep(10 * time.Hour)
				require.EqualValues(t, want, returned.Load())
			})
		})
	}
}

func TestRemovedInformersStopAndAreMadeAgain(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{})
		ctx, cm := t.Context(), &corev1.ConfigMap{}
		require.NoError(t, c.RemoveInformer(ctx, cm), "there is none")
		inf, err := c.GetInformer(ctx, cm)
		require.NoError(t, err)
		require.NoError(t, c.IndexField(ctx, cm, "data.key", byKey))
		var calls record
		_, err = inf.AddEventHandler(&calls)
		require.NoError(t, err)
		require.Len(t, calls.take(), 1)

		require.NoError(t, c.RemoveInformer(ctx, cm))
		require.Empty(t, c.Health())
		synctest.Wait()
		require.True(t, inf.IsStopped())
		require.NoError(t, server.Create(configMap("a", "y")))
		time.Sleep(time.Second)
		require.Empty(t, calls.take())

		require.Equal(t, []string{"a/x", "a/y"}, names(t, c))
		again, err := c.GetInformer(ctx, cm)
		require.NoError(t, err)
		require.NotSame(t, inf, again)
		require.ErrorContains(t, c.List(ctx, &corev1.ConfigMapList{}, client.MatchingFields{"data.key": "x"}), "does not exist", "indexes go with it")
		require.NoError(t, c.IndexField(ctx, cm, "data.key", byKey))
	})
}

// Who waits for an informer that is removed is not left to wait.
func TestWaitsEndWithTheInformer(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, server *informertest.Server) {
		for _, verb := range []string{"list", "watch"} {
			server.Inject(informertest.Fault{Verb: verb, Resource: "configmaps", Times: -1, Effect: informertest.Refuse(apierrors.NewForbidden(configMaps.GroupResource(), "", nil))})
		}
		c := newCache(t, server, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}}, quiet)
		stop := run(t, c)
		errs, synced := make(chan error, 1), make(chan bool, 1)
		get := func() {
			errs <- c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "x"}, &corev1.ConfigMap{})
		}
		go get()
		synctest.Wait()
		go func() { synced <- c.WaitForCacheSync(t.Context()) }()
		time.Sleep(time.Minute)
		require.NoError(t, c.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		err := <-errs
		require.True(t, apierrors.IsTimeout(err), "%v", err)
		require.ErrorContains(t, err, "forbidden", "why it was not synced")
		require.True(t, <-synced, "all others are")

		go get()
		synctest.Wait()
		go func() { synced <- c.WaitForCacheSync(t.Context()) }()
		time.Sleep(time.Minute)
		stop()
		require.Error(t, <-errs)
		require.False(t, <-synced)
	})
}

func TestACacheThatNeverStartsIsNoWork(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, server *informertest.Server) {
		c := newCache(t, server, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}}, quiet)
		_, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, c.WaitForCacheSync(ctx))
		require.NoError(t, c.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		require.Zero(t, server.Count("list", "configmaps"))
		require.Zero(t, server.Count("watch", "configmaps"))
		require.False(t, manager.LeaderElectionRunnable(c).NeedLeaderElection())
	})
}

// An unusual kind: its informers are found by GetInformerForKind in the form of the
// scheme.
func TestInformersOfAKindAreThoseOfItsObjects(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{})
		one, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		two, err := c.GetInformerForKind(t.Context(), corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		require.NoError(t, err)
		assert.Same(t, one, two)
		other, err := c.GetInformer(t.Context(), metadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap")))
		require.NoError(t, err)
		assert.NotSame(t, one, other)
		_, err = c.GetInformerForKind(t.Context(), metav1.SchemeGroupVersion.WithKind("ListOptions"))
		require.Error(t, err)
	})
}

// What a call says for a context that has ended does not depend on how fast the sync is.
func TestCallsWithAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, server *informertest.Server) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for name, call := range map[string]func(ctx context.Context, c *controllerruntime.Cache) error{
			"GetInformer": func(ctx context.Context, c *controllerruntime.Cache) error {
				_, err := c.GetInformer(ctx, &corev1.ConfigMap{})
				return err
			},
			"Get": func(ctx context.Context, c *controllerruntime.Cache) error {
				return client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Namespace: "a", Name: "x"}, &corev1.ConfigMap{}))
			},
			"List": func(ctx context.Context, c *controllerruntime.Cache) error {
				return c.List(ctx, &corev1.ConfigMapList{})
			},
		} {
			c := started(t, server, cache.Options{})
			err := call(ended, c)
			require.ErrorContains(t, err, "context canceled", name)
			assert.True(t, apierrors.IsTimeout(err), name)
			require.NoError(t, call(t.Context(), c), name)
			require.NoError(t, call(ended, c), "%s: it is synced", name)
			for range 20 {
				require.True(t, c.WaitForCacheSync(ended), "%s: all are synced", name)
			}
		}
	})
}
