// Package workqueue holds the keys of things that need work, hands each to one
// worker at a time, and retries those that failed. It knows nothing about
// Kubernetes: it imports only the standard library and golang.org/x/time/rate.
//
// A controller does not queue changes: it queues the key of what changed, and the
// worker that takes the key looks up the present state. So a burst of changes is
// one key, and a retry sees what has changed in between. The README of the package
// has the reasons, what happens on each failure, the cost, and the differences from
// client-go.
//
//	      AddRateLimited ──▶ limiter: how long
//	                              │
//	      AddAfter ───────────────▼──────────┐
//	                        delayed items    │ one timer
//	                              │ time is up
//	      Add ───▶ ┌──────────────▼──────────────┐      Get
//	               │ priority class 0  a ─ b ─ c │ ───────────▶ running ──▶ Done
//	               │ priority class 1  d ─ e     │                 │   │
//	               └──────▲───────────────▲──────┘                 │   │
//	                      │               └─ added while running ──┘   │
//	                      └─ parked: a condition is met ◀──────────────┘
//
//	q := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
//	// … handlers of an informer call q.Add(key) …
//	err := workqueue.Process(ctx, q, 4, func(ctx context.Context, key types.NamespacedName) error {
//		return reconcile(ctx, key) // an error: the key is retried, with a growing delay
//	})
//
// [Process] is the loop around Get and Done that every controller has; [ProcessWith]
// has options, and its function returns a [Result].
//
// # Promises
//
//  1. An item is held by at most one worker: between the Get that returned it
//     and the Done for it, no other Get returns it. Only the worker that holds an
//     item may call Done for it, as the queue cannot distinguish callers.
//  2. No add is lost: after Add, the item will be handed out (again), unless the
//     queue is shut down already, or is shut down while the item is parked.
//  3. Adds collapse: however many come before the item is handed out, it is
//     handed out once for all of them.
//  4. The items of a priority class are handed out in order of arrival. With
//     groups, its groups take turns (round robin), one item each.
//  5. Urgent first: of any four items handed out in a row, at least three are of
//     the most urgent priority class that had items queued.
//  6. Nothing starves: while the oldest item of a priority class has waited for
//     longer than its [Options].MaxWait, the class gets one of every four
//     items handed out. If that holds for several of C classes, each gets one of
//     every 4(C-1); with groups, promise 4 says which item of the class.
//  7. An item has at most one request pending, the earliest: the shortest delay
//     counts, Add replaces any delay, and a delay is ignored if the item is queued.
//     A retry keeps the priority class; an add can only raise it.
//  8. Done of an item that is not held changes nothing.
//  9. Only Get and a drain wait. Get returns when there is an item, its context is
//     done, or the queue is shut down and nothing is queued.
//  10. After a shutdown nothing is accepted, what is queued is still handed out,
//     and what is delayed or parked is dropped and counted. A drain returns nil only
//     when nothing is queued and nothing running.
//  11. A queue has no goroutine. A timer exists while something is delayed or parked.
//  12. No user code (limiters, observers, conditions, functions of [Options]) runs
//     while the queue is locked. It may call the queue.
//  13. A parked item ([Result].Until, [DelayingQueue.Park]) is not handed out before
//     its condition is met or its time has passed, whatever else requests it;
//     then it is handed out once for all of that. It occupies no worker and no
//     goroutine.
//
// # Reading order
//
// queue.go has the way of a key: Add, Get and Done, the entry of an item with its states, and
// unlock, with which each operation ends. It keeps the promises 1 to 3, 8, 9 and 12. Then
// order.go: which item is next (4 to 6); delaying.go: what comes later (7, 11);
// park.go: what waits for a condition (13); shutdown.go (10). How much later a retry
// comes: ratelimiting.go, failures.go. The loop of a controller: process.go, result.go,
// failurelog.go. What shows all of it: observe.go, inspect.go.
package workqueue
