// Package clientgo puts this library behind the interfaces of k8s.io/client-go, so
// that a program moves over one part at a time while the rest of it stays. It is a
// module of its own, as it imports client-go's caches and queues.
//
// The command cmd/adopt, below this package, builds or tests a program with our informers
// that is not changed at all.
//
// # Queues
//
// [NewTypedRateLimitingQueue] and the constructors beside it have the names,
// arguments and results of those in k8s.io/client-go/util/workqueue: what they return
// is one of our queues, see [WorkQueue]. Limiters need no adapter: the interfaces of both
// packages have the same methods.
//
//	queue := clientgo.NewTypedRateLimitingQueue(limiter) // was workqueue.NewTypedRateLimitingQueue(limiter)
//
// [FromQueue] is for a queue that is made with options of ours, such as priority
// classes or fair groups, and used by code that takes client-go's interface.
//
// # Informers
//
// [NewSharedInformer] and [FromInformer] return a cache.SharedIndexInformer on an
// informer of ours: handlers, generated listers, cache.NewGenericLister and
// cache.WaitForCacheSync work with it. [NewSource] turns a cache.ListerWatcher into the
// source of an informer. Package informers, below this one, has a factory for generated
// informers, some of which are ours and some client-go's.
//
// Code that is generated for your own types calls cache.NewSharedIndexInformerWithOptions.
// [NewSharedIndexInformerWithOptions] takes its place, so that one import of the generated
// file changes and nothing else. It and the other functions with the names of client-go's,
// such as [NewInformer], are for programs that were written for client-go: what such a
// program can see is as there. [ShareEqualParts] lets all of them store equal parts once.
//
// The other way round, [NewView] reads the cache of an informer of client-go.
//
// # The steps
//
//  1. Behind the interfaces: provide one informer after the other to the factory of
//     package informers. Listers, handlers and the controller stay as they are.
//  2. Listers: pass the informer.Cache on, and use its Lister, instead of the generated
//     one.
//  3. Handlers: informer.EnqueueKeysOf and typed handlers instead of event handlers,
//     tombstones and key functions.
//  4. The queue: [NewTypedRateLimitingQueue], and then workqueue.Process for the loop.
//
// # What cannot be kept
//
// These panic or return an error. On the right is why, or what to use instead:
//
//	Store.Add, Update, Delete, Replace while the informer runs;  the cache equals the server's state
//	Bookmark panics then
//	SetTransform of a started informer, or of FromInformer       informer.Options.Transform
//	SetWatchErrorHandler of NewSharedInformer or FromInformer    Health, reflector.Options.Policy
//	TypedQueueConfig.Queue, TypedDelayingQueueConfig.Queue,      an order of your own: workqueue.Options has
//	TypedRateLimitingQueueConfig.DelayingQueue                   priority classes and groups
//
// These behave differently, on purpose or because client-go does not export what would
// be needed:
//
//	a delete and an add under one name   a deletion with a tombstone and an add, where client-go may have an update
//	a watch that is resumed              no update for an object that did not change
//	an index function that fails         that object is missing from that index; client-go panics
//	an object of another type            reported as one that cannot be decoded (NewSharedInformer)
//	HandlerOptions.Logger                gets the panics of the handler, and else the informer's logger is used
//	KUBE_CACHE_MUTATION_DETECTOR         honoured by the functions with client-go's names only
//	a running handler's resync           is spread over its period
//	workqueue.SetProvider                has no effect, as client-go does not export the provider:
//	                                     set MetricsProvider in the queue's configuration
//	cache.SetInformerMetricsProvider     has no effect for the same reason, except with the command adopt:
//	                                     set InformerMetricsProvider in the options
//	ShutDownWithDrain                    waits for queued items, too, and any number may wait
//	Add of a delayed item                cancels the delay (not with a Clock in the configuration)
//	Done of an item that is not running  changes nothing
//	Clock                                drives delays; the durations in metrics are those of the real clock
//
// internal/verify/upstream runs client-go's own tests on this package, and lists those that
// differ; internal/verify/e2e runs k8s.io/sample-controller on it, beside a real API server.
package clientgo
