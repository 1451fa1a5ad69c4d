// Package sharding divides the work of a controller among replicas, by Leases. With
// one part it is leader election.
//
// A controller outgrows one process in two ways: it must not stop when its node
// does, and its cache no longer fits. Here the work has R parts, for example ranges of
// a hash, and each part has one owner at a time. No central component assigns them:
// the replicas look at the same Leases and draw the same conclusions.
//
//	group-replica-pod1-3f9a01c2   session of a replica: it renews it        ┐ one watch
//	group-replica-pod2-77b0e4d1   the same                                  ├ per replica
//	group-part-0  holder pod1-3f9a01c2   record of a part: written when     │ shows all
//	group-part-1  holder pod2-77b0e4d1   it is taken or given up            ┘ of them
//
//	replica, err := sharding.New(cfg, sharding.Options{
//		Name: "my-controller", Namespace: "my-namespace", Parts: 1, // one part: a leader
//		Work: func(ctx context.Context, part *sharding.Part) error {
//			queue := ... // filled by the handler of an informer that is synced already
//			err := workqueue.ProcessWith(ctx, queue, options, sharding.Guard(part, reconcile))
//			return err
//		},
//	})
//	...
//	return replica.Run(ctx)
//
// # Why a session per replica and a record per part
//
// A Lease per replica alone, with parts assigned by a hash over those alive, is not safe: two
// replicas that see different sets both own a part for a while. A Lease per part that
// is renewed is safe, but costs R renewals per interval, and each part
// has a deadline of its own. So each part has a record that changes owner by one write that the server
// accepts from one replica only, and is valid as long as the session of its owner is. Only sessions are
// renewed: N writes per interval, whatever R is, and one deadline. A session that has expired is
// ended by deleting its Lease in the version that did not change: the
// server accepts that or a renewal, not both. A session never comes back.
//
// Targets are quotas, which depend on the live replicas only, and rendezvous hashing
// decides who takes a free part. Plain rendezvous hashing moves as little on average, but shares
// parts unequally.
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
//  2. A part whose owner has crashed is worked on by another replica after L plus a second
//     at most. A hand-over takes less than a second, if what is in progress ends at once. What Work
//     needs before its first key, such as a list, comes on top.
//  3. A replica that joins or leaves moves at most ⌈R/N⌉ parts, N with that replica: those that
//     it gets, or had.
//  4. A replica has at most ⌈R/N⌉ parts, except while some are handed over.
//  5. A part that is handed over is free only when Work has returned.
//  6. A replica that does not see what others write stops as one that is cut off: a renewal
//     counts when the own watch shows it.
//  7. Leases edited by hand are put right. Until then, for at most D, a part may have two
//     owners. So do not edit them.
//  8. [Ranges] hands out no key of a part before all objects of its range are in the cache,
//     and none after the part was given up or lost. Keys that the queue has of it by then leave
//     the queue without being processed.
//  9. With Ranges, no change is lost while its range moves: the next owner lists after
//     it has the part, and then processes all keys of the range.
//  10. With Ranges, the cache has objects of parts that are held, and of no others. In a hand-over they
//     leave one cache before another replica lists them.
//
// Not promised is fencing. A key that is in progress when a replica is paused, and a request
// that is on the wire, may take effect later than L; so may a key between the check of [Guard] and its first
// statement. The gap is L-D, 5 s by default, for a process that runs. Write with the resourceVersion
// that was read, or make writes that are the same when made twice. Nor is a name promised to one replica:
// an object that is deleted and made again has another UID, so its part may be elsewhere; see [Ranges.Run].
//
// # Where to read on
//
// README.md: choosing durations, rights, cost, failures. In the code: lease.go (what is stored), plan.go (who is to
// have what), clock.go (the deadline), view.go, replica.go (the loop), session.go (join,
// renew, end), moves.go (take and give up), part.go (what Work gets). On top: key.go, ranges.go,
// rangework.go and gate.go (parts that are ranges of hashes).
package sharding
