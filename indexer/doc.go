// Package indexer is the store under an informer's cache: the objects of one
// resource, by namespace and name and by any number of indexes. One goroutine at a
// time writes, any number read, and readers never lock.
//
// Each state of the store is an immutable [Snapshot] behind one pointer, which readers
// load. The writer prepares the next state, which shares all that does not change,
// and swaps the pointer. The README of the package says why, what happens on each
// failure, and what it costs.
//
//	                    Indexer
//	               ┌──────────────┐
//	 readers ─────▶│   current    │◀───── writer: Batch … Set, Delete … Commit
//	 (one load)    └──────┬───────┘       (makes the next Snapshot, then swaps)
//	                      ▼
//	Snapshot { resourceVersion "4711", 3 objects }
//	 ├─ objects      0 ──▶ *Pod,  1 ──▶ *Pod,  2 ──▶ *Pod    each keeps its number
//	 ├─ numbers      "default/a" ──▶ 0,  "kube-system/b" ──▶ 1,  "default/c" ──▶ 2
//	 ├─ namespaces   "default"     ──▶ { 0, 2 }
//	 │               "kube-system" ──▶ { 1 }
//	 └─ indexes
//	     ├─ "node"       "node-a" ──▶ { 0, 1 }      each a map from value
//	     │               "node-b" ──▶ { 2 }         to a set of numbers
//	     └─ "label:app"  "web"    ──▶ { 0, 2 }
//
// objects is a radix tree, the others are hash tries; a change copies the few nodes that lead
// to it. An update replaces one pointer under objects. The rest changes only with objects
// that come or go, and with their values in an index.
//
//	byNode := indexer.NewSingleIndex("node", func(p *corev1.Pod) (string, bool) {
//		return p.Spec.NodeName, p.Spec.NodeName != ""
//	})
//	ix, err := indexer.New(indexer.Options[*corev1.Pod]{
//		Indexes: []indexer.IndexDefinition[*corev1.Pod]{byNode},
//	})
//	b := ix.Batch()              // the writer
//	defer b.Discard()            // does nothing after Commit
//	_, _, err = b.Set(pod)
//	b.SetResourceVersion("4711")
//	b.Commit()
//
//	snap := ix.Snapshot()        // any reader
//	pod, ok := snap.Get(key)
//	for pod := range indexer.ByIndex(snap, byNode, "node-a") { … }
//
// Objects are shared: change a DeepCopy, never an object that you got or stored.
//
// # Promises
//
//  1. Readers never lock and never wait, whatever the writer does. Get, Len and
//     Snapshot allocate nothing; iterating allocates nothing per object.
//  2. A snapshot is one point in time: objects, all indexes and the
//     resourceVersion belong together. It never changes.
//  3. A batch is visible as a whole after Commit, or not at all. After a panic
//     between Batch and Commit, the deferred Discard leaves the store as it was.
//  4. The resourceVersion is that of the last [Batch.SetResourceVersion]; objects
//     do not move it. A number is never followed by a smaller one. A version that
//     is not a number cannot be compared, and is adopted.
//  5. Replace is a diff: an object that is stored in the same version keeps its
//     pointer; if nothing changes, no new snapshot is published.
//  6. [Diff] yields each changed key once. Between snapshots of one indexer it
//     costs what has changed, not what is stored.
//  7. An index function that fails, panics, or returns too many values or values
//     that are not equal to themselves (NaN) keeps that object out of that index
//     only. It is logged, and [Snapshot.IndexFailures] has the reason.
//  8. Indexes can be added and removed at any time. Adding blocks writers only
//     while it catches up. A snapshot keeps its indexes; a query of an index that
//     it does not have gives the same answer by a full scan, logged once.
//  9. Selectors use a label index where that leaves less to check; the result is the same.
//  10. Names cannot be chosen so as to slow the store down: hashes are seeded at
//     random, and equal hashes are handled.
//
// # Reading order
//
// snapshot.go is what readers see, batch.go makes the next one, indexer.go has the
// pointer and the lock between them. A write goes from [Batch.Set] to the record under its
// number (snapshot.go), to its namespace (groups.go), and to each index: index.go is the
// definition, table.go its state. replace.go, diff.go, selector.go and mutation.go build on
// these. The trees are package indexer/internal/pmap.
package indexer
