// Package reconcile compares a controller on this library with the same controller
// on client-go, both at work on a real kube-apiserver.
//
//	go -C internal/verify/e2e run ./cmd/reconcile
//
// The benchmarks of internal/verify/bench measure parts, most of them in memory. Here is
// the whole way that a change takes in production:
//
//	user ──write──▶ kube-apiserver ──watch──▶ ┌─ controller's process ──────────────┐
//	  ▲                   ▲                   │ informer ─▶ handler ─▶ queue        │
//	  │                   │                   │                          │          │
//	  └──watch── status ──┴────requests────── │                      reconcile      │
//	                                          └─────────────────────────────────────┘
//
// # What is compared
//
// The controller of examples/replicaset, and package clientgo: shared informers,
// listers, a typed rate-limiting queue. Both decide by the same functions.
//
//   - latency: sets are created at a modest rate, each in its time whether those
//     before it are done or not, and then scaled up at the same rate. Measured from
//     just before the request is sent: until it is answered, until an event handler
//     is called with it, until a reconcile of the set begins, until a user who
//     watches reads in the status that the set has what it wants. Also how long
//     after the answer the handler is called: less than zero if it is faster.
//   - throughput: many sets are created at once. The time until all have their pods
//     and say so, as a user sees it; what the controller's process has used for it. One set
//     before them, which does not count, takes what a process does only once.
//   - requests alone: what the processor time and the allocations of throughput would be
//     if the library took none. A third process sends the same requests, with the client
//     of ours and as many workers, for sets that it has listed before; it has no informer
//     and no queue. The ratio of client-go to it is the most that ours can reach, and
//     what is beyond it is each controller's own part.
//   - restart: a controller starts over objects that have what they want. The time
//     from the start of its process until its caches are synced, and until the
//     reconcile of the last set begins.
//   - requests: what the controllers asked of the server during throughput.
//
// # How it measures
//
//  1. Every run has a process of its own, the same binary for both sides, and a
//     namespace of its own, but for restarts, which share one and write nothing.
//  2. The runs of both sides alternate, and take turns in going first.
//  3. A figure is the median of its runs; a percentile is taken within each run. A
//     ratio is taken round by round; the range beside it holds the true median with a
//     confidence of nine in ten.
//  4. After every run the objects are read from the server. A set that has not
//     exactly the pods that it wants fails the measurement.
//  5. Writing, and watching the status, is the work of the measuring process, which
//     uses neither side's informers. Times of both processes are of one clock.
//
// # What is fair
//
//   - Neither side has a limit on requests per second. Both have the same number of
//     workers and the same limiter of retries.
//   - Both watch pods as protobuf and sets as JSON, and write JSON; a test compares
//     the encodings of all requests. (By itself, a clientset would write pods as
//     protobuf.) Both use WatchList, which is the default of both.
//   - Both find the pods of a set, and the orphans beside them, by an index of the
//     controllers of pods.
//   - Each writes as its kind of program does: client-go's through a clientset, ours
//     through the client of the examples, which bounds each request to half a minute.
//     Both clients send the same requests by client-go's rest package.
//   - Ours stores equal parts of objects once, which takes processor time and saves
//     memory; client-go has nothing that compares.
//   - A reconcile must not act on a cache that does not show its own writes yet. Each
//     side does what its library has for that: ours waits for the cache within the
//     reconcile, and holds its worker meanwhile; client-go's returns at once and is
//     called again by the event, which are more reconciles with the same requests.
//     Where workers are few and the server is slow, waiting can cost us throughput.
//   - The handler that notes the time is registered beside the controller's own. The
//     two run independently, so a reconcile may begin a little before the note.
//   - The requests alone go out faster, as nothing is waited for between them, and over a
//     smaller heap, which the garbage collector goes through more often.
//   - Memory is that of the whole process, of which both libraries, a clientset and
//     the probes are part: some megabytes that are the same for both.
//
// # How to read it
//
// The API server, etcd, the controller and the measuring process share the cores, and
// most of the time is the server's: a create takes it milliseconds, an informer
// microseconds. A latency close to that of the answer says that the library adds next
// to nothing, on either side, and ratios of latency and throughput close to 1 are what
// to expect. What the libraries themselves do shows in processor time and allocations,
// most of all of a restart; for the rest see internal/verify/bench. Believe no ratio whose
// range reaches over 1.
package reconcile
