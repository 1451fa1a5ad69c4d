// Package informer keeps one cache of a collection of Kubernetes objects equal
// to the API server's, and tells any number of handlers what changes.
//
// # The problem
//
// A controller needs the present state of a few kinds of objects, thousands of
// times a second, and needs to know when it changes. Asking the server each time
// does not scale; so a program lists once, watches from there, and keeps a copy.
// That copy is worth having once per process, however many parts of the program
// are interested, which is why it is shared. What is hard about it is everything
// in between: handlers that are slow, that join late, that panic; watches that
// break; deletions that nobody saw; and the question whether the copy is good
// enough to act on.
//
// # The picture
//
//	reflector ──▶ deltafifo ──▶ apply ──┬──▶ indexer      Snapshot, Lister, WaitFor…
//	(list, watch)  (pending     (one     │
//	               changes)     writer)  └──▶ event log ··············▶ grows here
//	                                           │     │         │
//	                                        cursor  cursor   cursor
//	                                           │     │         │
//	                                        handler handler  handler (slow)
//
// There are two goroutines: one that reflects, and the one in [Informer.Run],
// which takes all pending changes as a batch, applies them to the cache, publishes
// a new snapshot, and appends the events to the log. A handler is a cursor in
// that log. It has a goroutine while there is something to tell it, and none
// otherwise.
//
// The result of a list is one entry of the log, from one snapshot to the next;
// each handler works out by itself what has changed between the two, in time
// proportional to that. A handler that joins late does the same with nothing
// and the present snapshot, and one that has fallen behind with what it knows
// and the present snapshot. This is the one idea behind late handlers, relists
// and overflow: a snapshot is immutable, costs nothing to hold, and two of them
// can be compared. Read record.go, follower.go and apply.go, in this order, to
// see all there is.
//
// # Use
//
//	source, err := reflector.NewResource[*corev1.Pod](cfg, podResource, reflector.ResourceOptions{})
//	...
//	pods, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
//	...
//	pods.AddHandler(informer.EnqueueKey[*corev1.Pod](queue), informer.HandlerOptions{})
//	go pods.Run(ctx)
//	if err := informer.WaitForSync(ctx, pods); err != nil {
//		return err // names what is not synced, and why
//	}
//	pod, err := pods.Lister().Get("default", "web-0")
//
// A [Factory] saves the first step, and shares informers among those who ask for
// the same. The objects are shared with everybody: never modify one, DeepCopy it.
//
// [EnqueueKey] and [EnqueueOwner] are all that many a controller needs of handlers.
// [When] and [WhenElse] put predicates in front of them, such as [GenerationChanged],
// or [Background], which tells the objects of a start or a resync from what changes,
// so that the one does not hold up the other in the queue.
//
// # Promises
//
//  1. The cache and its indexes are updated before an event is delivered: a
//     handler finds there what it is told of, or something later.
//  2. Calls of one handler are sequential. Different handlers are independent.
//  3. The events of an object come in order, and Old of an event is New of the
//     one before.
//  4. There is no event for an object that the handler has not been told of:
//     no deletion of what it never saw.
//  5. A change of the UID is a deletion (with FinalStateUnknown) and an addition,
//     never an update: another object has taken the name.
//  6. A list that finds nothing changed delivers nothing.
//  7. Eventually every handler's view equals the server's state, also that of a
//     handler that was beyond its bound, and also where [Options].Seed differs.
//  8. Joining leaves no gap and makes no duplicates: a handler is told of each
//     object in the cache once, and then of each change.
//  9. After RemoveAndWait has returned nil, or Run has returned, no call of the
//     handler is running and none begins. Remove does not wait: the one call that
//     was being made may still begin as it returns, and no other one does.
//  10. A panic in a handler is not swallowed, unless OnPanic is set. A handler
//     that panics or stalls, or ends its goroutine, does not stop another one.
//
// What is not promised: that every state of an object is seen. The server may
// not report each one, a list skips what was in between, and so does a handler
// that catches up. Write handlers that need to know the present state only, or
// better that enqueue a key. A handler with [Lossless] sees all that the informer
// sees. Handlers are not coordinated with each other.
//
// # Failures
//
//   - The server is unreachable, refuses, or has compacted the history: package
//     reflector deals with it; the cache keeps the last state. Until the first
//     list has succeeded, [Informer.Unsynced] says what is wrong, and
//     [WaitForSync] says so when its context ends; if it has no deadline, in the
//     log, after 10 seconds and then every minute.
//   - A namespace may not be listed: the others are read. The informer is not
//     synced, and waits that do not name it are not delayed.
//   - The resource does not exist: an informer of a [Factory] waits for it, and
//     empties its cache when it is removed.
//   - A handler is slow: it lags, which [Health] shows in events and time. Beyond
//     its bound it is made to catch up with the difference of two snapshots, and
//     gets one event for each object that differs, with the origin [CatchUp].
//   - A handler stalls for ever: it holds the events at hand, its bound, and the
//     snapshot of what it was told, whose objects it keeps alive. Run returns
//     only when it does.
//   - A handler panics: without OnPanic the process ends, with the stack of the
//     panic. With OnPanic it goes on with the next event.
//   - The apply side is slower than the server: the queue of changes fills up,
//     and then the connection to the server, instead of memory.
//
// # Cost
//
// An event costs an update of the cache, and an entry of 72 bytes that all
// handlers share; appending takes the same time for one handler and for a
// hundred. Handlers that keep up read a batch for one lock of the log. While
// events come in bursts there are one or two allocations per event, whatever the
// number of handlers; a lone event has those of the cache, about eight.
// An idle handler takes under a kilobyte and no goroutine. An idle informer
// holds its objects, about 10 kB more, and two goroutines, whose stacks take
// about 12 kB, apart from what its connection takes. A second after a burst no more
// than 25 kB of its buffers are left. [Informer.AddHandler] does not depend on the
// size of the cache, and holds up neither the writer nor other handlers. A resync
// visits every object of a snapshot in each of its steps, at most 64 per period.
package informer
