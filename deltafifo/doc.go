// Package deltafifo is the queue of changes between a reflector, which
// observes a collection of Kubernetes objects, and the consumer that applies the
// changes to a store: the [DeltaFIFO]. The informer runs on it, and so does the classic
// loop. The README of the package says why there is one, what happens on each
// failure, and what differs from client-go.
//
//	          producer                                   consumer
//	reflector ──▶ Add Update Delete ──▶ ┌──────────────┐ ──▶ Pop(process) ──▶ store, handlers
//	              Replace Bookmark      │ pending      │      all of it
//	                   ▲                │ deltas       │
//	                   └── waits when ──┤              │
//	                       it is full   └──────────────┘
//
//	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{KnownObjects: store})
//	go reflect(ctx, queue) // calls queue.Replace, queue.Add, queue.Update, …
//	for {
//		err := queue.Pop(ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
//			return apply(store, batch) // batch.Deltas in order, or batch.ByObject()
//		})
//		if err != nil {
//			return err // ctx has ended, or the queue is closed and empty
//		}
//	}
//
// # Promises
//
// 1, 2 and 4 are about [Batch.ByObject], the others about the queue.
//
//  1. Order. The changes of an object are delivered in the order in which a
//     goroutine wrote them, and objects in the order of their first undelivered
//     change. A pending object keeps its place; after its pop it goes to the back.
//  2. Once. Every accepted change is delivered exactly once, except a Deleted
//     that follows a Deleted, the Delete of an object that the consumer has not
//     seen, and bookmarks: those are dropped.
//  3. Whole. A write is queued completely or, if it returns an error, not at all.
//     A Replace and all its tombstones become visible in one step.
//  4. One tombstone. After a Replace every object that was pending, in process or
//     known, and is not listed, has exactly one Deleted as its last change. An
//     object in process counts as known, as its consumer has applied it or put
//     it back before it pops again. Without KnownObjects only pending ones count.
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
//  8. No locks. No lock is held while process, Transform or KnownObjects runs. A
//     producer waits for room only, never for the consumer's work.
//  9. Bounds. A write waits while Limit deltas are pending, until the consumer has
//     taken some, its context ends or the queue is closed. A list counts as one
//     delta, so that the longest one gets in.
//  10. Close. Writes fail with [ErrClosed], those that wait too. Pops deliver what
//     remains, and then fail with it.
//  11. Memory. The queue keeps no object that has been processed, and a steady load
//     allocates nothing. Only with a Transform does it keep what Known has returned,
//     until the next Replace or the next write of that object. The memory of a batch of
//     more than 16,384 deltas is released when it has been processed, that of a
//     shorter one by the next two that need less than a quarter of it.
//  12. Prefix. A pop takes all that is pending, and has it in the order in which a
//     goroutine wrote it, across all objects. So the batches are parts of one
//     sequence, and after each of them the store is at one point in time.
//  13. Lists. A Replace and a Bookmark are one delta each, at their place in that
//     order.
//
// # Reading order
//
// delta_fifo.go is the queue; delta.go says what is in it, and batch.go what it means for each
// object. Then known.go, for the reflector, bounded.go, with all waiting, and options.go.
package deltafifo
