package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/informerkit/informerkit/informer/controllerruntime"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// managed is a manager in its own process.
type managed struct {
	total      int64 // objects
	reconciles atomic.Int64
	used       time.Duration // of the processor, until it was idle
	result     Result
}

// Begin runs a manager until each object was reconciled.
func (m *managed) Begin(a Assignment, _ *measure.None) (err error) {
	log.SetLogger(logr.Discard())
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return err
	}
	opts := manager.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		// Unstructured objects are read from the cache, too.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	}
	if a.Strip {
		opts.Cache.DefaultTransform = cache.TransformStripManagedFields()
	}
	if a.Side != theirs {
		opts.NewCache = controllerruntime.New
	}
	mgr, err := manager.New(&rest.Config{Host: a.URL, QPS: -1}, opts)
	if err != nil {
		return err
	}
	if err := addControllers(mgr, &m.reconciles); err != nil {
		return err
	}
	ctx := context.Background() // the manager ends with the process
	// Informers that exist are those that are waited for.
	for _, k := range kinds {
		if _, err := mgr.GetCache().GetInformer(ctx, k.empty); err != nil {
			return err
		}
		m.total += int64(k.count(a.Options))
	}
	begin := time.Now()
	go func() {
		if err := mgr.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "manager:", err) // and the reconciles do not come
		}
	}()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the cache has not synced")
	}
	m.result.Sync = time.Since(begin).Seconds()
	if err := settle(&m.reconciles, m.total); err != nil {
		return err
	}
	m.result.SyncCPU = measure.CPUTime().Seconds()
	m.result.Heap = liveHeap()
	m.used = measure.CPUTime()
	return nil
}

// End waits until all changes were reconciled, and replies what was measured.
func (m *managed) End(_ measure.None, r *Result) error {
	if err := settle(&m.reconciles, m.total); err != nil {
		return err
	}
	m.result.ChangesCPU = (measure.CPUTime() - m.used).Seconds()
	m.result.HeapAfter, m.result.Resident, m.result.Reconciles = liveHeap(), resident(), float64(m.reconciles.Load())
	*r = m.result
	return nil
}

// addControllers adds one controller per kind. Each reads its object; that of pods
// reads the pods with the same owner as well, by an index, and that of ReplicaSets the
// ConfigMaps of its namespace by a label.
func addControllers(mgr manager.Manager, reconciles *atomic.Int64) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, "owner", func(obj client.Object) []string {
		for _, ref := range obj.GetOwnerReferences() {
			return []string{ref.Name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c := mgr.GetClient()
	for _, k := range kinds {
		reconciler := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			defer reconciles.Add(1)
			obj := k.empty.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy is of the same type
			if err := c.Get(ctx, req.NamespacedName, obj); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			if k.gvk.Kind != "Pod" {
				return reconcile.Result{}, nil
			}
			var siblings corev1.PodList
			owner := obj.GetOwnerReferences()[0].Name
			return reconcile.Result{}, c.List(ctx, &siblings, client.InNamespace(req.Namespace), client.MatchingFields{"owner": owner})
		})
		if err := builder.ControllerManagedBy(mgr).Named(strings.ToLower(k.gvk.Kind)).For(k.empty).Complete(reconciler); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until there have been enough reconciles, and none for a second.
func settle(reconciles *atomic.Int64, enough int64) error {
	deadline := time.Now().Add(10 * time.Minute)
	for last, since := int64(-1), time.Now(); ; time.Sleep(50 * time.Millisecond) {
		n := reconciles.Load()
		if n != last {
			last, since = n, time.Now()
		}
		if n >= enough && time.Since(since) > time.Second {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d reconciles of %d after ten minutes", n, enough)
		}
	}
}

// liveHeap is in MiB. Its collections are not part of the processor time that is
// measured: those of before and after are read around it.
func liveHeap() float64 { return float64(measure.HeapInUse()) / (1 << 20) }

// resident is the most memory that the process has had, in MiB.
func resident() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / (1 << 10)
}
