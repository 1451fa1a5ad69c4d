// Package deltafifo is the queue of changes between whoever observes a
// collection of Kubernetes objects and whoever applies what was observed.
//
// # The problem
//
// A watch delivers changes at the pace of the cluster, a store takes them at
// the pace of its indexes and handlers, and every now and then the connection
// breaks and all that is left is a fresh list. In between there has to be
// something that keeps the order, lets a fast side run ahead of a slow one but
// not without bounds, and turns a list into what it means: these exist, and
// whatever else you know of does not.
//
//	                producer                                   consumer
//	reflector ──▶ Add Update Delete ──▶ ┌──────────────┐ ──▶ Pop(process) ──▶ store, handlers
//	              Replace Bookmark      │ pending      │
//	                   ▲                │ deltas       │
//	                   └── waits when ──┤              │
//	                       it is full   └──────────────┘
//
// # Two faces
//
// [BatchFIFO] keeps one line of changes. A pop takes all of it. A list is one
// entry in that line, a barrier, and so is a bookmark; so whoever applies a
// prefix of the line has the collection as it was at one point in time, and
// knows the resourceVersion of that point. The informer of this module uses it.
//
//	Added      Added     Updated    Replaced            Deleted    Bookmark
//	web        db        web        [web cron] @41      cron       @57
//	└────────────────── one batch: everything, in order of arrival ────────┘
//
// [DeltaFIFO] is the classic: one line of objects, and for each object the list
// of its changes. A pop takes one object with all that happened to it. A list
// is spread over the objects, and those that it lacks get a tombstone. To know
// which ones it lacks, the queue looks into the consumer's store: its known
// objects.
//
//	queue:  web ─▶ db ─▶ cron
//	         │      │     └── [Replaced @41, Deleted]
//	         │      └──────── [Added, Deleted(tombstone)]
//	         └─────────────── [Added, Updated, Replaced @41]
//
// The classic face compresses: the consumer touches each object once, however
// far it is behind. The price is that there is no point in time any more: with
// web applied and cron not, the store is in a state in which the collection
// never was. The batch face is simpler, cheaper, knows no store, and leaves the
// comparison of a list with the store to the one who owns the store.
//
// # Use
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
// # As the sink of a reflector
//
// Both queues have the methods of a reflector's sink. The difference is what the
// reflector can ask for at a relist. [DeltaFIFO.Known] returns the newest state of
// an object that is queued, in process or known. So the reflector keeps the
// pointers of unchanged objects, and the last good version of an object that it
// cannot decode, which is then no deletion.
//
// A BatchFIFO has no store, and therefore no Known: what is pending is little of
// what exists, and half an answer would be a wrong one. A reflector that writes
// to a bare BatchFIFO decodes each list into new objects, and leaves out what it
// cannot decode; to a consumer that compares the list with its store, such an
// object looks deleted. Give the reflector a type that embeds the queue and has a
// method Known: it waits until everything queued has been applied, and then looks
// into the store. The informer does that.
//
// # Promises
//
//  1. Order. The changes that one goroutine writes are handed over in the order
//     in which it wrote them: in the batch face across all objects, in the
//     classic face for each object, with objects in the order of their first
//     change not yet seen. An object that is queued does not move; one that
//     comes again after it was popped goes to the back.
//  2. Once. Every change that was accepted is handed over exactly once. The
//     classic face omits three: a Deleted that follows a Deleted, the Delete of
//     an object of which the consumer has not heard, and bookmarks.
//  3. Barriers. In the batch face a Replace and a Bookmark are one delta each,
//     at their place in the order.
//  4. Whole. A write is queued completely or, if it returns an error, not at
//     all. A Replace of the classic face becomes visible at once, with all its
//     tombstones.
//  5. One tombstone. After a Replace of the classic face every object that was
//     queued, in process or known, and is not listed, has exactly one Deleted
//     as its last change. What is in process counts, although it is no longer
//     in the queue and perhaps not yet in the store; but without KnownObjects
//     only what is queued does.
//  6. No lock is held while process or Transform runs. A producer never waits
//     for the consumer's work, only for room.
//  7. Bounds. A write waits while Limit deltas are pending, until the consumer
//     has taken some, its context ends or the queue is closed. It is admitted as
//     a whole when there is room for one delta, so the longest list cannot
//     wait for ever.
//  8. Close. Writes, also waiting ones, fail with [ErrClosed]. Pops hand over
//     what remains, and then fail with it.
//  9. Synced. HasSynced is true only after the initial state has been
//     processed, that is, after process has returned; and then for ever.
//  10. Transformed once. Each object that is received goes through Transform
//     once: not again when it is resynced, buried or put back, nor when a
//     producer writes what Known has returned.
//  11. Memory. The queue holds on to no object that has been processed. Only with
//     a Transform does it hold what Known has returned, until the next Replace or
//     the next write of that object. In a steady state the batch face allocates
//     nothing. The memory of a burst is released when the queue is idle for a
//     second, or busy with far less.
//  12. Known. A DeltaFIFO returns the newest state that it has accepted, wherever
//     the object is on its way to the store: an only producer gets back what it
//     wrote last, or nothing if that was a deletion. A reflector's relist
//     therefore deletes nothing that exists.
//
// # Failures
//
//	what happens                         what the queue does
//	object is nil or has no name         the write fails with ErrInvalidObject; a Replace says which one
//	Transform fails, returns nil or      the write fails; nothing is queued
//	  another key
//	context has ended                    the call does nothing and returns its error
//	context ends while waiting           the same
//	queue is full                        the write waits; AddIfNotPresent does not, as consumers call it
//	process returns an error             the pop returns it; the deltas are not handed over again
//	process panics                       the panic goes through; otherwise as an error
//	process calls a pop, or two          the second fails with ErrConcurrentPop at once
//	  goroutines pop
//	process writes into a full queue     it waits until its context ends: nobody else can make room
//	KnownObjects panics                  the panic goes through to the producer; nothing is queued
//	write after Close                    ErrClosed
//	queue was not made by New, NewBatch  every call that would wait fails
//
// A failed batch with the first list in it leaves the batch face unsynced until
// another list has been processed: the store lacks something, and nobody knows
// what. In the classic face a failure concerns one object, and the others are
// in use; the consumer may put that one back with [DeltaFIFO.AddIfNotPresent].
//
// # Differences from client-go
//
// Whoever reads this code beside an article on client-go's DeltaFIFO and
// RealFIFO will notice these. The queue is not locked while an object is
// processed, which is why it has to remember what is in process. A queue that
// is written to before it is given a list is synced when that first write has
// been processed, not before. Writes after Close fail. Of two observed deletions
// in a row the first is kept, of two tombstones the second; there it is the
// reverse. Listed objects are always Replaced, never Sync. A Delete of an unknown
// object passes the batch face, as it knows no store. A batch has no maximum size
// and may hold several changes of one object. There is no Resync in the batch
// face: it adds nothing that the store does not know.
//
// # Cost
//
// Measured on 2 cores of an Intel Xeon with Go 1.26.8; the fastest of fifteen
// runs, as the machine was busy with other things:
//
//	go test -run xxx -bench . -benchtime 100ms -count 15 ./deltafifo
//
//	                                                        time   allocations
//	batch face    one delta in and out, batches of 1       89 ns   0
//	                                    batches of 100     47 ns   0
//	                                    batches of 1,000   39 ns   0
//	              the same, between two goroutines         59 ns   0
//	              a list of 10,000 objects                 90 µs   0, as each is only looked at
//	classic face  one delta in and out, 1,000 queued      393 ns   1
//	              the same, four changes per object       319 ns   0.75
//	              a list of 10,000 objects, and its pops  6.2 ms   1 per object
//
// A pending delta takes 104 bytes, in the classic face some 250 with its place
// in line. An empty queue that has had nothing to do for a second holds at most
// 110 kB; one that was never used, next to nothing.
package deltafifo
