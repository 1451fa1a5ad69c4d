// Package differential sends the same histories through this library and through
// client-go, and compares what comes out. It consists of tests only.
//
//	go -C internal/verify/bench test ./differential                       # some hundreds of histories
//	go -C internal/verify/bench test ./differential -args -seeds=10000    # more, from a random seed on
//	go -C internal/verify/bench test ./differential -args -seeds=1000000 -for=10m
//	go -C internal/verify/bench test ./differential -args -seed=42        # this one again
//
// # How it works
//
//	                      ┌─▶ SharedIndexInformer ─▶ recorder ─┐
//	seed ─▶ steps ─▶ one server                                ├─▶ equal, save for the table below?
//	          ▲           └─▶ informer.Informer ───▶ recorder ─┘              │
//	          └──────────── fewer steps, as long as it fails ◀────────────────┘ no
//
// A history is a list of steps. Any part of one is a history too, so a failing
// one can be made shorter step by step, until none can be left out: that is what
// is printed. Everything happens in a testing/synctest bubble, where an hour of
// watching takes no time, and synctest.Wait returns when both sides have
// nothing more to do.
//
// There are four kinds of histories:
//
//   - Of a cluster, for informers: writes, deletions, names taken by another
//     object, broken connections, outages during which objects change, compacted
//     histories (so 410 and relists), restarts, bookmarks, events sent twice,
//     random faults; handlers that join, leave, stall and filter; indexes added;
//     time for resyncs; with WatchLists and without, in JSON and in protobuf. The
//     server is informertest's, and each side has a client of its own. Both must
//     deliver the same events of every object in the same order to every handler.
//     Both must end with the same objects, indexes and resourceVersion, which are
//     the server's.
//   - Of a cluster, for the classic chain: the same without what concerns handlers.
//     A reflector of either side writes to a DeltaFIFO of that side, and the same
//     consumer applies the deltas of both to a store and a recorder.
//   - Of a queue: adds, delayed and rate limited ones, hand-overs, time, shutdown.
//     Both must hand out the same items in the same order at the same time.
//   - Of a DeltaFIFO: changes, lists, resyncs, pops. Both must hand over the same
//     deltas.
//
// Beside the histories, both informers follow one server through proxies that end
// watches, to compare for how long writes are not visible.
//
// While random faults are on, what a client sees depends on which of its requests
// met with which fault. Events are not compared then, but they must be a chain:
// nothing is added twice, updated from another state than the last delivered
// one, or deleted without having been there, and every state is one that the server
// had. When the faults end, both sides must be where the server is.
//
// A seed determines the steps, the server and its faults, but not the delays that
// either side draws before it tries again. Outside of stretches with random
// faults these do not matter.
//
// # The differences
//
// These were chosen, and each is asserted: either the comparison turns what
// client-go does into what this library does, and fails if client-go does
// anything else (and counts, so that a run of some size fails if it never
// happened), or a test of its own shows both behaviours.
//
//	D1  Another object under the same name, whose predecessor's deletion was
//	    missed: client-go delivers an update from the one object to the other; here
//	    a deletion with FinalStateUnknown and an addition are delivered.
//	    Because: what belongs to the old object (by owner UID, say) is to be
//	    cleaned up, and handlers that compare old and new would miss that.
//	D2  A deletion of what is not in the cache: client-go delivers it to the
//	    handlers; here it is not delivered.
//	    Because: a handler never receives the deletion of an object that was never
//	    added.
//	D3  A state that is in the cache already, found by a relist or sent twice:
//	    client-go delivers an update to the handlers whose resync is due; here
//	    nothing is delivered.
//	    Because: nothing has happened, and a resync has times of its own.
//	D4  A resync: client-go delivers all objects at one moment, which drifts with the
//	    check period and starts again after each relist; here each object has its
//	    own exact turn in each period.
//	    Because: a queue should not be flooded once per period.
//	D5  Kind and apiVersion of typed objects: client-go removes them; here they
//	    are set.
//	    Because: a handler for several kinds, or one that writes an owner
//	    reference or an event, needs them.
//	D6  A handler that cannot follow: client-go buffers all events without bound;
//	    here, beyond its bound, it receives the differences only, unless it is
//	    Lossless.
//	    Because: memory. The handlers of the histories are Lossless.
//	D7  A filtering handler whose object is replaced, unseen, by one of the same
//	    name that does not match: client-go passes on a deletion like any other;
//	    here it has FinalStateUnknown.
//	    Because: it follows from D1. The filtered chains are compared without the flag.
//	D8  An object that cannot be decoded: client-go fails the list, or ends
//	    the watch, so that the informer does not sync, or follow, as long as
//	    the object is there; here that object is left out and reported.
//	    Because: one broken object should not stop a controller.
//	D9  A server that never ends the initial events of a WatchList: client-go
//	    waits; here a LIST is used after some seconds.
//	    Because: an informer that never syncs, and does not say why, is the worst of
//	    all failures.
//	Q1  Add of an item that is delayed: client-go queues it and keeps the delay, so
//	    that it comes once more; here the delay is over.
//	    Because: the second processing has no reason any more.
//	Q2  AddAfter of an item that is queued: client-go keeps the delay as well; here
//	    it is ignored.
//	    Because: the same.
//	Q3  Done of an item that is queued and not running: client-go queues it a
//	    second time, and two workers get it at once; here nothing happens.
//	    Because: a queue must guarantee that only one worker holds an item.
//	Q4  ShutDownWithDrain: client-go waits for running items, of which there must
//	    be some; here for queued ones too.
//	    Because: to drain is to finish what was accepted.
//	Q5  AddRateLimited after a shutdown: client-go still counts a failure; here
//	    nothing is counted.
//	    Because: nothing is retried.
//	Q6  An item that is never forgotten: client-go's limiters remember it for ever;
//	    here for some minutes after its longest delay.
//	    Because: memory.
//	Q7  A bucket, and an item that is queued or delayed already: client-go takes a
//	    token for each AddRateLimited; here for one that does not collapse.
//	    Because: retries of other items would wait for tokens that are not used.
//	F1  A DeltaFIFO that is written to before it is given a list, or is given an
//	    empty one: client-go's is synced at once; here when that change has been
//	    processed, and the first list too if it came before that.
//	    Because: HasSynced means that the consumer has it.
//	F2  A DeltaFIFO after Close: client-go's accepts changes; here they fail.
//	    Because: no consumer will receive them.
//
// Some differences are of no concern to the histories, as the tests of the
// packages are about them: contexts, types, errors, backoff, cost.
package differential
