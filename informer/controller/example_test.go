package controller_test

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
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
			return maps.Own(ctx, s, m)
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

// A Pod mentions ConfigMaps in its volumes. When a ConfigMap changes, an index finds the Pods to reconcile.
func ExampleWatches() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	c := controller.New(controller.Options{Config: server.Config(), Name: "mentions", Logger: slog.New(slog.DiscardHandler)})
	byConfigMap := indexer.NewIndex("configmap", func(p *corev1.Pod) ([]types.NamespacedName, error) {
		var mentioned []types.NamespacedName
		for _, v := range p.Spec.Volumes {
			if v.ConfigMap != nil {
				mentioned = append(mentioned, types.NamespacedName{Namespace: p.Namespace, Name: v.ConfigMap.Name})
			}
		}
		return mentioned, nil
	})
	pods := controller.For(c, corev1.SchemeGroupVersion.WithResource("pods"), controller.ResourceOptions[*corev1.Pod]{
		Informer: informer.ForOptions[*corev1.Pod]{Indexer: indexer.Options[*corev1.Pod]{Indexes: []indexer.IndexDefinition[*corev1.Pod]{byConfigMap}}},
	})
	maps := controller.Watches(c, corev1.SchemeGroupVersion.WithResource("configmaps"), func(m *corev1.ConfigMap) (keys []types.NamespacedName) {
		for p := range indexer.ByIndex(pods.Cache.Snapshot(), byConfigMap, client.KeyOf(m)) {
			keys = append(keys, client.KeyOf(p))
		}
		return keys
	})

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- c.Run(ctx, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
			if _, err := maps.Get(types.NamespacedName{Namespace: "default", Name: "settings"}); err == nil {
				fmt.Println("settings exist, so", key, "is reconciled")
				stop()
			}
			return workqueue.Result{}, nil
		})
	}()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
	}}}}
	if err := server.Create(pod); err != nil {
		panic(err)
	}
	if _, err := pods.Cache.WaitFor(ctx, client.KeyOf(pod), func(_ *corev1.Pod, exists bool) bool { return exists }); err != nil {
		panic(err)
	}
	if err := server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}); err != nil {
		panic(err)
	}
	fmt.Println(<-ended)
	// Output:
	// settings exist, so default/web is reconciled
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
		Health:  "127.0.0.1:0", // ":8080" in a pod; port 0 takes a free one, which only the log says
		Logger:  slog.New(slog.DiscardHandler),
	})
	controller.For[*corev1.Namespace](c, corev1.SchemeGroupVersion.WithResource("namespaces"))
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
