// Package clientgo is the ReplicaSet controller of examples/replicaset written on
// client-go: shared informers, listers and a rate-limiting queue, put together in
// the way of Kubernetes' sample controller.
//
// What it decides is decided by the functions of the example, so that the two
// differ only in what they stand on:
//
//	events.go   events become keys
//	worker.go   the loop around the queue
//	reconcile.go, claim.go, scale.go   the loop's body
//	writes.go   how it keeps from acting on a cache that does not show its own writes
package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/listers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// Options configures New; the zero value serves all namespaces.
type Options struct {
	// Namespace restricts the controller to one namespace.
	Namespace string
	// Reconciling, if set, is called with the key of a set when a worker begins to
	// reconcile it. It may be called from several goroutines at once.
	Reconciling func(types.NamespacedName)
}

// Controller keeps the pods of all ReplicaSets at their desired number.
type Controller struct {
	pods  cache.SharedIndexInformer
	sets  cache.SharedIndexInformer
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]

	podLister corelisters.PodLister
	setLister listers.ResourceIndexer[*api.ReplicaSet]
	podClient kubernetes.Interface
	setClient func(namespace string) *SetClient

	doomed      doomedPods // the example does without, as package informer/controller keeps account of deletions, too
	writes      ownWrites
	reconciling func(types.NamespacedName)
}

// New returns a controller for the API server that cfg reaches. It makes no
// request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	c := &Controller{reconciling: opts.Reconciling}
	if c.reconciling == nil {
		c.reconciling = func(types.NamespacedName) {}
	}
	// Reads of pods travel as protobuf, writes as JSON, as with the example.
	reads := rest.CopyConfig(cfg)
	reads.ContentType = runtime.ContentTypeProtobuf
	reads.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	podReader, err := kubernetes.NewForConfig(reads)
	if err != nil {
		return nil, err
	}
	writes := rest.CopyConfig(cfg)
	writes.ContentType = runtime.ContentTypeJSON // or else the clientset would use protobuf
	writes.AcceptContentTypes = runtime.ContentTypeJSON
	if c.podClient, err = kubernetes.NewForConfig(writes); err != nil {
		return nil, err
	}
	if c.setClient, err = NewSetClient(cfg); err != nil {
		return nil, err
	}

	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	byController := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, controllerIndex: controllerOf}
	c.pods = coreinformers.NewFilteredPodInformer(podReader, opts.Namespace, 0, byController, func(o *metav1.ListOptions) {
		o.LabelSelector = api.Label + "=" + api.LabelValue
	})
	c.podLister = corelisters.NewPodLister(c.pods.GetIndexer())
	c.sets = cache.NewSharedIndexInformer(listWatch(c.setClient(opts.Namespace)), &api.ReplicaSet{}, 0, byNamespace)
	c.setLister = listers.New[*api.ReplicaSet](c.sets.GetIndexer(), api.GroupVersionResource.GroupResource())

	c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	return c, c.addHandlers()
}

// Pods returns the informer of the pods that the controller sees.
func (c *Controller) Pods() cache.SharedIndexInformer { return c.pods }

// Sets returns the informer of the ReplicaSets.
func (c *Controller) Sets() cache.SharedIndexInformer { return c.sets }

// Run works until ctx ends and returns when everything it started has ended. It
// may be called once: informers and queues do not start again.
func (c *Controller) Run(ctx context.Context, workers int) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer c.queue.ShutDown()
	running.Go(func() { c.pods.RunWithContext(ctx) })
	running.Go(func() { c.sets.RunWithContext(ctx) })
	if !cache.WaitFor(ctx, "", c.pods.HasSyncedChecker(), c.sets.HasSyncedChecker()) {
		return fmt.Errorf("waiting for the caches: %w", context.Cause(ctx))
	}
	for range workers {
		running.Go(func() {
			for c.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// key returns the key of an object, which may have been deleted while there was no watch.
func key(obj any) (types.NamespacedName, error) {
	name, err := cache.DeletionHandlingObjectToName(obj)
	return types.NamespacedName(name), err
}

var errNotAPod = errors.New("the cache of pods holds something else")

// pod returns the pod of an event.
func pod(obj any) (*corev1.Pod, error) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%w: %T", errNotAPod, obj)
	}
	return p, nil
}
