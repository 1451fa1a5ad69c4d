// Package build is an informer, a work queue and a controller that you build yourself,
// complete after step 10: of several replicas, the one that has the Lease works.
//
// # Promises
//
//  1. When all is quiet, the copy is what the server has, except on a server that was
//     restored from a backup. Whatever fails is tried again, with growing pauses, and a
//     deletion that was not seen is found by the next list.
//  2. A snapshot is one point in time, and never changes.
//  3. The copy is updated before a handler is called. Its calls come one after the
//     other. The events of an object come in order, and Old of one is New of the one
//     before, but for a deletion, whose Old is the last state.
//  4. A handler that joins late gets each object once as Added, and then each change. It
//     waits for no other, and the watch does not wait for it.
//  5. The queue hands an item to one worker at a time. An item that is added while it is
//     processed comes again.
//  6. The controller does not act for a key before the copy has what this replica wrote for
//     that key. What another one wrote, the copy may lack.
//  7. Of the replicas of one Lease, at most one works, as far as clocks run equally fast
//     and nobody deletes or edits the Lease.
//  8. Run returns when its context has ended, and no goroutine goes on. A timer of the
//     queue may remain, for 45 seconds at most.
//
// Not promised: that a handler sees every state.
package build
