package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	"github.com/informerkit/informerkit/internal/verify/bench"
)

// manage runs a manager, measures it, and prints the result.
func manage(o options) error {
	log.SetLogger(logr.Discard())
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return err
	}
	stop, err := profile(o)
	if err != nil {
		return err
	}
	opts := manager.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		// Unstructured objects are read from the cache, too.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	}
	if o.strip {
		opts.Cache.DefaultTransform = cache.TransformStripManagedFields()
	}
	if o.role != "theirs" {
		opts.NewCache = controllerruntime.New
	}
	mgr, err := manager.New(&rest.Config{Host: o.url, QPS: -1}, opts)
	if err != nil {
		return err
	}
	var reconciles atomic.Int64
	if err := addControllers(mgr, &reconciles); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Informers that exist are those that are waited for.
	for _, k := range kinds {
		if _, err := mgr.GetCache().GetInformer(ctx, k.empty); err != nil {
			return err
		}
	}
	ended := make(chan error, 1)
	begin := time.Now()
	go func() { ended <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the cache has not synced")
	}
	r := result{Sync: time.Since(begin).Seconds()}
	total := 0
	for _, k := range kinds {
		total += k.count(o)
	}
	if err := settle(&reconciles, int64(total)); err != nil {
		return err
	}
	r.SyncCPU = bench.CPUTime().Seconds()
	r.Heap = liveHeap()

	before := bench.CPUTime()
	answer, err := http.Post(o.control, "", nil) //nolint:noctx // it takes as long as the changes
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the changes failed: %s", answer.Status)
	}
	if err := settle(&reconciles, int64(total)); err != nil {
		return err
	}
	r.ChangesCPU = (bench.CPUTime() - before).Seconds()
	r.HeapAfter, r.Resident, r.Reconciles = liveHeap(), resident(), float64(reconciles.Load())
	stop()
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return err
	}
	cancel()
	return <-ended
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
func liveHeap() float64 { return float64(bench.HeapInUse()) / (1 << 20) }

// resident is the most memory that the process has had, in MiB.
func resident() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / (1 << 10)
}

// profile writes a CPU profile until stop is called, and then a heap profile.
func profile(o options) (stop func(), err error) {
	if o.profile == "" {
		return func() {}, nil
	}
	return bench.Profile(o.profile + strings.ReplaceAll(o.role, ", ", "-"))
}
