package rows

import (
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

const (
	// big is the number of objects where caches of the processor are to be cold.
	big = 100_000
	// changed is how many objects differ between two states that are compared.
	changed = 1000
	// crowd is the number of objects in the namespace that all readers list.
	crowd = 10_000
	// pace is how often a reader lists, where it does not do so without pause.
	pace = 100 * time.Millisecond
	// share is how long a run takes where goroutines compete for the cores: the
	// scheduler gives each 10 ms at a time.
	share = 500 * time.Millisecond
)

func storeRows() []bench.Row {
	add := addRow(2)
	add.Want = bench.Target{Ratio: 1}
	memory := memoryRow(big, 2)
	memory.Want, memory.Quick = bench.Target{Ratio: 1}, true
	return []bench.Row{
		compareStores(bench.Row{
			Work: "get by namespace and name, 2 readers", Quick: true,
			Does: "2 goroutines look up 100k pods in random order, by keys that are not the strings of the pods; client-go through its lister.",
			Want: bench.Target{Allocs: bench.AtMost(0)},
		}, indexes[:1], gets(big, 2)),
		compareStores(bench.Row{
			Work: "list all of 100k",
			Does: "One goroutine lists all pods; a unit is a visited pod.",
			Per:  big,
			Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(0)},
		}, indexes[:1], lists(big)),
		compareStores(bench.Row{
			Work: "writes in batches of 100", Quick: true,
			Does: "One goroutine updates pods of 100k in random order, 100 in a batch, with indexes of namespace and node; a unit is a write.",
			Per:  100, Rate: true,
			Want: bench.Target{Ratio: 1},
		}, indexes[:2], batches(big, 100)),
		compareStores(bench.Row{
			Work: "single writes",
			Does: "One goroutine updates pods of 50,000 in random order, each visible at once, with indexes of namespace and node.",
			Want: bench.Target{Ratio: 0.5},

			MoreRounds: 3, // as it waits for memory that others on the host use, too
		}, indexes[:2], singles(50_000)),
		add,
		compareStores(bench.Row{
			Work: "what has changed, 1% of 100k",
			Does: "1,000 differing pods of 100k are found: by the diff of two snapshots, against listing the store and looking each up " +
				"in the list before, as one has to do with client-go. A unit is a difference.",
			Per: changed,
		}, nil, diffs(big)),
		memory,
	}
}

// writesBesideReadersRow is a cache that many reconciles read at once, with the pauses
// that real ones have.
func writesBesideReadersRow() bench.Row {
	return compareStores(bench.Row{
		Work: "writes beside 10 readers that list 10k, 10 times a second each",
		Does: "One goroutine updates pods, each visible at once; 10 others list their namespace of 10,000 pods, each 10 times a second.",
		Rate: true, Time: share, Quick: true,
		Want: bench.Target{Ratio: 0.5},
	}, indexes[:1], writesAgainst(readers{10, pace}))
}

// listsBesideWriterRows are the two lists that a reconcile asks for, while the informer
// writes what happens in the cluster.
func listsBesideWriterRows() []bench.Row {
	const objects, namespaces, writes = 50_000, 200, 1000
	row := func(work, does string, per int, list func(s store, i int)) bench.Row {
		return compareStores(bench.Row{
			Work: work, Per: per, Time: share,
			Does: "One goroutine lists " + does + " of 50,000 pods, one after the other, while another one writes a pod each millisecond; a unit is a visited pod.",
			Want: bench.Target{Ratio: 1.8},
		}, indexes[:2], filled(objects, namespaces, func(s store, ps []*corev1.Pod) bench.Subject {
			u, next := updatesOf(ps), 0
			return readers{1, time.Second / writes}.beside(func() { s.Write(u.take()) }, times(func() {
				list(s, next)
				next++
			}))
		}))
	}
	return []bench.Row{
		row("list by namespace, 250 pods, beside a writer", "a namespace of 250", objects/namespaces, func(s store, i int) {
			expect(s.InNamespace(namespace(i%namespaces)), objects/namespaces)
		}),
		row("list by index, 100 pods, beside a writer", "a node of 100", podsPerNode, func(s store, i int) {
			expect(s.OnNode(nodeName(i%(objects/podsPerNode))), podsPerNode)
		}),
	}
}

// addRow fills a new store, as a first sync does.
func addRow(some int) bench.Row {
	const n = 20_000
	create := func(new func([]index) store) func() func() store {
		return func() func() store { return func() store { return new(indexes[:some]) } }
	}
	return compare(bench.Row{
		Area: "store", Work: fmt.Sprintf("add 20k in batches of 100, %d indexes", some),
		Does: "20,000 pods are added to a new store; a unit is a pod. The indexes are namespace, node, a label, owner, another label.",
		Per:  n, Rate: true, MoreRounds: 3,
	}, create(newOurStore), create(newClientGoStore), func(create func() store) bench.Subject {
		ps := pods(n, 20)
		return times(func() { writeInBatches(create(), ps, 100) })
	})
}

