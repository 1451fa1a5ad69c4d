package controller_test

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/leader"
	"github.com/informerkit/informerkit/workqueue"
)

// Each ConfigMap with the label copy gets a Secret of the same name and contents.
func Example() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	c := controller.New(controller.Options{Config: server.Config(), Name: "copies", Logger: slog.New(slog.DiscardHandler)})
	maps := controller.For[*corev1.ConfigMap](c, corev1.SchemeGroupVersion.WithResource("configmaps"))
	copies := controller.Owns[*corev1.Secret](c, corev1.SchemeGroupVersion.WithResource("secrets"))
	reconcile := func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
		m, err := maps.Get(key)
		if err != nil || m.Labels["copy"] == "" {
			return workqueue.Result{}, client.IgnoreNotFound(err) // its copy is deleted with it
		}
		_, outcome, err := copies.CreateOrUpdate(ctx, key, func(s *corev1.Secret) error {
			s.Data = map[string][]byte{}
			for name, value := range m.Data {
				s.Data[name] = []byte(value)
			}
			return client.SetController(s, m, maps.Kind)
		})
		if err == nil && outcome != client.Unchanged {
			fmt.Println(outcome, "the copy of", key)
		}
		return workqueue.Result{}, err
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, reconcile) }()

	if err := server.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", Labels: map[string]string{"copy": "yes"}},
		Data:       map[string]string{"colour": "blue"},
	}); err != nil {
		panic(err)
	}
	key := types.NamespacedName{Namespace: "default", Name: "settings"}
	made, err := copies.Cache.WaitFor(ctx, key, func(_ *corev1.Secret, exists bool) bool { return exists })
	fmt.Println(string(made.Data["colour"]), err)
	stop()
	fmt.Println(<-ended)
	// Unordered output:
	// created the copy of default/settings
	// blue <nil>
	// <nil>
}

// Of the replicas of a Deployment one works; the others have warm caches. Health is for the probes.
func ExampleOptions() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	c := controller.New(controller.Options{
		Config:  server.Config(),
		Name:    "namers",
		Workers: 2,
		Leader:  leader.ByLease(leader.Options{Name: "namers", Namespace: "default", Logger: slog.New(slog.DiscardHandler)}),
		Health:  "127.0.0.1:0",
		Logger:  slog.New(slog.DiscardHandler),
	})
	controller.For[*corev1.Namespace](c, corev1.SchemeGroupVersion.WithResource("namespaces"),
		controller.ResourceOptions[*corev1.Namespace]{ClusterScoped: true})
	ctx, stop := context.WithCancel(context.Background())
	err = c.Run(ctx, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
		if key.Name == "default" {
			fmt.Println("leads, and has found", key.Name)
			stop()
		}
		return workqueue.Result{}, nil
	})
	fmt.Println(err)
	// Output:
	// leads, and has found default
	// <nil>
}
