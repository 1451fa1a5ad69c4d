package controllers_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controllerruntime/controllers"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// An informer of this library, here one that a factory shares, is a source of a
// controller. The queue is one of this library, too.
func ExampleSource() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	_ = server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}})
	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"), reflector.ResourceOptions{})
	if err != nil {
		panic(err)
	}
	configMaps, err := informer.New(source, informer.Options[*corev1.ConfigMap]{})
	if err != nil {
		panic(err)
	}

	mgr, err := manager.New(server.Config(), manager.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		panic(err)
	}
	if err := mgr.Add(controllers.Runnable(configMaps)); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = builder.ControllerManagedBy(mgr).Named("example").
		WatchesRawSource(controllers.Source(configMaps, &handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{})).
		WithOptions(controller.Options{NewQueue: controllers.NewQueue[reconcile.Request]}).
		Complete(reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			_, err := configMaps.Lister().Get(req.NamespacedName)
			fmt.Println(req.Name, err)
			cancel()
			return reconcile.Result{}, nil
		}))
	if err != nil {
		panic(err)
	}
	if err := mgr.Start(ctx); err != nil {
		panic(err)
	}
	// Output: settings <nil>
}
