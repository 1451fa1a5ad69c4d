// Package sharding divides the work of a controller among its replicas, by Leases. If one replica
// should do all of it, use package leader: it needs less, and is compatible with client-go's leader election.
//
// A controller outgrows one process in two ways: it must survive the loss of its node, and its
// cache no longer fits. Here the work is divided into R parts. A part is a number from 0 to R-1 that
// one replica owns at a time; with [Ranges] it also is a range of the hashes of objects, and a
// replica caches the objects of its ranges only. No central component assigns parts: all
// replicas watch the same Leases and reach the same conclusions.
//
//	group-replica-pod1-3f9a01c2   session of a replica, which it renews      ┐ one watch
//	group-replica-pod2-77b0e4d1   another one                                ├ per replica
//	group-part-0  holder pod1-3f9a01c2   record of a part, written when      │ shows all
//	group-part-1  holder pod2-77b0e4d1   the part is taken or given up       ┘ of them
//
//	replica, err := sharding.New(cfg, sharding.Options{
//		Name: "my-controller", Namespace: "my-namespace", Parts: 64,
//		Work: func(ctx context.Context, part *sharding.Part) error {
//			queue := ... // filled by the handler of an informer that is synced already
//			_, err := workqueue.ProcessWith(ctx, queue, options, sharding.Guard(part, reconcile))
//			return err
//		},
//	})
//	...
//	return replica.Run(ctx)
//
// A record changes owner by one write that the server accepts from one replica only, and is valid as
// long as the session of its owner is. Only sessions are renewed: N writes per interval for N replicas,
// whatever R is, and one deadline. An expired session is ended by deleting its Lease in the version that
// did not change; the server accepts that or a renewal, not both. A session never comes back. Each live
// replica should have R/N parts, or one more. A replica that has one more keeps it, and rendezvous hashing
// decides which replica takes a free part.
//
// # Promises
//
// L is [Options].LeaseDuration, D RenewDeadline, N the number of replicas.
//
//  1. Of two replicas, at most one hands out keys of a part, by [Guard] or
//     [Part.Held]. A replica that cannot renew its session cancels keys in progress D after it sent the
//     last renewal that succeeded. Others wait for L after they have seen that
//     one. Both are measured by local clocks, which may differ in speed by (L-D)/(L+D), a
//     fifth by default; what they show does not matter.
//  2. When the owner of a part has crashed, another replica works on the part after L plus a second
//     at most. A hand-over takes less than a second, if what is in progress ends at once. What Work
//     needs before its first key, such as a list, comes on top.
//  3. A replica that joins or leaves moves at most ⌈R/N⌉ parts, N with that replica: those that
//     it gets, or had. Nothing moves while the numbers of parts of any two differ by one at most.
//  4. A replica has at most ⌈R/N⌉ parts, except while some are handed over.
//  5. A part that is handed over is free only when Work has returned.
//  6. A replica that does not see what others write stops, as one does that is cut off: a renewal
//     counts only once the replica's own watch shows it.
//  7. Leases edited by hand are put right. Until then, for at most D, a part may have two
//     owners. So do not edit them.
//  8. [Ranges] hands out no key of a part before all objects of its range are in the cache, and none
//     after the part was given up or lost: keys still queued then leave the queue unprocessed.
//  9. With Ranges, no change is lost while its range moves: the next owner lists after
//     it has the part, and then processes all keys of the range.
//  10. With Ranges, the cache has objects of parts that are held, and of no others. In a hand-over they
//     leave one cache before another replica lists them.
//  11. The cache of a [Ranged] has the objects of its ranges that are listed, and no others:
//     when RemoveRanges returns they are gone, and no event brings one back.
//  12. This holds whether or not the server filters, and when that changes; Health says which side filters.
//  13. WaitForRanges returns nil when a list that began after AddRanges is part of the cache.
//  14. A replica that renews its session, but could not write the record of any part for 2 L, leaves until
//     it can, so that the others have its parts. If none of them can write either, one that works goes on.
//
// Not promised is fencing: a request on the wire, or a key in progress while the process is paused, may
// take effect later than L. Write with the resourceVersion that was read. Nor does a name belong to one
// replica: an object that is deleted and created again has another UID; see [Ranges.Run].
//
// # Where to read on
//
// README.md: durations, rights, cost, failures. The code: lease.go (what is stored), plan.go (which replica
// should have which parts), clock.go (the deadline), view.go, replica.go (the loop), session.go, moves.go (take, give up), part.go
// (what Work gets). Ranges: hash.go, filter.go, selection.go and ranged.go (which objects an informer caches), factory.go,
// key.go, gate.go (which keys are processed), ranges.go and rangework.go (both tied to the parts).
package sharding
