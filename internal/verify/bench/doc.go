// Package bench measures work that two sides do in the same way, side by side.
//
// The command cmd/compare does so for this library and its peers, client-go
// and controller-runtime. Package rows defines the work. (That both
// sides also come to the same results is the matter of package differential: it
// sends random histories through client-go and this library.)
//
//	go -C internal/verify/bench run ./cmd/compare            # the whole table
//	go -C internal/verify/bench run ./cmd/compare -quick     # the most significant rows
//	go -C internal/verify/bench run ./cmd/compare -list      # what there is
//	go -C internal/verify/bench run ./cmd/compare -run 'queue: add'
//	go -C internal/verify/bench run ./cmd/compare -scaling   # how costs grow
//
// A whole program is measured by the command cmd/manager: a controller-runtime manager
// with its own cache and with ours, see there.
//
//	go -C internal/verify/bench run ./cmd/manager
//
// # How it measures
//
//		compare ──┬── run ──▶ process of our side    │ ours │      │ ours │
//		          │                                  └──────┘      └──────┘      ─▶ time
//		          └── run ──▶ process of their side         │theirs│      │theirs│
//
//	 1. Each side of a row has a process of its own, the same binary run again, so
//	    that neither pays for the garbage, the heap or the goroutines of the other.
//	 2. The runs of both sides alternate. A machine that is slow for a while, or
//	    shared, is slow for both; the ratio is the median over pairs of neighbours.
//	 3. Setting up is not measured, and garbage is collected before each run. What
//	    a side does in the background during a run is measured.
//	 4. A figure is the median of its runs. The noise of a ratio is the range that
//	    holds the true median with a confidence of nine in ten, as far as the number
//	    of runs allows that, but never less than ±5%. A target is missed if all of
//	    that range is on the wrong side of it.
//	 5. Allocations are those of the whole process during a run. They hardly vary
//	    and have no allowance for noise.
//	 6. For memory, every run has a process of its own: what is alive after it, less
//	    what was alive before, heap and stacks.
//
// # How costs grow
//
// With -scaling, compare measures series instead of the table: the same work with
// more and more objects (1k to 1M), handlers (1 to 300), indexes (0 to 8), readers
// (0 to 80) and informers (10 to 10k). It takes seven minutes on two quiet
// cores, and several gigabytes of memory for a million pods. They have no
// targets. With -charts it draws a chart of each series.
//
// # What is published
//
// The figures in BENCHMARKS.md and in the README of the repository, and the charts,
// come from results that are kept beside them. They are made, on a machine that
// does nothing else, by these commands in this folder:
//
//	go run ./cmd/compare -json > results/compare.json
//	go run ./cmd/compare -scaling -json > results/scaling.json
//	go run ./cmd/compare -from results/compare.json -update BENCHMARKS.md
//	go run ./cmd/compare -from results/compare.json -update ../../../README.md
//	go run ./cmd/compare -from results/scaling.json -charts charts
//
// Package published tests that documents and charts are those of the results, and
// [Update] says how a document marks where they go. Results are saved with all that
// is printed of them, so that they can be printed when rows have changed.
//
// # The gate against regressions
//
//	go -C internal/verify/bench run ./cmd/compare -quick -slack 3
//
// Every change has to pass this on a machine that may be busy, and of any kind.
// There, a time is missed only if the ratio of the best runs is three times less
// than its target, and if three times as many runs say the same. That is too coarse for a regression of
// a half, and fine enough for something that takes five times as long. The longest
// of many times has a slack of 27, the third power: on a busy machine it is the time
// slice of another process. Memory and quotients have one of 1.25. Counts, of
// allocations and goroutines, have none.
//
// # What is fair
//
// Both sides work on the same objects under the same keys in the same order, and
// each does it in the way that its documentation recommends. In particular:
//
//   - client-go has its default feature gates, and its queues are created without
//     a name, which is how its metrics are off. Ours has none configured either.
//
//   - The index of the node, whose function is the user's, is a NewSingleIndex on our side, as
//     package indexer recommends for one value per object. client-go's functions return slices.
//
//   - Where client-go's users go through a lister, so does the row: the lister
//     joins namespace and name to a key, and converts the results.
//
//   - Listing means to visit every object's pointer without reading the object.
//     To read them costs both the same, and would only hide the difference.
//
//   - A list of client-go is a slice that the caller may keep and sort. Where that
//     is the purpose, slices.Collect has to be added to our side.
//
//   - Informers in memory get the same events from the same channel. Our handlers
//     are Lossless there, so that both sides deliver every event. The stalled handler
//     has the default bound instead: that is what its row shows.
//
//   - First syncs read from a server in a third process, which sends what it has
//     encoded beforehand; it takes part of the same cores for both.
//
// # What is not measured
//
//   - cilium/statedb: it has no rows yet.
//   - DeltaFIFO with known objects and resync: both sides spend their time in the
//     store, which has rows of its own.
//   - Queue metrics: the sinks differ too much to be the same work.
//   - Resyncs: the least period that both sides allow leaves ours nothing to spread one over, so
//     it is measured what nobody sets.
//   - The time from an event to its handler under a load: on few cores it is the scheduler that is
//     measured. BENCHMARKS.md records the whole way, from a change to its reconcile on a real API server.
//   - Readers in a tight loop, more of them than cores, against no readers: what
//     they take from the writer then is the cores, not the lock. Rows and a
//     chart show it, but the target is for readers at a fixed rate.
package bench
