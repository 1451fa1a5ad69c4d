// Package explore runs a controller through crashes, lost answers, stale views and states
// that it never sees, until it breaks or survives.
//
// # The problem
//
// What breaks a controller in production is a crash between two writes, a cache that lags
// behind another one, an event that was never seen. No ordinary test makes these happen.
// Here the API server is in the process, requests can be held back one by one, and time
// is that of a testing/synctest bubble, so a test can try hundreds of such histories in
// seconds:
//
//	schedule ──▶ run ── one thing at a time ──▶ what broke ──▶ shortest schedule, trace
//	              │
//	 controller ──┤ each request waits for its turn: carried out, refused, answer lost, crash
//	 caches     ◀─┤ each event is delivered in its turn: now, later, never (a gap, then a list)
//	 users      ──┘ each step of Act waits until the controller has nothing to do, or comes early
//
// # Use
//
//	func TestController(t *testing.T) {
//		explore.Run(t, explore.Options{}, explore.Subject{
//			Start:      func(ctx context.Context, cfg *rest.Config) error { return app.Run(ctx, cfg) },
//			Act:        func(w *explore.World) { w.Create(newFoo("a", 3)); w.Change(foos, "default", "a", scale(1)) },
//			Always:     func(v explore.View) error { ... }, // after each write
//			Eventually: func(v explore.View) error { ... }, // when all is quiet
//		})
//	}
//
// A failure names the shortest schedule that was found, and how to run it again:
//
//	go test -run '^TestController$' -explore.schedule='crash-after@w2'
//
// # Promises
//
//  1. A controller that is correct survives: the faults are only those that a cluster, its network or its
//     users can cause, and Eventually is asked only when they are over and the controller is quiet.
//  2. A crash leaves nothing but the server: the context ends, connections break, what the process still sends
//     is refused, and the next Start begins with a new configuration.
//  3. A write whose answer is lost has taken effect; one that is refused, or stopped by a crash before it, has not.
//  4. A view is never wrong, only old: events are late, never reordered within a watch; old lists are served only to
//     requests that accept an old state; after a gap the watch gets 410 and the client lists.
//  5. Steps of users happen once each, in order, one at a time.
//  6. Equal schedules give equal runs, if the subject itself is deterministic; where it is not, the first
//     request that differs is reported.
//  7. A finding's schedule breaks the same rule as the one that was found, and -explore.schedule runs it.
//  8. The rules in README.md hold without code of the user: no endless writes, reads or failures, no panic of Start, no
//     goroutine left, no late end, nothing left without owner, nothing created again and again for an owner that is gone,
//     nothing overwritten or deleted unseen, no work after leadership.
//
// # Where to read on
//
// README.md: the faults, the rules, what cannot be found. The code: explore.go (options, result), run.go (one
// thing at a time), steps.go (users and the rest of the cluster), let.go (a request and its faults), disturbance.go
// (faults that last), process.go (a life of the controller), stream.go (a watch), rules.go, search.go (which
// schedules, shrinking), trace.go.
package explore
