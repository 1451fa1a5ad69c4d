package controllers_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controllerruntime/controllers"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

func informerOf(t *testing.T, server *informertest.Server) *informer.Informer[*corev1.ConfigMap] {
	t.Helper()
	lw, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{})
	require.NoError(t, err)
	inf, err := informer.New(lw, informer.Options[*corev1.ConfigMap]{Name: "config maps", Logger: quiet})
	require.NoError(t, err)
	return inf
}

// runInformer runs an informer as a manager does.
func runInformer(t *testing.T, inf informer.Runnable) {
	t.Helper()
	r := controllers.Runnable(inf)
	elected, ok := r.(manager.LeaderElectionRunnable)
	require.True(t, ok)
	require.False(t, elected.NeedLeaderElection())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

type keys struct {
	mu  sync.Mutex
	all []string
}

func (k *keys) add(s string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, s)
}

func (k *keys) take() []string {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.all
	k.all = nil
	slices.Sort(all)
	return all
}

// Promise controllers/1
func TestSourcesDeliverTheInitialListAndThenChanges(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x"), configMap("a", "skipped", "skip")}, func(t *testing.T, server *informertest.Server) {
		inf := informerOf(t, server)
		var got keys
		note := func(what string) func(context.Context, *corev1.ConfigMap, bool) {
			return func(_ context.Context, cm *corev1.ConfigMap, flag bool) {
				if flag {
					got.add(what + " " + cm.Name + " flagged")
				} else {
					got.add(what + " " + cm.Name)
				}
			}
		}
		h := handler.TypedFuncs[*corev1.ConfigMap, reconcile.Request]{
			CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.ConfigMap], _ queueOf) {
				note("create")(ctx, e.Object, e.IsInInitialList)
			},
			UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.ConfigMap], _ queueOf) {
				note("update")(ctx, e.ObjectNew, e.ObjectOld == nil)
			},
			DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.ConfigMap], _ queueOf) {
				note("delete")(ctx, e.Object, e.DeleteStateUnknown)
			},
		}
		skip := predicate.NewTypedPredicateFuncs(func(cm *corev1.ConfigMap) bool { return cm.Labels["skip"] == "" })
		s := controllers.Source[*corev1.ConfigMap](inf, h, skip)
		require.ErrorContains(t, s.WaitForSync(t.Context()), "was not started")

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		queue := controllers.NewPriorityQueue[reconcile.Request](nil, workqueue.Options[reconcile.Request]{})
		require.NoError(t, s.Start(ctx, queue))
		require.ErrorContains(t, s.Start(ctx, queue), "was started before")
		short, end := context.WithTimeout(ctx, time.Second)
		defer end()
		require.ErrorContains(t, s.WaitForSync(short), "config maps", "which does not run yet")

		runInformer(t, inf)
		require.NoError(t, s.WaitForSync(ctx))
		require.Equal(t, []string{"create x flagged"}, got.take())
		require.NoError(t, server.Create(configMap("a", "y")))
		require.NoError(t, server.Update(configMap("a", "x", "changed")))
		require.NoError(t, server.Update(configMap("a", "skipped", "skip", "changed")))
		time.Sleep(time.Second)
		require.Equal(t, []string{"create y", "update x"}, got.take())
		require.NoError(t, server.Delete(configMaps, "a", "y"))
		require.NoError(t, server.Delete(configMaps, "a", "skipped"))
		time.Sleep(time.Second)
		require.Equal(t, []string{"delete y"}, got.take())
		require.NoError(t, server.Pause())
		require.NoError(t, server.Delete(configMaps, "a", "x"))
		server.Compact()
		require.NoError(t, server.Resume())
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"delete x flagged"}, got.take())

		require.Len(t, inf.Health().Handlers, 1)
		cancel()
		synctest.Wait()
		require.Empty(t, inf.Health().Handlers, "the informer goes on without it")
		require.NoError(t, server.Create(configMap("a", "z")))
		time.Sleep(time.Second)
		require.Empty(t, got.take())
	})
}

type queueOf = upstream.TypedRateLimitingInterface[reconcile.Request]

func TestWhatExistsHasALowPriority(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "old")}, func(t *testing.T, server *informertest.Server) {
		inf := informerOf(t, server)
		runInformer(t, inf)
		s := controllers.Source[*corev1.ConfigMap](inf, &handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{})
		made := controllers.NewQueue[reconcile.Request]("test", nil)
		queue, ok := made.(priorityqueue.PriorityQueue[reconcile.Request])
		require.True(t, ok, "handlers must detect it")
		require.NoError(t, s.Start(t.Context(), queue))
		require.NoError(t, s.WaitForSync(t.Context()))
		require.NoError(t, server.Create(configMap("a", "new")))
		time.Sleep(time.Second)
		req, priority, _ := queue.GetWithPriority()
		require.Equal(t, "new", req.Name)
		require.Zero(t, priority)
		req, priority, _ = queue.GetWithPriority()
		require.Equal(t, "old", req.Name)
		require.Equal(t, handler.LowPriority, priority)
	})
}

func TestSourcesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, server *informertest.Server) {
		var none *informer.Informer[*corev1.ConfigMap]
		h := &handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{}
		queue := controllers.NewQueue[reconcile.Request]("test", nil)
		require.ErrorContains(t, controllers.Source[*corev1.ConfigMap](none, h).Start(t.Context(), queue), "the informer of the source is nil")
		require.ErrorContains(t, controllers.Source[*corev1.ConfigMap](nil, h).Start(t.Context(), queue), "the informer of the source is nil")
		inf := informerOf(t, server)
		require.ErrorContains(t, controllers.Source[*corev1.ConfigMap](inf, nil).Start(t.Context(), queue), "the handler of the informer source: config maps is nil")
		require.ErrorContains(t, controllers.Source[*corev1.ConfigMap](inf, h).Start(t.Context(), nil), "without a queue")
		require.ErrorContains(t, controllers.Runnable(nil).Start(t.Context()), "got no informer")
		require.ErrorContains(t, controllers.Runnable(none).Start(t.Context()), "got no informer")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, inf.Run(ended))
		require.ErrorIs(t, controllers.Source[*corev1.ConfigMap](inf, h).Start(t.Context(), queue), informer.ErrStopped)
	})
}
