package rows

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

func storeRows() []bench.Row {
	return slices.Concat(readRows(), writeRows(), changeRows(), memoryRows())
}

// store is what the stores can do. To list is to visit every object; the methods
// that do so return how many there were.
type store interface {
	// Write makes one new state visible.
	Write(*corev1.Pod)
	// WriteAll makes many visible, in whatever way suits the store best.
	WriteAll([]*corev1.Pod)
	// Replace states the whole content.
	Replace([]*corev1.Pod)

	Get(key) *corev1.Pod
	All() int
	InNamespace(string) int
	OnNode(string) int
}

// indexNames are the indexes that rows may use, the most common first.
type indexName int

const (
	byNamespace indexName = iota
	byNode
	byApp
	byOwner
	byTier
	byUID
	byReplicaSet
	byNamespaceAndTier
)

// someIndexes returns the first n.
func someIndexes(n int) []indexName {
	return []indexName{byNamespace, byNode, byApp, byOwner, byTier, byUID, byReplicaSet, byNamespaceAndTier}[:n]
}

// implementation is a kind of store.
type implementation struct {
	who string
	new func(indexes []indexName) store
}

// The kinds of store.
var (
	ourStore      = implementation{informerkit, newOurStore}
	clientGoStore = implementation{clientGo, newClientGoStore}
)

// compareStores fills in the sides of a row with work that is written once, for
// any store.
func compareStores(row bench.Row, peer implementation, indexes []indexName, work func(store) bench.Subject) bench.Row {
	side := func(i implementation) bench.Side {
		return bench.Side{Who: i.who, Setup: func() bench.Subject { return work(i.new(indexes)) }}
	}
	row.Area = "store"
	row.Ours, row.Theirs = side(ourStore), side(peer)
	return row
}

// filled passes a store with n pods in so many namespaces to work.
func filled(n, namespaces int, work func(store, []*corev1.Pod) bench.Subject) func(store) bench.Subject {
	return func(s store) bench.Subject {
		ps := pods(n, namespaces)
		s.WriteAll(ps)
		return work(s, ps)
	}
}

// times returns a subject whose work is a function.
func times(f func()) bench.Subject {
	return bench.Subject{Run: func(n int) {
		for range n {
			f()
		}
	}}
}

// expect ends the process if a store did not do what it was asked for.
func expect(got, want int) {
	if got != want {
		panic("a store has listed another number of objects than there are")
	}
}
