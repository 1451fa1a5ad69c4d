// Package bench compares this library with its peers, client-go and controller-runtime. The
// benchmarks have one sub-benchmark for each implementation, and benchstat compares them. (That both
// come to the same results is the matter of package differential: it sends random histories through
// client-go and this library.)
//
//	internal/verify/bench/run.sh                             # all rows, by turns, in ten rounds
//	internal/verify/bench/run.sh Queue 10                    # those of the queue
//	go -C internal/verify/bench test -run '^$' -bench Queue  # one round
//
// The command cmd/manager measures a whole program: a controller-runtime manager with its own cache
// and with ours.
//
//	go -C internal/verify/bench run ./cmd/manager
//
// # How it measures
//
// The script runs all implementations of a benchmark, then the next benchmark, and repeats that. A
// machine that is slow for a while, or shared, is slow for all. Time, processor time and
// allocations are those of the whole process, for one unit of the work (ns/pod, cpu-ns/pod,
// allocs/pod). Setting up is not measured, and garbage is collected before each run.
//
// Memory, goroutines and everything that a server sends are measured in a separate process for each
// implementation and each run, the same binary with one sub-benchmark. Memory is what is alive
// after the run, less what was alive before, heap and stacks.
//
// The comment of each benchmark states its target. BENCHMARKS.md lists the recorded figures.
//
// # What is fair
//
// All implementations work on the same objects under the same keys in the same order, and each does
// it in the way that its documentation recommends. In particular:
//
//   - client-go has its default feature gates, and its queues are created without
//     a name, which is how its metrics are off. Ours has none configured either.
//   - The index of the node, whose function is the user's, is a NewSingleIndex on our side, as
//     package indexer recommends for one value per object. client-go's functions return slices.
//   - Where client-go's users go through a lister, so does the benchmark: the lister
//     joins namespace and name to a key, and converts the results.
//   - Listing means to visit every object's pointer without reading the object.
//     To read them costs both the same, and would only hide the difference.
//   - A list of client-go is a slice that the caller may keep and sort. Where that
//     is the purpose, slices.Collect has to be added to our side.
//   - Informers in memory get the same events from the same channel. Our handlers
//     are Lossless there, so that both deliver every event. The stalled handler
//     has the default bound instead: its benchmark measures that.
//   - First syncs read from a server in another process, which sends what it has
//     encoded beforehand; it takes part of the same cores for all.
//
// # What is not measured
//
//   - cilium/statedb: it has no benchmarks yet.
//   - DeltaFIFO with known objects and resync: both spend their time in the
//     store, which has benchmarks.
//   - Queue metrics: the sinks differ too much to be the same work.
//   - Resyncs: the least period that both allow leaves ours nothing to spread one over, so
//     the benchmark would be of a setting without users.
//   - The time from an event to its handler under a load: on few cores the scheduler is
//     measured. BENCHMARKS.md records the whole way, from a change to its reconcile on a real API server.
package bench
