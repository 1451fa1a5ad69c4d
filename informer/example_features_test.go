package informer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// A group runs informers for as long as the work that needs them.
func ExampleGroup() {
	server := newServer("a")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inf := newInformer(server)
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{})
	_, err := informer.EnqueueKeysOf(inf, queue)
	must(err)

	group, err := informer.NewGroup(inf)
	must(err)
	must(group.Run(ctx, func(ctx context.Context) error { // the cache is synced
		return workqueue.Process(ctx, queue, 1, func(_ context.Context, key types.NamespacedName) error {
			fmt.Println("reconciling", indexer.FormatKey(key))
			cancel()
			return nil
		})
	})) // and it was kept up to date until the last worker had returned

	// Output: reconciling default/a
}

// The objects of an informer before this one fill the cache, so that handlers begin
// with them, and the first list corrects it.
func ExampleOptions_initialObjects() {
	server := newServer("kept")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{})
	must(err)
	inf, err := informer.New(source, informer.Options[*corev1.ConfigMap]{
		InitialObjects: slices.Values([]*corev1.ConfigMap{configMap("deleted since")}),
	})
	must(err)
	fmt.Println("objects:", inf.Snapshot().Len(), "synced:", inf.HasSynced())
	go func() { must(inf.Run(ctx)) }()
	must(informer.WaitForSync(ctx, inf))
	for cm := range inf.Snapshot().All() {
		fmt.Println(cm.Name)
	}
	cancel()
	<-inf.Done()

	// Output:
	// objects: 1 synced: false
	// kept
}

// Namespaces come and go while the informer runs.
func ExampleInformer_AddNamespace() {
	server := newServer("a")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inf, err := informer.NewNamespaced[*corev1.ConfigMap](nil, informer.Options[*corev1.ConfigMap]{})
	must(err)
	go func() { must(inf.Run(ctx)) }()
	must(informer.WaitForSync(ctx, inf)) // there is nothing to wait for yet

	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{Namespace: "default"})
	must(err)
	must(inf.AddNamespace("default", source))
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	cm, err := inf.WaitFor(ctx, key, func(_ *corev1.ConfigMap, exists bool) bool { return exists })
	must(err)
	fmt.Println("read", cm.Name)
	fmt.Println(inf.RemoveNamespace("default"), inf.Snapshot().Len())
	cancel()
	<-inf.Done()

	// Output:
	// read a
	// true 0
}

// An index may be added while the informer runs.
func ExampleInformer_AddIndex() {
	server := newServer("a", "b", "bb")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inf := newInformer(server)
	go func() { must(inf.Run(ctx)) }()
	must(informer.WaitForSync(ctx, inf))

	initial := indexer.NewSingleIndex("initial", func(cm *corev1.ConfigMap) (byte, bool) { return cm.Name[0], true })
	must(inf.AddIndex(initial))
	snapshot := inf.Snapshot()
	for value := range indexer.IndexValues(snapshot, initial) {
		fmt.Println(string(value), indexer.IndexLen(snapshot, initial, value))
	}
	cancel()
	<-inf.Done()

	// Unordered output:
	// a 1
	// b 2
}

// A reconcile that has written is not repeated before the cache contains the write.
// No worker waits for that.
func ExampleInformer_Seen() {
	server := newServer()
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inf := newInformer(server)
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{})
	reconcile := func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
		if _, err := inf.Lister().Get(key); err == nil {
			fmt.Println("it exists")
			cancel()
			return workqueue.Result{}, nil
		}
		fmt.Println("creating it") // once, however far the cache lags behind
		created := configMap(key.Name)
		if err := server.Create(created); err != nil { // it sets the resourceVersion
			return workqueue.Result{}, err
		}
		return workqueue.Result{Until: inf.Seen(created)}, nil
	}
	group, err := informer.NewGroup(inf)
	must(err)
	queue.Add(types.NamespacedName{Namespace: "default", Name: "mine"})
	must(group.Run(ctx, func(ctx context.Context) error {
		err := workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[types.NamespacedName]{Workers: 2}, reconcile)
		return err
	}))

	// Output:
	// creating it
	// it exists
}

// A handler may enqueue any keys for an object: here the Secrets that a Pod mounts.
func ExampleEnqueueMapped() {
	queue := workqueue.New(workqueue.Options[string]{})
	handler := informer.EnqueueMapped(queue, func(pod *corev1.Pod) []string {
		secrets := map[string]bool{}
		for _, v := range pod.Spec.Volumes {
			if v.Secret != nil {
				secrets[v.Secret.SecretName] = true
			}
		}
		return slices.Sorted(maps.Keys(secrets))
	})
	handler.OnEvent(informer.Event[*corev1.Pod]{Type: informer.Added, New: &corev1.Pod{Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "token"}}}},
	}}})
	secret, _ := queue.Get(context.Background())
	fmt.Println(secret)

	// Output: token
}
