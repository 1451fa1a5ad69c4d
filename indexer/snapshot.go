package indexer

import (
	"iter"

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

	shared  *shared[T]
	buckets pmap.Trie[*bucket[T]]
	// Copied before the first write of a batch, see Batch.ownTables. There are few
	// indexes, and a search by name is linear.
	tables []table[T] // in the order of registration
	rv     string
	// The number of objects is kept because the sizes of the buckets would have to be
	// summed.
	n   int
	gen uint64 // of the batch that made it
}

// bucket holds the objects of one namespace, by name. Objects are grouped like
// that because a namespace is the most common query: the grouping is the
// namespace index, and it costs nothing.
type bucket[T Object] struct {
	name string
	gen  uint64
	objs pmap.Trie[record[T]]
}

// record is an object with its name. The name is in the object too; but looking
// there for it would cost a look-up one more cache miss, which is most of what a
// look-up costs.
type record[T Object] struct {
	name string
	obj  T
}

// Get returns the object with that key. It takes no lock and allocates nothing.
func (s *Snapshot[T]) Get(key types.NamespacedName) (T, bool) {
	nb, ok := s.bucket(key.Namespace)
	if !ok {
		var zero T
		return zero, false
	}
	return nb.get(s.shared.hasher.str(key.Name), key.Name)
}

// bucket returns the namespace. Equal hashes of two names are possible, so the name
// decides.
func (s *Snapshot[T]) bucket(namespace string) (*bucket[T], bool) {
	return s.buckets.Find(s.shared.hasher.str(namespace), func(nb *bucket[T]) bool { return nb.name == namespace })
}

// get returns the object with that name, of which h is the hash.
func (nb *bucket[T]) get(h uint64, name string) (T, bool) {
	r, ok := nb.objs.Find(h, func(r record[T]) bool { return r.name == name })
	return r.obj, ok
}

// each calls yield for every object of the namespace until yield returns false, and
// reports whether it came to the end.
func (nb *bucket[T]) each(yield func(T) bool) bool {
	// Runs hands out a leaf's values at a time. Each would add one more indirect call
	// per object.
	return nb.objs.Runs(func(run []record[T]) bool {
		for i := range run {
			if !yield(run[i].obj) {
				return false
			}
		}
		return true
	})
}

// Len returns the number of objects.
func (s *Snapshot[T]) Len() int { return s.n }

// NamespaceLen returns the number of objects in a namespace.
func (s *Snapshot[T]) NamespaceLen(namespace string) int {
	if nb, ok := s.bucket(namespace); ok {
		return nb.objs.Len()
	}
	return 0
}

// All iterates over all objects, without allocating per object.
func (s *Snapshot[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		s.buckets.Each(func(nb *bucket[T]) bool { return nb.each(yield) })
	}
}

// ByNamespace iterates over the objects of a namespace; the empty namespace has
// the cluster-scoped ones. No index is needed for it.
func (s *Snapshot[T]) ByNamespace(namespace string) iter.Seq[T] {
	return func(yield func(T) bool) {
		if nb, ok := s.bucket(namespace); ok {
			nb.each(yield)
		}
	}
}

// Namespaces iterates over the namespaces that have objects.
// The writer removes a namespace with its last object, so that none of them is empty.
func (s *Snapshot[T]) Namespaces() iter.Seq[string] {
	return func(yield func(string) bool) {
		s.buckets.Each(func(nb *bucket[T]) bool { return yield(nb.name) })
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
