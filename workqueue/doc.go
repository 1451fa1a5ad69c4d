// Package workqueue holds the keys of things that need work, hands each to one
// worker at a time, and retries those that failed. It knows nothing about
// Kubernetes and imports only the standard library and golang.org/x/time/rate.
//
// # Why controllers queue keys
//
// A controller gets an event for every change of every object, but what it has to
// do depends on the state of the world now, not on the change. So it does not
// queue changes. It queues the key of what changed, and the worker that takes the
// key looks up the present state. That makes three hard problems easy:
//
//   - Bursts. Fifty changes of one object are one key in the queue, and one
//     look at the outcome.
//   - Rivals. While a worker has a key, no other worker is given the same one.
//     Two workers never write the same object at the same time, without any
//     lock in the controller.
//   - Failures. To try again is to add the key again, later. Nothing is lost
//     if the object changed in between: the next attempt sees that.
//
// # The picture
//
//	      AddRateLimited ──▶ limiter says for how long
//	                              │
//	      AddAfter ───────────────▼──────────┐
//	                        delayed items    │ one timer
//	                              │ time is up
//	Add, AddAll ─▶ ┌──────────────▼──────────────┐
//	               │ class 0   a ─ b ─ c         │      Get
//	               │ class 1   d ─ e             │ ───────────▶ running ──▶ Done
//	               └──────▲──────────────────────┘                 │
//	                      └── added again while it was running ────┘
//
// There are three queues, each a layer on the one before: [Queue] has Add, Get
// and Done; [DelayingQueue] has AddAfter as well; [RateLimitingQueue] works out
// the delay by itself. All of it is one data structure: an item has one record
// which says whether it is queued, running, delayed, or several of these, and
// one lock guards all records.
//
// # Reading order
//
//	queue.go      what users call: three queues and their options
//	entry.go      the record of an item and its states
//	engine.go     add, take, finish: the states under one lock
//	order.go      who comes next: priority classes; groups.go: fair turns in a class
//	waiters.go    workers that wait for an item
//	delays.go     what comes later, and the one timer
//	mark.go       when all that was queued has been processed
//	shutdown.go   the end: drains and leftovers
//	table.go      how an item finds its record
//	process.go    the loop around Get and Done; outcome.go, failurelog.go
//	limiter.go    for how long a failed item waits; limiter_exponential.go, limiter_bucket.go
//	inspect.go    what the queue shows of itself
//
// # Use
//
//	q := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
//	// … handlers of an informer call q.Add(key) …
//	err := workqueue.Process(ctx, q, 4, func(ctx context.Context, key types.NamespacedName) error {
//		pod, ok := pods.Get(key.Namespace, key.Name) // the present state
//		if !ok {
//			return nil // deleted meanwhile
//		}
//		return reconcile(ctx, pod) // an error: comes again, later and later
//	})
//
// [Process] replaces the loop around Get and Done that every controller used to
// copy. [ProcessWith] has more to choose: how often to try, for how long, what
// to do with panics, how to stop.
//
// # Promises
//
//  1. An item is held by at most one worker: between the Get that returned it
//     and the Done for it, no other Get returns it. Only the worker that holds an
//     item may call Done for it: the queue cannot tell callers apart, so a Done for
//     an item that another worker holds ends that worker's exclusive access.
//  2. No add is lost: after Add, the item will be handed out (again), unless
//     the queue is shut down already.
//  3. Adds collapse: however many come before the item is handed out, it is
//     handed out once for all of them.
//  4. The items of a priority class are handed out in order of arrival. With
//     groups ([Options].Group), the groups of a class take turns, one item
//     each, and an item waits for at most one item of every other group per
//     item ahead of it in its own.
//  5. Urgent first: of any four items handed out in a row, at least three are of
//     the most urgent class that had items queued. So an item of class 0 with n
//     items of class 0 ahead of it waits for at most 1+n/3 items of other classes,
//     however many of those are queued, and for however long they have been.
//  6. Nothing starves: while the oldest item of a class has waited for longer than
//     the class's bound ([Options].Budgets), the class gets at least one of every
//     four hand-outs. Several such classes take turns: with C classes, each gets
//     one of every 4(C-1). So an item with n items of its class ahead of it is
//     handed out at most 4(C-1)(n+1) hand-outs after its bound, whatever else is
//     queued; and while its class keeps up with its share, n is small. (In class 0
//     it is promise 5 that holds.)
//  7. An item has at most one request pending, and it is the earliest: of
//     several delays the shortest remaining counts, Add replaces any delay, and
//     a delay is ignored if the item is queued. A delayed item is never handed
//     out early. A request with a delay, or by a rate limiter, keeps the class of
//     an item that is running or delayed, even if the delay is 0, and goes to the
//     back of it. Add and AddClass can make an item more urgent, never less: it
//     moves to the back of the more urgent class, as if it were new there.
//  8. Done of an item that nobody holds changes nothing.
//  9. Add, AddAll, AddAfter, AddRateLimited and Done never wait for a consumer.
//     Get waits until there is an item, its context is done, or the queue is
//     shut down and nothing is queued.
//  10. After a shutdown nothing is accepted, what is queued is still handed out,
//     and what is delayed is dropped and counted in [Stats].ShutdownLosses.
//     [Queue.ShutDownWithDrain] returns nil only when nothing is queued and
//     nothing running. Any number may wait for it, each with its own context,
//     and ShutDown releases them all.
//  11. A channel from [Queue.Mark] is closed as soon as everything that was
//     queued or running when it was made has been processed once, and not before.
//  12. A queue has no goroutine. A timer exists while something is delayed;
//     the runtime starts a goroutine for the moment in which it fires.
//  13. No user code (limiters, metrics, Class and Group functions) runs while
//     the queue is locked. It may call the queue.
//
// # When things go wrong
//
//	the function of Process fails         AddRateLimited; after MaxAttempts failures, dropped
//	it returns Terminal(err)              dropped at once; Stats.Dropped counts both
//	it fails for the same reason again    logged once a minute at most
//	it panics                             crashes the program, or with CapturePanics a failure
//	it never returns                      ItemTimeout ends its context; see Stats.LongestRunning
//	the context of Process ends           items' contexts end, or go on for StopTimeout; leftovers returned
//	one of several Process calls ends     it leaves the queue, and all that is in it, to the others
//	Forget is never called                limiters forget items that have not failed for a while
//	Done is never called                  the item is never handed out again; Inspect shows it
//	a limiter's delay would overflow      it saturates at its maximum
//	a Class out of range                  the nearest class
//	a flood of urgent items               overdue classes share a quarter of the hand-outs
//	a backlog that outlives its bound     the same: urgent items still pass it
//	a Group or Class function panics      the panic reaches the caller of Add or AddAll, the queue is unchanged
//	an item of dynamic type not           Add panics, the queue is unchanged
//	comparable, in a Queue[any]
//	an item that is not equal to itself   is handed out and stays running, as Done does not
//	(NaN)                                 find it; do not add such items
//	the zero value of a queue is used     panics; use the constructors
//
// # What differs from client-go
//
// The names and the rules are those that users of k8s.io/client-go/util/workqueue
// know. On purpose, these differ: a drain waits for queued items too, and any
// number of goroutines may wait for one; Done of an item that is queued and not
// held does not queue it twice; Add cancels a pending delay; Get takes a context and
// returns ok where client-go returns shutdown; priority classes and Mark have no
// counterpart.
//
// # Cost
//
// Add, Get and Done take the lock once, look the item up at most once and, while
// the number of items in the queue stays about the same, allocate nothing; the
// lock is held for some tens of nanoseconds. AddAfter costs a place in a heap of
// the delayed items besides, O(log n), and setting the timer if it is the first
// to end. The table of items grows and shrinks one bucket at a time, so no
// operation is slow because there are many items. While it is queued, delayed or
// running, an item takes 88 bytes plus its own size, about 20 in the table, and
// 16 in the heap if it is delayed. A queue that has been used takes about 1.5 KB.
// After a burst it keeps 1,024 records and the table for them, some 110 KB plus
// the size of the items, and releases the rest. A burst's records are allocated
// four at a time, and freed when none of the four is in use any more. The map of
// groups is replaced by a smaller one when few of many groups are left. A call of
// Process remembers the last failure of 1,024 items, for the log.
//
// A worker that finds the queue empty parks, and the last to park is the first to
// be woken. When many items arrive at once, workers wake each other one after
// the other, which avoids a thundering herd.
//
// Timekeeping is off by default: the clock, read at Add and Get, adds about 50% to
// an Add–Get–Done cycle. [Options].Times turns it on;
// classes and metrics imply it.
package workqueue
