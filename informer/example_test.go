package informer_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// newServer returns an API server with one ConfigMap per name.
func newServer(names ...string) *informertest.Server {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		must(server.Create(configMap(name)))
	}
	return server
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}
}

// newInformer returns an informer of the server's ConfigMaps.
func newInformer(server *informertest.Server) *informer.Informer[*corev1.ConfigMap] {
	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{})
	must(err)
	inf, err := informer.New(source, informer.Options[*corev1.ConfigMap]{Name: "configmaps"})
	must(err)
	return inf
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// An informer in a few lines: a cache that follows the server, and a handler.
func Example() {
	server := newServer("a")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{})
	must(err)
	inf, err := informer.New(source, informer.Options[*corev1.ConfigMap]{})
	must(err)
	done := make(chan struct{})
	_, err = inf.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc:    func(cm *corev1.ConfigMap, _ bool) { fmt.Println("added", cm.Name) },
		DeleteFunc: func(cm *corev1.ConfigMap) { fmt.Println("deleted", cm.Name); close(done) },
	}, informer.HandlerOptions{})
	must(err)
	go func() { must(inf.Run(ctx)) }()

	must(informer.WaitForSync(ctx, inf))
	cm, err := inf.Lister().Get(types.NamespacedName{Namespace: "default", Name: "a"})
	must(err)
	fmt.Println("cached", cm.Name)
	must(server.Delete(configMaps, "default", "a"))
	<-done
	cancel()
	<-inf.Done()

	// Unordered output:
	// added a
	// cached a
	// deleted a
}

// A controller: a handler puts keys into a queue, workers take them and look at
// the present state in the cache.
func Example_controller() {
	server := newServer("settings")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	inf := newInformer(server)
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "example"})
	_, err := inf.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](queue), informer.HandlerOptions{})
	must(err)
	go func() { must(inf.Run(ctx)) }()
	must(informer.WaitForSync(ctx, inf)) // workers must not act on half a cache

	reconcile := func(_ context.Context, key types.NamespacedName) error {
		cm, err := inf.Lister().Get(key)
		if err != nil {
			return nil // it is gone: nothing to do
		}
		fmt.Println("reconciling", cm.Name)
		cancel()
		return nil // an error would bring the key back, with growing pauses
	}
	must(workqueue.Process(ctx, queue, 2, reconcile))
	<-inf.Done()

	// Output: reconciling settings
}

// Events can be ranged over, without a handler.
func ExampleInformer_Events() {
	server := newServer("a")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inf := newInformer(server)
	go func() { must(inf.Run(ctx)) }()

	for e := range inf.Events(ctx) {
		fmt.Println(e.Type, e.Key, e.Origin)
		if e.Type == informer.Deleted {
			break
		}
		must(server.Delete(configMaps, "default", "a"))
	}
	cancel()
	<-inf.Done()

	// Output:
	// Added default/a InitialList
	// Deleted default/a Watch
}

// A controller that has written an object waits until its cache contains it: for
// that namespace only, and for as long as the watch takes.
func ExampleInformer_WaitForObject() {
	server := newServer()
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inf := newInformer(server)
	go func() { must(inf.Run(ctx)) }()

	written := configMap("mine")
	must(server.Create(written)) // a clientset returns the object with its version
	must(inf.WaitForObject(ctx, written))
	_, err := inf.Lister().Get(types.NamespacedName{Namespace: "default", Name: "mine"})
	fmt.Println(err)

	must(server.Delete(configMaps, "default", "mine"))
	key := types.NamespacedName{Namespace: "default", Name: "mine"}
	must(inf.WaitForDeleted(ctx, key, written.UID))
	fmt.Println(inf.Snapshot().Len())
	cancel()
	<-inf.Done()

	// Output:
	// <nil>
	// 0
}

// Where only the version of a write is known, or that of many, that is enough.
func ExampleInformer_WaitForResourceVersion() {
	server := newServer()
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inf := newInformer(server)
	go func() { must(inf.Run(ctx)) }()

	written := configMap("mine")
	must(server.Create(written))
	must(inf.WaitForResourceVersion(ctx, written.ResourceVersion))
	_, err := inf.Lister().Get(types.NamespacedName{Namespace: "default", Name: "mine"})
	fmt.Println(err)
	cancel()
	<-inf.Done()

	// Output: <nil>
}

// A registration is a handler's membership: it can be waited for and ended.
func ExampleRegistration() {
	server := newServer("a", "b")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inf := newInformer(server)
	go func() { must(inf.Run(ctx)) }()

	n := 0
	count := informer.HandlerFunc[*corev1.ConfigMap](func(informer.Event[*corev1.ConfigMap]) { n++ })
	r, err := inf.AddHandler(count, informer.HandlerOptions{Name: "counter"})
	must(err)
	must(informer.WaitForSync(ctx, r)) // every object was delivered to it
	must(r.RemoveAndWait(ctx))         // and no more events will be
	fmt.Println(n)
	cancel()
	<-inf.Done()

	// Output: 2
}

// A factory finds the resource of a type and shares informers.
func ExampleFactory() {
	server := newServer("a")
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	scheme := runtime.NewScheme()
	must(corev1.AddToScheme(scheme))
	factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{Scheme: scheme})
	must(err)
	inf, err := informer.For(factory, informer.ForOptions[*corev1.ConfigMap]{})
	must(err)
	defer inf.Release()

	factory.Start(ctx)
	must(factory.WaitForSync(ctx))
	fmt.Println(inf.Snapshot().Len())
	must(factory.Shutdown(ctx))

	// Output: 1
}

// A filter shows a handler a part of the world.
func ExampleFilterHandler() {
	ready := func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }
	h := informer.FilterHandler(ready, informer.HandlerFunc[*corev1.Pod](func(e informer.Event[*corev1.Pod]) {
		fmt.Println(e.Type)
	}))
	starting, running := &corev1.Pod{}, &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	h.OnEvent(informer.Event[*corev1.Pod]{Type: informer.Added, New: starting})
	h.OnEvent(informer.Event[*corev1.Pod]{Type: informer.Updated, Old: starting, New: running})
	h.OnEvent(informer.Event[*corev1.Pod]{Type: informer.Updated, Old: running, New: starting})

	// Output:
	// Added
	// Deleted
}

// After a start every object is to be looked at, and what changes meanwhile does
// not wait behind that.
func ExampleInitialOrResync() {
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{
		MaxWait: []time.Duration{0, time.Minute}, // class 0 first; class 1 has a share after a minute
	})
	handler := informer.WhenElse(informer.InitialOrResync[*corev1.Pod](),
		informer.EnqueueKey[*corev1.Pod](queue.PriorityClass(1)),
		informer.EnqueueKey[*corev1.Pod](queue))

	// What an informer does with the handler, in short:
	deliver := func(name string, origin informer.Origin) {
		key := types.NamespacedName{Namespace: "default", Name: name}
		handler.OnEvent(informer.Event[*corev1.Pod]{Type: informer.Added, Key: key, Origin: origin})
	}
	deliver("old-1", informer.InitialList)
	deliver("old-2", informer.InitialList)
	deliver("news", informer.Watch)

	for queue.Len() > 0 {
		key, _ := queue.Get(context.Background())
		fmt.Println(key)
		queue.Done(key)
	}

	// Output:
	// default/news
	// default/old-1
	// default/old-2
}
