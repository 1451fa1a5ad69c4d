// Package eventlog is an append-only log in memory with one writer's worth of
// appends and any number of readers, each with a cursor of its own.
//
//	             ┌────────────┐    ┌────────────┐    ┌────────────┐
//	(garbage) ─▶ │ chunk      │───▶│ chunk      │───▶│ chunk (tail)│ ◀── Append
//	             └────▲───────┘    └────────────┘    └──────────▲─┘
//	                  │                                         │
//	               cursor B (slow)                        cursors A, C (parked)
//
// The log keeps a pointer to its tail only. A chunk that every cursor has passed
// is therefore garbage without anybody counting references.
//
// Entries are appended in batches. Each batch comes with the state that results
// from it, for example an immutable snapshot of a store. A reader gets runs of
// entries that end where a batch ends, together with the state there, so it
// always knows which state its view corresponds to. That makes it possible to
// detach a reader that is too slow: past its limit the log detaches the
// cursor, the entries in between become garbage, and the reader is given the
// current state instead and is expected to work out the difference by itself.
//
// # Promises
//
//  1. Each cursor sees, from where it joined, every batch in order and exactly
//     once, or learns that it was detached, and gets the state that it is at now.
//  2. A run of entries never ends within a batch.
//  3. Append costs the same for any number of cursors: it copies the batch, or
//     keeps it if it is long, and starts one goroutine if readers are waiting.
//     (Once per chunk it looks for cursors beyond their limit.)
//  4. No wake-up is lost: a cursor that found nothing to read gets its wake
//     function called after the next append.
//  5. A waiting reader costs no goroutine, and when all readers wait the log
//     holds no entries.
//  6. A cursor holds at most the run it was given and what its limit allows,
//     rounded up to a chunk. With a limit, one heavy batch of it is unread at most.
package eventlog
