package bench

import (
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

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

// compareStores runs a benchmark with stores that have indexes of the namespace and, if so, of the
// node, and contain n pods in so many namespaces.
func compareStores(b *testing.B, node bool, n, namespaces int, run func(b *testing.B, s store, ps []*corev1.Pod)) {
	compare(b, clientGo,
		func(*testing.B) store { return newClientGoStore(node) },
		func(*testing.B) store { return newOurStore(node) },
		func(b *testing.B, s store) {
			ps := pods(n, namespaces)
			s.WriteAll(ps)
			run(b, s, ps)
		})
}

// Two goroutines look up pods in random order, by keys that are not the strings of the pods;
// client-go through its lister.
//
// Target: no allocations.
func BenchmarkStoreGet(b *testing.B) {
	const readers, each = 2, 10_000
	compareStores(b, false, *objects, 20, func(b *testing.B, s store, ps []*corev1.Pod) {
		ks := keysOf(ps)
		next := [readers]int{}
		loop(b, readers*each, "get", func() {
			var reading sync.WaitGroup
			for r := range readers {
				reading.Go(func() {
					from := len(ks)*r/readers + next[r]
					for i := range each {
						if s.Get(ks[(from+i)%len(ks)]) == nil {
							panic("a pod is missing")
						}
					}
					next[r] += each
				})
			}
			reading.Wait()
		})
	})
}

// One goroutine lists all pods.
//
// Target: as fast as client-go, no allocations.
func BenchmarkStoreList(b *testing.B) {
	compareStores(b, false, *objects, 20, func(b *testing.B, s store, ps []*corev1.Pod) {
		loop(b, len(ps), "pod", func() { expect(s.All(), len(ps)) })
	})
}

// One goroutine updates pods in random order, 100 in a batch, with indexes of namespace and node.
//
// Target: as fast as client-go.
func BenchmarkStoreWriteBatch(b *testing.B) {
	compareStores(b, true, *objects, 20, func(b *testing.B, s store, ps []*corev1.Pod) {
		u := updatesOf(ps)
		batch := make([]*corev1.Pod, 100)
		loop(b, len(batch), "write", func() {
			for i := range batch {
				batch[i] = u.take()
			}
			s.WriteAll(batch)
		})
	})
}

// One goroutine updates pods of 50,000 in random order, each visible immediately, with indexes of
// namespace and node.
//
// Target: half as fast as client-go.
func BenchmarkStoreWrite(b *testing.B) {
	compareStores(b, true, 50_000, 20, func(b *testing.B, s store, ps []*corev1.Pod) {
		u := updatesOf(ps)
		loop(b, 1, "write", func() { s.Write(u.take()) })
	})
}

// 20,000 pods are added to a new store with two indexes, 100 in a batch, as a first sync does.
//
// Target: as fast as client-go.
func BenchmarkStoreAdd(b *testing.B) {
	create := func(create func(node bool) store) func(*testing.B) func() store {
		return func(*testing.B) func() store { return func() store { return create(true) } }
	}
	compare(b, clientGo, create(newClientGoStore), create(newOurStore), func(b *testing.B, create func() store) {
		ps := pods(20_000, 20)
		loop(b, len(ps), "pod", func() { writeInBatches(create(), ps, 100) })
	})
}

// 1,000 differing pods are found: by the diff of two snapshots, against listing the store and
// looking each up in the list before, as one has to do with client-go.
func BenchmarkStoreDiff(b *testing.B) {
	const changed = 1000
	compareStores(b, false, *objects, 20, func(b *testing.B, s store, ps []*corev1.Pod) {
		count := s.Changed()
		s.WriteAll(updatesOf(ps).states[:changed])
		loop(b, changed, "difference", func() { expect(count(), changed) })
	})
}

// Pods, which exist already, are written to a store with two indexes in batches of 1,000.
//
// Target: at most the memory of client-go.
func BenchmarkStoreMemory(b *testing.B) {
	compareStores(b, true, 0, 1, func(b *testing.B, s store, _ []*corev1.Pod) {
		ps := pods(*objects, 20)
		alive(b, len(ps), "pod", func() any {
			writeInBatches(s, ps, 1000)
			return s
		})
	})
}

// One goroutine updates pods, each visible immediately; ten others list their namespace of 10,000
// pods, each ten times a second: a cache that many reconciles read, with the pauses that real ones
// have.
//
// Target: half as fast as client-go.
func BenchmarkWriteBesideReaders(b *testing.B) {
	const crowd = 10_000
	compareStores(b, false, crowd, 1, func(b *testing.B, s store, ps []*corev1.Pod) {
		u := updatesOf(ps)
		defer beside(10, 100*time.Millisecond, func() { expect(s.InNamespace(namespace(0)), crowd) })()
		loop(b, 1, "write", func() { s.Write(u.take()) })
	})
}

// One goroutine lists a namespace of 250 of 50,000 pods after the other, while another writes a pod
// each millisecond.
//
// Target: 1.8 times as fast as client-go.
func BenchmarkListNamespace(b *testing.B) {
	const namespaces, each = 200, 250
	listBesideWriter(b, namespaces, each, func(s store, i int) int { return s.InNamespace(namespace(i % namespaces)) })
}

// One goroutine lists a node of 100 of 50,000 pods after the other, by an index, while another
// writes a pod each millisecond.
//
// Target: 1.8 times as fast as client-go.
func BenchmarkListNode(b *testing.B) {
	const nodes = 50_000 / podsPerNode
	listBesideWriter(b, 200, podsPerNode, func(s store, i int) int { return s.OnNode(nodeName(i % nodes)) })
}

func listBesideWriter(b *testing.B, namespaces, each int, list func(s store, i int) int) {
	compareStores(b, true, 50_000, namespaces, func(b *testing.B, s store, ps []*corev1.Pod) {
		u, next := updatesOf(ps), 0
		defer beside(1, time.Millisecond, func() { s.Write(u.take()) })()
		loop(b, each, "pod", func() {
			expect(list(s, next), each)
			next++
		})
	})
}

// beside lets n goroutines call f at a pace, one a little after another, until stop is called. When
// it returns, each has done so once.
func beside(n int, pace time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	var running, ready sync.WaitGroup
	ready.Add(n)
	for i := range n {
		running.Go(func() {
			f()
			ready.Done()
			timer := time.NewTimer(pace * time.Duration(i) / time.Duration(n))
			defer timer.Stop()
			for {
				select {
				case <-done:
					return
				case <-timer.C:
					timer.Reset(pace)
					f()
				}
			}
		})
	}
	ready.Wait()
	return func() {
		close(done)
		running.Wait()
	}
}

func writeInBatches(s store, ps []*corev1.Pod, size int) {
	for batch := range slices.Chunk(ps, size) {
		s.WriteAll(batch)
	}
}
