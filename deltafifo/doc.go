// Package deltafifo has two queues of changes between a reflector, which
// observes a collection of Kubernetes objects, and the consumer that applies the
// changes to a store: the DeltaFIFO, and the batch queue of the informer.
//
// # The problem
//
// A watch delivers changes at the pace of the cluster, a store takes them at the
// pace of its indexes and handlers, and at times the connection breaks and all
// that is left is a new list. In between, something has to keep the order, let a
// fast side run ahead of a slow one within bounds, and turn a list into what it
// means: these objects exist, and no others.
//
//	          producer                                   consumer
//	reflector ──▶ Add Update Delete ──▶ ┌──────────────┐ ──▶ Pop(process) ──▶ store, handlers
//	              Replace Bookmark      │ pending      │
//	                   ▲                │ deltas       │
//	                   └── waits when ──┤              │
//	                       it is full   └──────────────┘
//
// # The DeltaFIFO
//
// A [DeltaFIFO] is a line of objects and, for each object, the list of its
// changes. A pop takes one object with all its changes, so that the consumer
// touches each object once, however far it is behind. A list is spread over the
// objects. To find those that it lacks, the queue looks into the consumer's
// store, its [KnownObjects], and queues a tombstone for each.
//
//	web ─▶ db ─▶ cron
//	 │      │     └── [Replaced @41, Deleted]
//	 │      └──────── [Added, Deleted(tombstone)]
//	 └─────────────── [Added, Updated, Replaced @41]
//
// It promises:
//
//  1. Order. The changes of an object are delivered in the order in which a
//     goroutine wrote them, and objects in the order of their first undelivered
//     change. A queued object keeps its place; after its pop it goes to the back.
//  2. Once. Every accepted change is delivered exactly once, except a Deleted
//     that follows a Deleted, the Delete of an object that the consumer has not
//     seen, and bookmarks: those are dropped.
//  3. Whole. A write is queued completely or, if it returns an error, not at all.
//     A Replace becomes visible at once, with all its tombstones.
//  4. One tombstone. After a Replace every object that was queued, in process or
//     known, and is not listed, has exactly one Deleted as its last change. An
//     object in process counts, although it is neither in the queue nor, perhaps,
//     in the store. Without KnownObjects only queued ones count.
//  5. Known. [DeltaFIFO.Known] returns the newest accepted state, wherever the
//     object is on its way to the store: an only producer gets what it wrote last,
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
//     the next write of that object. Memory for more than 1,024 keys is released
//     when they have been processed.
//
// # The batch queue, and why snapshots need it
//
// A DeltaFIFO has no point in time: with web applied and cron not, the store is
// in a state in which the collection never was. A [BatchFIFO] keeps one line of
// changes, and a pop takes all of it. A list is one delta in that line, and so is
// a bookmark. So whatever prefix of the line is applied, the store has the
// collection as it was at one point in time, and its resourceVersion is known.
// That is what the snapshots of the informer are made of.
//
//	Added      Added     Updated    Replaced            Deleted    Bookmark
//	web        db        web        [web cron] @41      cron       @57
//	└────────────────── one batch: everything, in order of arrival ────────┘
//
// Promises 3 and 8 to 10 are its as well; it has no Transform. Furthermore:
//
//  12. Line. Every accepted change is delivered exactly once, in the order in
//     which a goroutine wrote it, across all objects.
//  13. Barriers. A Replace and a Bookmark are one delta each, at their place.
//  14. Memory. The queue keeps no object that has been processed, and a steady load
//     allocates nothing. The memory of a batch of more than 16,384 deltas is
//     released when it has been processed, that of a shorter one by the next two
//     that need less than a quarter of it.
//
// It knows no store, so the rest is left to the owner of the store: to compare a
// list with it, to ignore the deletion of an unknown object, to know when the
// first list is applied, and to answer a reflector that asks what is known. A
// reflector that cannot ask decodes each list into new objects and leaves out
// what it cannot decode, which then looks deleted. Give it a type that embeds the
// queue and whose Known waits until everything queued is applied, and then looks
// into the store. The informer does that.
//
//	queue := deltafifo.NewBatch[*corev1.Pod](deltafifo.BatchOptions{})
//	go reflect(ctx, queue) // calls queue.Replace, queue.Add, queue.Update, …
//	for {
//		err := queue.PopBatch(ctx, func(batch []deltafifo.Delta[*corev1.Pod]) error {
//			return apply(store, batch)
//		})
//		if err != nil {
//			return err // ctx has ended, or the queue is closed and empty
//		}
//	}
//
// # Failures
//
//	what happens                         what the queue does
//	object is nil or has no name         the write fails with ErrInvalidObject; a Replace says which one
//	Transform fails, returns nil or      the write fails; nothing is queued
//	  another key
//	context has ended, or ends in a wait the call does nothing and returns its error
//	queue is full                        the write waits; AddIfNotPresent does not, as consumers call it
//	process returns an error             the pop returns it; the deltas are not delivered again, unless
//	                                       the consumer puts them back with AddIfNotPresent
//	process panics                       the panic propagates; otherwise as an error
//	process calls a pop, or two          the second fails with ErrConcurrentPop at once
//	  goroutines pop
//	process writes into a full queue     it waits until its context ends: nothing else makes room
//	KnownObjects panics                  the panic propagates to the producer; nothing is queued
//	write after Close                    ErrClosed
//	queue was not made by New, NewBatch  every call that would wait fails
//
// # Differences from client-go
//
// The queue is not locked while an object is processed, which is why it has to
// remember what is in process. A DeltaFIFO that is written to before it is given a list is synced when
// that first write has been processed, not before. Writes after Close fail. Of two
// observed deletions in a row the first is kept, of two tombstones the second;
// there it is the reverse. Listed objects are always Replaced, never Sync. The
// batch queue delivers a Delete of an unknown object, has no maximum size of a
// batch, may have several changes of an object in one, and has no Resync.
//
// # Cost
//
// See BENCHMARKS.md in internal/bench for the queues beside those of client-go.
// On 2 cores of an Intel Xeon a delta in and out of the batch queue takes 40 to
// 90 ns and allocates nothing, a list one check per object; a DeltaFIFO takes 300
// to 600 ns and one allocation. A pending delta takes 104 bytes, in a DeltaFIFO
// some 250. An empty DeltaFIFO keeps at most some 200 kB, an empty batch queue 13 kB
// after short batches and 7 MB right after the longest; one that was never used
// keeps next to nothing.
//
// # Reading order
//
// delta.go, options.go and errors.go have the vocabulary; bounded.go the waiting
// that both queues are built on. Then the DeltaFIFO: delta_fifo.go, pop.go,
// known.go, replace.go, synced.go, and transform.go, validate.go and lookup.go
// beside. batch_fifo.go is the whole batch queue.
package deltafifo
