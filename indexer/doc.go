// Package indexer is the store under an informer's cache: the objects of one
// resource, by namespace and name and by any number of indexes. One goroutine at a
// time writes, any number read, and readers never lock.
//
// # The problem
//
// A controller's cache is read all the time, by every worker, and often as a
// whole ("all pods of this node"). Guarded by a lock, readers that list ten
// thousand objects keep out the one writer, and the cache falls behind the
// server just when there is most to do. And two questions, asked one after the
// other, get answers from two different states.
//
// Here each state of the store is an immutable [Snapshot] behind one pointer.
// Readers load the pointer and ask as many questions as they like. The writer
// prepares the next state beside it, sharing all that does not change, and
// swaps the pointer.
//
// # The picture
//
//	                    Indexer
//	               ┌──────────────┐
//	 readers ─────▶│   current    │◀───── writer: Batch … Set, Delete … Commit
//	 (one load)    └──────┬───────┘       (makes the next Snapshot, then swaps)
//	                      ▼
//	Snapshot { resourceVersion "4711", 3 objects }
//	 │
//	 ├─ namespaces ──▶ "default"     ──▶ { web-1 ──▶ *Pod,  web-2 ──▶ *Pod }
//	 │                 "kube-system" ──▶ { proxy ──▶ *Pod }
//	 │                                              all objects, and the
//	 │                                              namespace index for free
//	 └─ indexes
//	     ├─ "node"       "node-a" ──▶ { *Pod, *Pod }      each a map from value
//	     │               "node-b" ──▶ { *Pod }            to a set of pointers
//	     └─ "label:app"  "web"    ──▶ { *Pod, *Pod }
//	                     "proxy"  ──▶ { *Pod }
//
// Every arrow that leads to more than a few things is a persistent hash trie
// (package indexer/internal/pmap), of which a batch copies the few nodes that it
// changes. An index holds the objects themselves, not their keys: a query
// follows no second look-up.
//
// # Use
//
//	byNode := indexer.NewSingleIndex("node", func(p *corev1.Pod) (string, bool) {
//		return p.Spec.NodeName, p.Spec.NodeName != ""
//	})
//	ix, err := indexer.New(indexer.Options[*corev1.Pod]{
//		Indexes: []indexer.IndexDefinition[*corev1.Pod]{byNode},
//	})
//	…
//	b := ix.Batch()              // the writer
//	defer b.Discard()            // does nothing after Commit
//	_, _, err = b.Set(pod)
//	b.SetResourceVersion("4711")
//	b.Commit()
//	…
//	snap := ix.Snapshot()        // any reader
//	pod, ok := snap.Get(key)
//	pods, err := indexer.ByIndex(snap, byNode, "node-a")
//	for pod := range pods { … }
//
// Objects are shared: do not change an object that you got or stored; change a
// DeepCopy of it.
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
//  5. Replace is a diff: an object of which the same version is stored keeps its
//     pointer; if nothing changes, no new snapshot is published.
//  6. [Diff] yields each changed key once. Between snapshots of one indexer it
//     costs what has changed, not what is stored.
//  7. An index function that fails, panics, or returns too many values or values
//     that cannot be found again keeps that object out of that index, and out of
//     nothing else. It is logged, and [Snapshot.IndexFailures] has the reason.
//  8. Indexes can be added and removed at any time. Adding blocks writers only
//     while it catches up with the changes since it began; a snapshot keeps the
//     indexes that it was created with.
//  9. Selectors use a label index where it leaves fewer objects to look at. The
//     answer is the same.
//  10. Names cannot be chosen so as to slow the store down: hashes are seeded at
//     random, and equal hashes are handled.
//
// # When things go wrong
//
//	nil object, object without a name   Set: an error, nothing changes.
//	                                    Replace: left out and reported, the rest
//	                                    is replaced.
//	names with slashes                  are names; keys are never joined.
//	two indexes of one name, nil index, an error from New or AddIndex.
//	impossible options
//	query of an index that is not there ErrIndexNotFound.
//	writing to a batch that has ended   Set and Replace return ErrBatchEnded;
//	                                    Delete deletes nothing; Get, Len and All
//	                                    find nothing; Commit returns the current
//	                                    snapshot.
//	second Batch in the same goroutine  Deadlock, as with a mutex. So are AddIndex,
//	                                    RemoveIndex and CheckMutations during a
//	                                    batch, and an index function that writes.
//	                                    Index functions may read: they see the
//	                                    state before the batch.
//	a batch that is never ended         All later writers wait; readers do not.
//	the stored pointer is set again     Nothing changes, and no index function is
//	                                    called, whatever was done to the object.
//	an object is changed after Set      Every reader sees it, as a data race. The
//	                                    store still finds it under its key. If an
//	                                    index function now fails or returns a value
//	                                    under which the object is not indexed, the
//	                                    next write of the object logs it and removes
//	                                    the mutated version from the whole index. If
//	                                    the function only returns fewer values, the
//	                                    mutated version stays under those missing
//	                                    until the index is removed and added again.
//	                                    MutationOptions finds such changes.
//	OnMutation panics                   The batch is published, the lock is released,
//	                                    and the panic propagates to the caller of
//	                                    Commit or CheckMutations. Mutations found
//	                                    by the same call are logged before that.
//
// # Reading order
//
// snapshot.go is what readers see, batch.go makes the next one, and indexer.go has
// the pointer and the lock between them. An index is index.go (the definition),
// table.go (its state in one snapshot) and group.go (the objects of one value);
// builtin.go has those that come with the package. replace.go, diff.go, selector.go
// and mutation.go stand on these, each by itself. The trie below all of it is
// package indexer/internal/pmap: doc.go, node.go, trie.go, edit.go, diff.go.
//
// # Cost
//
// 100,000 pods in 100 namespaces, go1.26, 2 cores of an Intel Xeon that were
// shared with other work; the best of several hundred short slices in which both
// took turns, which leaves out most of the garbage collector's work. client-go
// is cache.NewIndexer of v0.37.2 with the same indexes, which always has
// namespace as one of them; look-ups include joining its key.
//
//	                                         here          client-go
//	Get, independent look-ups, cold          186 ns        247 ns   (Go map 124 ns)
//	Get, each depends on the one before      352 ns        341 ns   (Go map 320 ns)
//	replace one object, batches of 1000      0.69 µs       1.38 µs
//	  … and a label index                    1.67 µs       1.80 µs
//	  … and an index by node                 2.63 µs       2.16 µs
//	replace one object, batches of 100       0.84 µs       1.38 µs
//	  … and a label index                    1.92 µs       1.80 µs
//	  … and an index by node                 3.15 µs       2.16 µs
//	a batch for each object                  1.14 µs 777 B 1.38 µs
//	  … and a label index                    2.57 µs 1.4 kB 1.80 µs
//	  … and an index by node                 4.03 µs 2.1 kB 2.16 µs
//	add 100,000 objects                      38 ms         66 ms
//	iterate 100,000                          0.89 ms       1.68 ms + 1.6 MB of garbage
//	iterate 10,000 of one namespace          0.10 ms       0.67 ms
//	iterate 1,000 of one index value         4.7 µs        31 µs
//	replace all, 1% changed                  59 ms         205 ms
//	diff with 1% changed                     32 µs           –
//	memory per object                        45 B          155 B
//	  … and a label index                    66 B            –
//	  … and an index by node                 89 B          191 B
//	  … no index, 10 objects per namespace   52 B            –
//	  … no index, one object per namespace   228 B           –
//
// What an index costs the writer is the price of reading it fast: it holds the
// newest version of each object, so that also an update that leaves the values
// alone copies a path in it. A profile shows that cost spread over cache misses
// on the way down (a third), copies of nodes (a quarter), the index function (a
// fifth) and, in a heap full of pods, the garbage collector. An index that is
// queried rarely may cost more than looking at all objects now and then. Use
// [NewSingleIndex] where an object has at most one value: as long as that stays,
// an update does not look at the old version. The namespace index costs nothing.
package indexer
