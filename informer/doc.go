// Package informer keeps one cache of a collection of Kubernetes objects equal
// to the API server's, and delivers what changes to any number of handlers.
//
// A controller reads the present state of a few kinds of objects, thousands of
// times a second, and needs to know when it changes. So a program lists once,
// watches from there, and keeps one copy for all its parts. The difficulty is in
// what goes wrong: handlers that are slow, join late or panic; watches that break;
// deletions that no watch reports; and whether the copy is good enough to act on.
//
//	reflector ──▶ deltafifo ──▶ apply ──┬──▶ indexer      Snapshot, Lister, WaitFor…
//	(list, watch)  (pending     (one     │
//	               changes)     writer)  └──▶ event log ··············▶ grows here
//	                                           │     │         │
//	                                        runner  runner   runner   each with its position
//	                                           │     │         │
//	                                        handler handler  handler (slow)
//
//	source, err := reflector.NewResource[*corev1.Pod](cfg, podResource, reflector.ResourceOptions{})
//	pods, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
//	informer.EnqueueKeysOf(pods, queue)
//	group, err := informer.NewGroup(pods) // each err is checked
//	return group.Run(ctx, func(ctx context.Context) error { // once pods is synced
//		return workqueue.Process(ctx, queue, workers, reconcile) // reads pods.Lister()
//	})
//
// A [Factory] creates the sources, and shares informers: [For] returns a [Shared], to be
// released. A function that uses an informer takes a [Cache], which both an [Informer]
// and a Shared are, or a [Lister] if it only reads. The objects are shared with all
// readers: never modify one, DeepCopy it.
//
// # Promises
//
//  1. The cache and its indexes are updated before an event is delivered: a
//     handler finds there the state of the event, or a later one.
//  2. Calls of one handler are sequential. Different handlers are independent.
//  3. The events of an object come in order, and Old of an event is New of the
//     one before.
//  4. There is no event for an object that the handler has not seen: no deletion
//     without an addition.
//  5. A change of the UID is a deletion (with FinalStateUnknown) and an addition,
//     never an update: another object has taken the name.
//  6. A list that finds nothing changed delivers nothing.
//  7. Eventually every handler's view equals the server's state. This includes a
//     handler that was beyond its bound, and a cache with outdated InitialObjects.
//  8. Joining leaves no gap and makes no duplicates: a handler gets each object
//     in the cache once, and then each change.
//  9. After RemoveAndWait has returned nil, or Run has returned, no call of the
//     handler is running and none begins. Remove does not wait: after it has
//     returned, at most one call may still be running or about to begin.
//  10. A panic in a handler is not recovered, unless OnPanic is set. A handler that
//     stalls, ends its goroutine, or panics with OnPanic set, does not stop another.
//  11. A wait for a write (WaitForObject, Seen) ends when the cache contains it, or
//     is past it, and before that only with an error or the end of the informer.
//
// Not promised: that every state of an object is seen. Write handlers that need the
// present state only, or better, that enqueue a key.
//
// # Where to read on
//
// README.md: the reasons, the path of an event through all packages, what happens
// on each failure, cost, differences from client-go. The code has eight layers, and
// a file refers only to files above it or to its left. Read them in this order; an
// event goes down to where a worker has its key, and leaves the package where an
// arrow points.
//
//	words     event.go  health.go  selection.go  options.go
//	source    unreadable.go  source.go  ◀── reflector (watch.go), deltafifo (delta_fifo.go)
//	progress  version.go  waiters.go  progress.go  how far the cache is: what is synced
//	cache     record.go  apply.go     ──▶ indexer (batch.go), internal/eventlog (log.go)
//	handlers  resync.go  runner.go    ◀── internal/eventlog (cursor.go)
//	          handler.go  enqueue.go  ──▶ workqueue (queue.go)
//	          history.go  a layer on handlers
//	informer  informer.go  selected.go  run.go
//	reading   synced.go  wait.go, overdue.go  cache.go
//	sharing   discovery.go  collection.go  factory.go  share.go  group.go
package informer
