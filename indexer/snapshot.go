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
	// the copy. All fields are therefore constant once the pointer is in Indexer.current.

	shared *shared
	// objects has the objects by number. An object keeps its number until it is deleted, so
	// an update changes nothing but this array, unless the values of an index change.
	objects pmap.Array[record[T]]
	// numbers leads from keys to numbers.
	numbers pmap.Set[keyNumber]
	// namespaces is an index that is always there.
	namespaces groups[string]
	// tables are the indexes, in the order of registration. There are few, and a search by
	// name is linear.
	tables []table[T]
	rv     string
}

// record is an object and the key under which it is stored. What is done to the object later
// does not change that.
type record[T Object] struct {
	key types.NamespacedName
	obj T
}

// keyNumber leads from the hash of a key to the number of an object, whose record has the key.
type keyNumber struct{ hash, number uint32 }

// Hash implements [pmap.Element].
func (k keyNumber) Hash() uint32 { return k.hash }

// LeafCap implements [pmap.Element].
func (keyNumber) LeafCap() int { return 32 }

// lookup returns the record with that key and where it is. If there is none, that is nil and
// no more than the hash.
func (s *Snapshot[T]) lookup(key types.NamespacedName) (*record[T], keyNumber) {
	at := keyNumber{hash: hash(s.shared, key)}
	for _, k := range s.numbers.Find(at.hash) {
		if k.hash != at.hash {
			continue
		}
		if r := s.objects.Get(k.number); r.key == key {
			return r, k
		}
	}
	return nil, at
}

// Get returns the object with that key. It takes no lock and allocates nothing.
func (s *Snapshot[T]) Get(key types.NamespacedName) (obj T, ok bool) {
	if r, _ := s.lookup(key); r != nil {
		return r.obj, true
	}
	return obj, false
}

// Len returns the number of objects.
func (s *Snapshot[T]) Len() int { return s.objects.Len() }

// All iterates over all objects, without allocating per object.
func (s *Snapshot[T]) All() iter.Seq[T] { return objectsOf(s.records()) }

// ByNamespace iterates over the objects of a namespace; the empty namespace has
// the cluster-scoped ones. No index is needed for it.
func (s *Snapshot[T]) ByNamespace(namespace string) iter.Seq[T] {
	return objectsOf(s.recordsOf(s.namespaces.numbers(s.shared, namespace)))
}

// NamespaceLen returns the number of objects in a namespace.
func (s *Snapshot[T]) NamespaceLen(namespace string) int {
	return s.namespaces.numbers(s.shared, namespace).Len()
}

// Namespaces iterates over the namespaces that have objects.
func (s *Snapshot[T]) Namespaces() iter.Seq[string] { return s.namespaces.values() }

// records iterates over all records.
func (s *Snapshot[T]) records() iter.Seq[*record[T]] {
	return func(yield func(*record[T]) bool) {
		s.objects.All()(func(_ uint32, r *record[T]) bool { return yield(r) })
	}
}

// recordsOf iterates over the records with these numbers.
func (s *Snapshot[T]) recordsOf(numbers *pmap.Set[number]) iter.Seq[*record[T]] {
	return func(yield func(*record[T]) bool) {
		numbers.All()(func(n number) bool { return yield(s.objects.Get(uint32(n))) })
	}
}

// objectsOf iterates over the objects of records.
func objectsOf[T Object](records iter.Seq[*record[T]]) iter.Seq[T] {
	return func(yield func(T) bool) {
		records(func(r *record[T]) bool { return yield(r.obj) })
	}
}

// ResourceVersion returns the resourceVersion of the collection, as the writer set
// it; empty before that. See [Batch.SetResourceVersion].
func (s *Snapshot[T]) ResourceVersion() string { return s.rv }

// find returns the position of the index of that name, or -1.
func (s *Snapshot[T]) find(name string) int {
	for i, t := range s.tables {
		if t.definition().Name() == name {
			return i
		}
	}
	return -1
}
