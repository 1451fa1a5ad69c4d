package indexer

import (
	"slices"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
)

// bucket holds the numbers of the objects of one namespace. Objects are grouped like that
// because a namespace is the most common query: the grouping is the namespace index.
//
//	placed    0 ──▶ 17,  1 ──▶ 4,  2 ──▶ 230, …    each has a place, which it keeps
//	recent    231, 245, 19                         added last, without a place yet
//
// Most changes of a namespace are objects that are added behind the others. Many namespaces may
// get a few in one batch, and to copy the path to a place in each is what would take longest.
type bucket struct {
	name   string
	gen    uint64
	placed *placedNumbers // nil if there are none
	// recent grows in place: a batch stores behind the end that earlier versions of the bucket
	// have, where no reader of theirs looks. What a batch that was discarded has stored there is
	// overwritten: nothing that outlives a batch leads to its buckets.
	recent []uint32
}

// placedNumbers has numbers by their places. It is apart from the bucket, which is copied more often.
type placedNumbers struct {
	gen uint64
	pmap.Array[uint32, struct{}]
}

const (
	// maxRecent is how many numbers have no place. A removal has to look for those.
	maxRecent = 32

	// unplaced stands for the place of a number in recent.
	unplaced = uint32(1<<32 - 1)
)

// len returns the number of objects.
func (nb *bucket) len() int {
	if nb.placed == nil {
		return len(nb.recent)
	}
	return nb.placed.Len() + len(nb.recent)
}

// runs calls yield with all numbers, as many at a time as an array does, until it returns false.
// The slices must not be changed.
func (nb *bucket) runs(yield func([]uint32) bool) {
	if nb.placed != nil && !nb.placed.Runs(yield) {
		return
	}
	for run := range slices.Chunk(nb.recent, 1<<pmap.NearBits) {
		if !yield(run) {
			return
		}
	}
}

// add puts a number that is new into a bucket that belongs to the batch gen.
func (nb *bucket) add(w *lookupWriter, gen uint64, number uint32) {
	switch n := len(nb.recent); {
	case n == maxRecent:
		placed := nb.ownPlaced(gen)
		for _, n := range nb.recent {
			place, _ := placed.Add(gen, n)
			w.move(n, place)
		}
		nb.recent = newNumbers(maxRecent)
	case n == cap(nb.recent):
		nb.recent = append(newNumbers(min(2*n, maxRecent)), nb.recent...)
	}
	nb.recent = append(nb.recent, number)
}

// remove takes out a number that is there. The bucket belongs to the batch gen.
func (nb *bucket) remove(w *lookupWriter, gen uint64, number uint32) {
	if place := w.places[number]; place != unplaced {
		nb.ownPlaced(gen).Remove(gen, place)
		return
	}
	// Earlier versions have the same memory, so the others cannot be moved up in it.
	i := slices.Index(nb.recent, number)
	rest := append(newNumbers(len(nb.recent)), nb.recent[:i]...)
	nb.recent = append(rest, nb.recent[i+1:]...)
}

// ownPlaced returns the numbers with places for the batch gen to edit.
func (nb *bucket) ownPlaced(gen uint64) *placedNumbers {
	switch {
	case nb.placed == nil:
		nb.placed = &placedNumbers{gen: gen}
	case nb.placed.gen != gen:
		nb.placed = &placedNumbers{gen, nb.placed.Array}
	}
	return nb.placed
}

// bucket returns the namespace. Equal hashes of two names are possible, so the name
// decides.
func (s *Snapshot[T]) bucket(namespace string) (*bucket, bool) {
	return s.buckets.Find(s.shared.hasher.str(namespace), func(nb *bucket) bool { return nb.name == namespace })
}

// editBucket returns the namespace for the batch to edit, and adds it if there is none.
func (s *Snapshot[T]) editBucket(name string, w *lookupWriter) *bucket {
	if nb := w.edited.get(name); nb != nil && nb.gen == s.gen && nb.name == name {
		return nb
	}
	h := s.shared.hasher.str(name)
	at := s.buckets.Edit(s.gen, h, func(nb *bucket) bool { return nb.name == name })
	if at == nil {
		nb := &bucket{name: name, gen: s.gen}
		s.buckets.Put(s.gen, h, nb, never, func(o *bucket) uint64 { return s.shared.hasher.str(o.name) })
		w.edited.set(name, nb)
		return nb
	}
	// Edit has copied the node, not what it points to: the bucket has a generation of
	// its own, and so have its numbers.
	if nb := *at; nb.gen != s.gen {
		next := *nb
		next.gen = s.gen
		*at = &next
	}
	w.edited.set(name, *at)
	return *at
}

// removeBucket removes a namespace that is empty: Namespaces yields each bucket, and a cluster
// with many short-lived namespaces would collect them.
func (s *Snapshot[T]) removeBucket(nb *bucket, w *lookupWriter) {
	s.buckets.Remove(s.gen, s.shared.hasher.str(nb.name), func(o *bucket) bool { return o == nb })
	w.edited.set(nb.name, nil)
}

// bucketCache has some of the buckets that were edited last, for the next object of the same
// namespace. A bucket counts if its generation is that of the batch: no other version is as new.
type bucketCache [32]*bucket

// get returns what there is in the place of a namespace, which may be another one. A nil cache,
// which is that of a small store, has nothing.
func (c *bucketCache) get(name string) *bucket {
	if c == nil {
		return nil
	}
	return c[place(name)]
}

// set puts a bucket, or nil, into the place of a namespace.
func (c *bucketCache) set(name string, nb *bucket) {
	if c != nil {
		c[place(name)] = nb
	}
}

// place returns where in the cache a namespace may be. The ends of names differ most.
func place(name string) (h uint32) {
	for i := max(0, len(name)-3); i < len(name); i++ {
		h = h*11 + uint32(name[i])
	}
	return h % uint32(len(bucketCache{}))
}
