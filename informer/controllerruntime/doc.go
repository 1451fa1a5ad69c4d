// Package controllerruntime is a cache for sigs.k8s.io/controller-runtime on informers of
// this library. It is a module of its own, as it imports controller-runtime.
//
// A manager keeps one cache, which its client reads and its controllers watch. It holds
// each object with all of its parts, most of which repeat; it answers a list by copying
// slices of pointers under a lock; and why it is not synced is in no error. This package
// has the same interface, so a program changes one field to try another cache, and
// changes it back.
//
//	ctrl.NewManager(cfg, ctrl.Options{NewCache: controllerruntime.New})
//
//	                 manager
//	    ┌───────────────┼──────────────────┐
//	client.Get/List   IndexField   source.Kind (handlers, predicates, your queue)
//	    │               │                  │
//	    ▼               ▼                  ▼
//	  Cache: one kind per group, version, kind and form (typed, unstructured, metadata)
//	    │ one part per namespace that has a configuration of its own; mostly one
//	    ▼
//	  informer.Informer ──▶ snapshot, typed indexes, event log     ◀── reflector ◀── API server
//	    └── an InternPool for all of them: equal parts of objects are stored once
//
// What a manager gets by this field alone: less memory, WatchLists with a way back, lists
// that are decoded object by object, lists and watches that back off and resume, reads
// that take no lock, timeouts that say what is not synced and why. With [NewWith]:
// audits, metrics, and the page of package inspect:
//
//	page.Add(inspect.Factory(mgr.GetCache().(*controllerruntime.Cache)))
//
// Package controllers, below, makes an informer of this library a source of a controller, and
// a queue of this library its queue, with priorities. This package imports no manager.
//
// # Promises
//
//  1. A read waits for the first list of its kind. Before Start it is an
//     ErrCacheNotStarted. If its context ends, it is a timeout that says why.
//  2. What Get, List and their options return is a deep copy, unless an option says
//     otherwise: to modify it changes nothing in the cache.
//  3. Typed objects, unstructured ones and metadata of a kind are cached by informers of
//     their own, and have the kind set.
//  4. A list with a field selector returns the objects that have all of its values, in
//     one namespace or in all. An index that does not exist is an error.
//  5. ByObject, DefaultNamespaces and the defaults apply in the order that
//     controller-runtime documents, and each object is in one informer at most.
//  6. A handler gets each object once, and then each change; a deletion that was not
//     seen is a tombstone.
//  7. After Start has returned, or a while after RemoveInformer, nothing of the informers runs and no
//     handler is called.
//  8. Equal parts of objects are stored once across all informers of the cache, unless
//     Separate is set.
//
// # What differs
//
// internal/verify/e2e/cachesuite runs controller-runtime's own tests of its cache on this one, on
// a real kube-apiserver: 263 pass, and 11 differ for the first two reasons.
//
//	Options.NewInformer               an error of New
//	typed objects in events           have apiVersion and kind, which client-go clears
//	Options.DefaultWatchErrorHandler  gets a Reflector that only has a name and a type
//	SyncPeriod                        resyncs are spread over the period
//	a selector that matches nothing   an error of New; controller-runtime reads everything
//	two ByObject of one kind          an error of New; one of them wins in controller-runtime
//	an unknown index                  an error also if another one finds nothing
//	fields.Everything()               selects everything
//	an index function that panics     costs that object in that index, not the process
//	waiting for a removed informer    ends with an error, not with the context
//	new kinds after the end of Start  an error at once, not at the end of the context
//	a transform to another type       any client.Object; what is none is quarantined
//	UnsafeDisableDeepCopy             objects share parts with each other: see intern.Transform
//
// # Where to read on
//
//	options.go  config.go     what is asked for, and which option wins
//	connection.go             the HTTP client of the manager
//	kind.go  part.go          what is cached together, and the informers it is made of
//	cache.go                  the life of a cache
//	index.go  read.go  copy.go    Get and List
//	many.go                   several informers as one
//	controllers               the other way round: informers and queues for a controller
package controllerruntime
