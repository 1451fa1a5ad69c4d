// Package leader is leader election by a Lease: of the replicas of a program, one leads, and the
// others are warm standbys.
//
// It reads and writes the record of client-go's tools/leaderelection, and keeps its rules. So replicas
// with that package and replicas with this one form one group, and a program moves over by a rolling
// update. Unlike it, it needs only package rest of client-go.
//
//	elector, err := leader.New(cfg, leader.Options{
//		Name: "my-controller", Namespace: "my-namespace",
//		Lead: func(ctx context.Context, term *leader.Term) error {
//			queue := ... // filled by the handler of an informer that is synced already
//			return workqueue.Process(ctx, queue, 2, reconcile)
//		},
//	})
//	...
//	return group.Run(ctx, elector.Run) // the informers run on every replica
//
// # Promises
//
// L is [Options].LeaseDuration, D RenewDeadline, P RetryPeriod.
//
//  1. Of two replicas, at most one leads. A leader's contexts end, and [Term.Held] is false, D after it
//     sent the last renewal that succeeded, at the latest. Another replica takes the Lease when it has
//     seen no change of it for L. Both are measured by local clocks, which may differ in
//     speed by the ratio L/D, and by any time.
//  2. A leader that has crashed is replaced within L + 2.2 P and a request, one that was stopped within 2.2 P
//     after Lead has returned.
//  3. A leader leads until it is stopped or the Lease is lost: it does not step down for a newcomer.
//  4. The Lease is released only when Lead has returned. Until then it is renewed, also in a stop.
//  5. After a term that was lost, another one begins only when Lead has returned.
//  6. No failure of a request ends Run: it is logged once, is in [Status], and is tried again.
//
// As with client-go, it is not fencing: a request on the wire may take effect later than L. Write
// with the resourceVersion that was read. A Lease that is edited or deleted by hand may have two
// leaders for up to P.
//
// # Where to read on
//
// README.md: how a program moves over. The code: leader.go (options), run.go (candidate, leader, one
// attempt), term.go (the deadline), lease.go (the record).
package leader
