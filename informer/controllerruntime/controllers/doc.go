// Package controllers lets controllers of controller-runtime use informers and queues of this
// library. [Source] makes an informer a source of a controller, [Runnable] lets the manager
// run it, and [NewQueue] is a queue with priorities:
//
//	mgr.Add(controllers.Runnable(pods))
//	builder.ControllerManagedBy(mgr).Named("pods").
//		WatchesRawSource(controllers.Source(pods, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{})).
//		WithOptions(controller.Options{NewQueue: controllers.NewQueue[reconcile.Request]})
//
// The cache of package controllerruntime needs none of it. It does not import a manager,
// or handlers and their metrics, as this package does.
//
// # Promises
//
//  1. A source delivers what existed as part of the initial list, and nothing after its
//     controller has stopped.
//  2. Of queued items, those of a higher priority come first, but none waits much
//     longer than the bound of its priority.
//
// # What differs
//
// Priorities above 0 are one class, and so are those below. controller-runtime's workqueue_
// metrics have no such queue.
package controllers
