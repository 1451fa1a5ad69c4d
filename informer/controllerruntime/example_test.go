package controllerruntime_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/informerkit/informerkit/informer/audit"
	"github.com/informerkit/informerkit/informer/controllerruntime"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
)

// One field of the manager's options, and everything that reads through its client, or
// watches, does so on informers of this library.
func ExampleNew() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	_ = server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"color": "green"}})

	mgr, err := manager.New(server.Config(), manager.Options{
		NewCache: controllerruntime.New, // the whole migration
		Metrics:  metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = builder.ControllerManagedBy(mgr).Named("colors").For(&corev1.ConfigMap{}).
		Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var cm corev1.ConfigMap
			if err := mgr.GetClient().Get(ctx, req.NamespacedName, &cm); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			fmt.Println(cm.Name, "is", cm.Data["color"])
			cancel() // enough for an example
			return reconcile.Result{}, nil
		}))
	if err != nil {
		panic(err)
	}
	if err := mgr.Start(ctx); err != nil {
		panic(err)
	}
	// Output: settings is green
}

// What this library has and controller-runtime has no option for is in Options. The page
// of package inspect shows all informers of the manager.
func ExampleNewWith() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	newCache := controllerruntime.NewWith(controllerruntime.Options{
		Reflector: reflector.Options{Monitor: audit.Every(time.Hour)},
	})
	c, err := newCache(server.Config(), cache.Options{DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Start(ctx) }()

	var namespaces corev1.NamespaceList
	if err := c.List(ctx, &namespaces); err != nil {
		panic(err)
	}
	fmt.Println(len(namespaces.Items), "namespaces")
	page, err := inspect.New(inspect.Options{Show: []inspect.Source{inspect.Factory(c.(*controllerruntime.Cache))}})
	if err != nil {
		panic(err)
	}
	_ = page // http.Handle("/debug/informers", page)
	for _, h := range c.(*controllerruntime.Cache).Health() {
		fmt.Println(h.Name, "synced:", h.Synced)
	}
	cancel()
	if err := <-done; err != nil {
		panic(err)
	}
	// Output:
	// 4 namespaces
	// namespaces/v1 synced: true
}
