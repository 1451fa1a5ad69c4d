// Package deltafifo has two queues of changes between a reflector, which
// observes a collection of Kubernetes objects, and the consumer that applies the
// changes to a store: the [DeltaFIFO], and the batch queue of the informer, a
// [BatchFIFO]. The README of the package says why there are two, what happens on each
// failure, and what differs from client-go.
//
//	          producer                                   consumer
//	reflector ──▶ Add Update Delete ──▶ ┌──────────────┐ ──▶ Pop(process) ──▶ store, handlers
//	              Replace Bookmark      │ pending      │
//	                   ▲                │ deltas       │
//	                   └── waits when ──┤              │
//	                       it is full   └──────────────┘
//
//	queue := deltafifo.NewBatch[*corev1.Pod](deltafifo.BatchOptions{})
//	go reflect(ctx, queue) // calls queue.Replace, queue.Add, queue.Update, …
//	for {
//		err := queue.PopBatch(ctx, func(batch []deltafifo.Change[*corev1.Pod]) error {
//			return apply(store, batch)
//		})
//		if err != nil {
//			return err // ctx has ended, or the queue is closed and empty
//		}
//	}
//
// # Promises
//
// 1 to 11 hold for the DeltaFIFO; 3, 8 to 10 and 12 to 14 for the batch queue.
//
//  1. Order. The changes of an object are delivered in the order in which a
//     goroutine wrote them, and objects in the order of their first undelivered
//     change. A queued object keeps its place; after its pop it goes to the back.
//  2. Once. Every accepted change is delivered exactly once, except a Deleted
//     that follows a Deleted, the Delete of an object that the consumer has not
//     seen, and bookmarks: those are dropped.
//  3. Whole. A write is queued completely or, if it returns an error, not at all.
//     A Replace and all its tombstones become visible in one step.
//  4. One tombstone. After a Replace every object that was queued, in process or
//     known, and is not listed, has exactly one Deleted as its last change. An
//     object in process counts, although it is neither in the queue nor, perhaps,
//     in the store. Without KnownObjects only queued ones count.
//  5. Known. [DeltaFIFO.Known] returns the newest accepted state, wherever the
//     object is on its way to the store: a sole producer gets what it wrote last,
//     or nothing if that was a deletion. So at a relist a reflector keeps the
//     pointers of unchanged objects, and the last good version of an object that
//     it cannot decode: a relist deletes nothing that exists.
//  6. Transformed once. Each received object goes through Transform once: not
//     again when it is resynced, put back or in a tombstone, nor when a producer
//     writes what Known has returned.
//  7. Synced. HasSynced is true only after process has returned for all of the
//     initial state, and stays true.
//  8. No locks. No lock is held while process or Transform runs. A producer waits
//     for room only, never for the consumer's work.
//  9. Bounds. A write waits while Limit deltas are pending, until the consumer has
//     taken some, its context ends or the queue is closed. It is admitted as a
//     whole when there is room for one delta, so that the longest list gets in.
//  10. Close. Writes fail with [ErrClosed], those that wait too. Pops deliver what
//     remains, and then fail with it.
//  11. Memory. The queue keeps no object that has been processed. Only with a
//     Transform does it keep what Known has returned, until the next Replace or
//     the next write of that object. Memory for more than 1,024 keys, or as many
//     deltas, is released when they have been processed.
//  12. One order. Every accepted change is delivered exactly once, in the order in
//     which a goroutine wrote it, across all objects.
//  13. Lists. A Replace and a Bookmark are one change each, at their place in that
//     order.
//  14. Memory. The queue keeps no object that has been processed, and a steady load
//     allocates nothing. The memory of a batch of more than 16,384 changes is
//     released when it has been processed, that of a shorter one by the next two
//     that need less than a quarter of it.
//
// # Reading order
//
// delta.go, change.go, options.go and errors.go have the vocabulary; bounded.go has the waiting
// on which both queues are built. Then the DeltaFIFO: delta_fifo.go, item.go, line.go,
// pop.go, known.go, replace.go, synced.go, and their helpers pool.go, transform.go,
// validate.go and lookup.go. batch_fifo.go is the whole batch queue.
package deltafifo
