package indexer

import (
	"iter"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
)

// Snapshot is the state of an [Indexer] at one point in time: objects, indexes
// and resourceVersion belong together. It is immutable, and safe for any number
// of goroutines. Iterations are in no particular order.
type Snapshot[T Object] struct {
	// For the next state, the writer copies this struct, which is a few words, and edits
	// the copy. A node of a trie is copied when a batch first touches it; gen says whether
	// it has been. All fields are therefore constant once the pointer is in
	// Indexer.current.

	shared *shared[T]
	// objs has the objects by number. An object keeps its number until it is deleted, so
	// an update changes nothing but this array, unless the values of an index change.
	objs    pmap.Array[T, keys]
	buckets pmap.Trie[*bucket]
	// lookup leads from keys to numbers. It was that of the writer when the snapshot was made.
	lookup *lookup
	// removed is the last removal that the snapshot has seen. What follows it may be
	// missing from lookup.
	removed *removal
	// Copied before the first write of a batch, see Batch.ownTables. There are few
	// indexes, and a search by name is linear.
	tables []table[T] // in the order of registration
	rv     string
	gen    uint64 // of the batch that made it
}

// Get returns the object with that key. It takes no lock and allocates nothing.
func (s *Snapshot[T]) Get(key types.NamespacedName) (T, bool) {
	h := s.shared.hasher.key(&key)
	if _, object, _ := s.lookup.search(&key, h, s.gen); object != nil {
		return *(*T)(unsafe.Pointer(&object)), true
	}
	_, obj, found := s.search(&key, h)
	return obj, found
}

// each calls yield for every object of the namespace until yield returns false.
func (s *Snapshot[T]) each(nb *bucket, yield func(T) bool) {
	nb.runs(func(run []uint32) bool {
		const places = 1 << pmap.NearBits
		var objs [places]T // a run is not longer
		// Servers list by namespace, so most objects of one have numbers next to each other.
		near, at := s.objs.Near(run[0]), run[0]/places
		for i, n := range run {
			if n/places != at {
				near, at = s.objs.Near(n), n/places
			}
			objs[i] = near[n%places]
		}
		for _, obj := range objs[:len(run)] {
			if !yield(obj) {
				return false
			}
		}
		return true
	})
}

// gathered is how many objects are looked up before the first of them is yielded. The
// look-ups do not depend on each other, so the processor waits for their memory once.
const gathered = 32

// yieldAll calls yield for the objects with these numbers until it returns false, and
// reports whether it came to the end.
func (s *Snapshot[T]) yieldAll(numbers []uint32, yield func(T) bool) bool {
	var objs [gathered]T
	for len(numbers) > 0 {
		part := numbers[:min(len(numbers), gathered)]
		for i, n := range part {
			objs[i] = s.objs.Get(n)
		}
		for _, obj := range objs[:len(part)] {
			if !yield(obj) {
				return false
			}
		}
		numbers = numbers[len(part):]
	}
	return true
}

// Len returns the number of objects.
func (s *Snapshot[T]) Len() int { return s.objs.Len() }

// NamespaceLen returns the number of objects in a namespace.
func (s *Snapshot[T]) NamespaceLen(namespace string) int {
	if nb, ok := s.bucket(namespace); ok {
		return nb.len()
	}
	return 0
}

// All iterates over all objects, without allocating per object.
func (s *Snapshot[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		s.objs.Runs(func(run []T) bool {
			for i := range run {
				if !yield(run[i]) {
					return false
				}
			}
			return true
		})
	}
}

// ByNamespace iterates over the objects of a namespace; the empty namespace has
// the cluster-scoped ones. No index is needed for it.
func (s *Snapshot[T]) ByNamespace(namespace string) iter.Seq[T] {
	return func(yield func(T) bool) {
		if nb, ok := s.bucket(namespace); ok {
			s.each(nb, yield)
		}
	}
}

// Namespaces iterates over the namespaces that have objects.
// The writer removes a namespace with its last object, so that none of them is empty.
func (s *Snapshot[T]) Namespaces() iter.Seq[string] {
	return func(yield func(string) bool) {
		s.buckets.Each(func(nb *bucket) bool { return yield(nb.name) })
	}
}

// ResourceVersion returns the resourceVersion of the collection, as the writer set
// it; empty before that. See [Batch.SetResourceVersion].
func (s *Snapshot[T]) ResourceVersion() string { return s.rv }

// find returns the position of the index of that name, or -1.
// The name identifies an index within one indexer; AddIndex ensures that it is unique.
func (s *Snapshot[T]) find(name string) int {
	for i, t := range s.tables {
		if t.definition().Name() == name {
			return i
		}
	}
	return -1
}
