package indexer

import (
	"iter"
	"math/bits"

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
	objs    pmap.Array[stored[T]]
	buckets pmap.Trie[*bucket]
	// Copied before the first write of a batch, see Batch.ownTables. There are few
	// indexes, and a search by name is linear.
	tables []table[T] // in the order of registration
	rv     string
	gen    uint64 // of the batch that made it
}

// stored is an object with the signature of its index values, see Batch.sign.
type stored[T Object] struct {
	obj       T
	signature uint64
}

// bucket holds the numbers of the objects of one namespace, by name. Objects are grouped
// like that because a namespace is the most common query: the grouping is the
// namespace index, and it costs nothing.
type bucket struct {
	name    string
	gen     uint64
	records pmap.Trie[record]
}

// record is the number of an object with its name. The name is in the object too; but
// looking there for it would cost a look-up one more cache miss, which is most of what a
// look-up costs.
type record struct {
	name   string
	number uint32
	hash   uint32 // the upper half of the hash of the name, where there would be padding
}

// folded returns the hash under which a record is stored, of which h has the upper half.
//
// A trie takes the tag of a value from the lowest bits, so some of those that it needs last
// are repeated there. Half a hash is enough: of a million names in one namespace about a
// hundred pairs share it, and what shares a hash is compared by name.
func folded(h uint64) uint64 { return h>>32<<32 | h>>31&0x1fe }

// hashed returns the hash under which the record is stored. A trie asks for it when it
// divides a leaf. To compute it again would load each name.
func (r record) hashed() uint64 { return folded(uint64(r.hash) << 32) }

// Get returns the object with that key. It takes no lock and allocates nothing.
func (s *Snapshot[T]) Get(key types.NamespacedName) (T, bool) {
	if r, ok := s.record(key); ok {
		return s.objs.Get(r.number).obj, true
	}
	var zero T
	return zero, false
}

// record returns the record of the object with that key.
func (s *Snapshot[T]) record(key types.NamespacedName) (record, bool) {
	nb, ok := s.bucket(key.Namespace)
	if !ok {
		return record{}, false
	}
	return nb.get(s.shared.hasher.record(key.Name), key.Name)
}

// bucket returns the namespace. Equal hashes of two names are possible, so the name
// decides.
func (s *Snapshot[T]) bucket(namespace string) (*bucket, bool) {
	return s.bucketAt(s.shared.hasher.str(namespace), namespace)
}

// bucketAt returns the namespace, of whose name h is the hash.
func (s *Snapshot[T]) bucketAt(h uint64, namespace string) (*bucket, bool) {
	near, mask, all := s.buckets.Near(h)
	if all {
		return s.buckets.Find(h, func(nb *bucket) bool { return nb.name == namespace })
	}
	for ; mask != 0; mask &= mask - 1 {
		if nb := near[bits.TrailingZeros64(mask)>>3]; nb.name == namespace {
			return nb, true
		}
	}
	return nil, false
}

// get returns the record with that name, of which h is the hash.
func (nb *bucket) get(h uint64, name string) (record, bool) {
	near, mask, all := nb.records.Near(h)
	if all {
		return nb.records.Find(h, func(r record) bool { return r.name == name })
	}
	for ; mask != 0; mask &= mask - 1 {
		if r := &near[bits.TrailingZeros64(mask)>>3]; r.hash == uint32(h>>32) && r.name == name {
			return *r, true
		}
	}
	return record{}, false
}

// each calls yield for every object of the namespace until yield returns false.
func (s *Snapshot[T]) each(nb *bucket, yield func(T) bool) {
	var numbers [gathered]uint32
	n := 0
	// Runs hands out a leaf's values at a time. Each would add one more indirect call
	// per object.
	more := nb.records.Runs(func(run []record) bool {
		for i := range run {
			numbers[n] = run[i].number
			if n++; n == gathered {
				if n = 0; !s.yieldAll(numbers[:], yield) {
					return false
				}
			}
		}
		return true
	})
	if more {
		s.yieldAll(numbers[:n], yield)
	}
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
			objs[i] = s.objs.Get(n).obj
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
		return nb.records.Len()
	}
	return 0
}

// All iterates over all objects, without allocating per object.
func (s *Snapshot[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		s.objs.Runs(func(run []stored[T]) bool {
			for i := range run {
				if !yield(run[i].obj) {
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