// memoryRow is what a store takes besides its objects.
func memoryRow(objects, some int) bench.Row {
	return compareStores(bench.Row{
		Work:    fmt.Sprintf("memory per object, %d indexes", some),
		Does:    fmt.Sprintf("%s pods, which exist already, are written to a store in batches of 1,000; the heap that it takes for one.", short(objects)),
		Measure: bench.LiveHeap, Per: objects, Repeat: 1,
	}, indexes[:some], func(s store) bench.Subject {
		ps := pods(objects, 20)
		return bench.Subject{
			Run:   func(int) { writeInBatches(s, ps, 1000) },
			After: func() { expect(s.All(), len(ps)) },
		}
	})
}

func writeInBatches(s store, ps []*corev1.Pod, size int) {
	for batch := range slices.Chunk(ps, size) {
		s.WriteAll(batch)
	}
}

// store is what the stores can do. To list is to visit every object; the methods
// that do so return how many there were.
type store interface {
	// Write makes one new state visible.
	Write(*corev1.Pod)
	// WriteAll makes many visible, in whatever way suits the store best.
	WriteAll([]*corev1.Pod)

	Get(key) *corev1.Pod
	All() int
	InNamespace(string) int
	OnNode(string) int
	// Changed remembers the state, and returns what counts the objects that have changed since.
	Changed() (count func() int)
}

// compareStores fills in the sides of a row with stores that have some indexes.
func compareStores(row bench.Row, some []index, work func(store) bench.Subject) bench.Row {
	row.Area = "store"
	return compare(row, func() store { return newOurStore(some) }, func() store { return newClientGoStore(some) }, work)
}

// filled passes a store with n pods in so many namespaces to work.
func filled(n, namespaces int, work func(store, []*corev1.Pod) bench.Subject) func(store) bench.Subject {
	return func(s store) bench.Subject {
		ps := pods(n, namespaces)
		s.WriteAll(ps)
		return work(s, ps)
	}
}

// gets looks up pods in so many goroutines.
func gets(objects, readers int) func(store) bench.Subject {
	return filled(objects, 20, func(s store, ps []*corev1.Pod) bench.Subject {
		ks := keysOf(ps)
		return bench.Subject{Run: func(n int) {
			parallel(readers, n, func(i int) {
				if s.Get(ks[i%len(ks)]) == nil {
					panic("a pod is missing")
				}
			})
		}}
	})
}

func lists(n int) func(store) bench.Subject {
	return filled(n, 20, func(s store, _ []*corev1.Pod) bench.Subject {
		return times(func() { expect(s.All(), n) })
	})
}

func batches(objects, size int) func(store) bench.Subject {
	return filled(objects, 20, func(s store, ps []*corev1.Pod) bench.Subject {
		u := updatesOf(ps)
		batch := make([]*corev1.Pod, size)
		return times(func() {
			for i := range batch {
				batch[i] = u.take()
			}
			s.WriteAll(batch)
		})
	})
}

func singles(objects int) func(store) bench.Subject {
	return filled(objects, 20, func(s store, ps []*corev1.Pod) bench.Subject {
		u := updatesOf(ps)
		return times(func() { s.Write(u.take()) })
	})
}

func diffs(objects int) func(store) bench.Subject {
	return filled(objects, 20, func(s store, ps []*corev1.Pod) bench.Subject {
		count := s.Changed()
		s.WriteAll(updatesOf(ps).states[:changed])
		return times(func() { expect(count(), changed) })
	})
}

// writesAgainst writes while others read.
func writesAgainst(r readers) func(store) bench.Subject {
	return filled(crowd, 1, func(s store, ps []*corev1.Pod) bench.Subject {
		u := updatesOf(ps)
		return r.beside(func() { expect(s.InNamespace(namespace(0)), crowd) }, times(func() { s.Write(u.take()) }))
	})
}

// readers do something, such as to list a namespace, while something else is measured.
type readers struct {
	n    int
	pace time.Duration // between the starts of two lists of one reader; 0: no pause
}

// beside lets the readers read during the runs of a subject.
func (r readers) beside(list func(), s bench.Subject) bench.Subject {
	var stop func()
	s.Before = func() { stop = r.start(list) }
	s.After = func() { stop() }
	return s
}

// start lets the readers read until stop is called. When it returns, each has
// read once.
func (r readers) start(list func()) (stop func()) {
	done := make(chan struct{})
	var running, ready sync.WaitGroup
	ready.Add(r.n)
	for i := range r.n {
		running.Go(func() {
			list()
			ready.Done()
			r.list(i, list, done)
		})
	}
	ready.Wait()
	return func() {
		close(done)
		running.Wait()
	}
}

// list lists at the pace, reader i a little after the one before it.
func (r readers) list(i int, list func(), done <-chan struct{}) {
	timer := time.NewTimer(r.pace * time.Duration(i) / time.Duration(r.n))
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
			timer.Reset(r.pace)
			list()
		}
	}
}
