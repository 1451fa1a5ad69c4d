// Package reflector mirrors one collection of an API server into a sink, and
// keeps doing so until its context ends.
//
// LIST returns the whole collection and the resourceVersion it stands for, WATCH
// everything that happens after a resourceVersion. One LIST and one WATCH, resumed
// whenever it ends, keep a copy up to date at the cost of its changes. The
// difficulty is in what goes wrong: servers restart, proxies hang up, the history
// is compacted, a role is missing, one object of ten thousand cannot be decoded. A
// reflector handles each of these, and always reports what it is doing.
//
//	                         ┌────────────────────────────────────────────┐
//	                         ▼                                            │
//	New ──▶ Connecting ──▶ Listing   ──▶ Synced ──▶ Connecting ──▶ Watching | Polling
//	            │      └─▶ Streaming ───────────────────────────────▲  │
//	            ▼                                                      │
//	         Degraded ◀──── any failure: say why, wait, try again ◀────┘
//
// Listing is LIST. Streaming is WatchList: one WATCH that first sends what exists,
// then a bookmark, then the changes. Polling replaces the watch of an API that has none, such as the
// metrics of nodes: the collection is listed twice a minute.
//
//	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
//	source, err := reflector.NewResource[*corev1.Pod](cfg, pods, reflector.ResourceOptions{})
//	if err != nil { … }
//	source = reflector.Transform(source, reflector.StripManagedFields[*corev1.Pod])
//	r, err := reflector.New(source, sink, reflector.Options{})
//	if err != nil { … }
//	go r.Run(ctx)
//	…
//	if h := r.Health(); !h.Synced {
//		log.Printf("no pods yet: %s since %v: %v", h.State, h.Since, h.LastError)
//	}
//
// The sink is any type with the five methods of [Sink]: a queue, a store, a map.
//
// # Promises
//
//  1. The sink sees, per object, an ordered subsequence of its true states; a
//     Replace states the whole collection. When all is quiet, the last state that
//     it has seen is the server's. Objects outside of the source's namespace and
//     selectors do not reach it.
//  2. Nothing fails silently. Every failure is in [Health], with its class and since
//     when, and in the log: at once for a new reason, and then once a minute. The
//     error says what to do.
//  3. Nothing spins. Whatever the server does, it gets at most 10 requests in any
//     10 seconds. For failures, and for watches that end within a second, it gets one
//     per 10 seconds in the long run. [Options].Policy, and further pages of a list that
//     are at least half full, are not counted. Within these bounds a watch that has run
//     for a second or has delivered something resumes at once.
//  4. Nothing hangs. A server that does not answer, stalls, never sends the bookmark
//     that ends the initial events, or is behind a half-open connection is noticed
//     by a deadline. One big object on a slow link is not a stall.
//  5. Run returns soon after its context ends, from every state, with its streams
//     closed.
//  6. One bad object does not hold up the others. It is quarantined: reported,
//     counted, kept in its last good version if the sink is [Known], and read again
//     with the next list. A quarantined event causes a relist.
//  7. The resourceVersion never gets ahead of what the sink has accepted; a refused
//     event is delivered again.
//  8. A list is decoded object by object while it arrives, and never held twice. On
//     a relist an object that the sink has in the same version ([Known]) keeps its
//     pointer, and is not decoded again.
//  9. A transform runs once per object that is decoded, and cannot change its
//     namespace, name, UID or resourceVersion.
//  10. A 404 deletes nothing, because it proves nothing about the objects: the sink keeps
//     them, and the next list that succeeds decides.
//
// # Where to read on
//
// Run, in reflector.go, is the loop: read the collection, watch, resume, back off.
//
//	Run ─▶ synchronize ─▶ pages (list.go) ───────┐  collectedList     ─▶ replace ─▶ Sink.Replace
//	    │              └▶ collect (watchlist.go) ─┘  (collected.go)
//	    ├─▶ connect ─▶ follow ─▶ deliverNext ─▶ deliver (watch.go) ─▶ Sink.Add, Update, Delete
//	    └─▶ conclude ─▶ phaseAfter (outcome.go), waitAfter (pace.go)
//
// Users pass in what is in source.go, sink.go and options.go. README.md: the words, which
// file keeps which promise, what happens on each failure, pace, cost, and the differences
// from client-go.
package reflector
