package indexer

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// lookup leads from the hash of a key to the number of its object. It is an open-addressing
// hash table that many snapshots share: the writer changes it while readers search it, so
// what it says is a hint. A number counts if, in the snapshot of the reader, its key is the
// one that is asked for. What a table has too much does no harm then; what it lacks, since
// an object was removed after the snapshot was taken, is in the list of removals.
//
// A store of few objects has no table. See [Snapshot.scan].
//
// A cell is 0 if it was never used. Else it has the upper half of a hash and, below that,
// the number plus 1, which are read and written at once. A cell in use never moves, so a
// reader needs no lock.
type lookup struct {
	cells  []atomic.Uint64 // a power of two, at most four fifths in use
	shift  uint8           // takes a hash to its first cell
	chunks [][]latest      // of the numbers 0 to 4095, 4096 to 8191, …
	room   int             // for how many numbers there is room in chunks
	beside int             // and for how many in what the writer has beside the table
}

// latest has the keys and objects of eight numbers as of the last write. The answer for most
// readers is there, without a descent into the array of their snapshot. It is in a chunk with
// that of other numbers, which many tables share. Only a table with a single chunk may have one
// that is smaller; it is replaced when it grows.
//
// The writer stores the generation before it changes anything else. A reader checks it after it
// has read: if it is not greater than that of the snapshot, what was read is of that snapshot.
type latest struct {
	gen     atomic.Uint64
	keys    atomic.Pointer[keys]          // nil if no number is in use
	places  [neighbours / 4]atomic.Uint64 // of the keys, as in [places]
	objects [neighbours]unsafe.Pointer    // if an object is a plain pointer
}

// share gives readers other keys of a number and its neighbours. The writer has stored the generation.
func (l *latest) share(number uint32, keys *keys) {
	if l.keys.Load() != keys {
		l.keys.Store(keys)
		now := keys.places()
		for i := range now {
			l.places[i].Store(now[i])
		}
		return
	}
	// A batch that owns the keys has at most added the last one.
	if i := number % neighbours; keys != nil {
		word := &l.places[i/4]
		now := places{}
		now[i/4] = word.Load()
		if now.at(i) == 0 {
			now.set(i, keys.last)
			word.Store(now[i/4])
		}
	}
}

const (
	// neighbours is how many numbers share the node of their keys.
	neighbours = 8

	// chunked is how many numbers a chunk has: so many that the processor has the list of the
	// chunks of a million objects in its caches, and that no memory is left over beside one.
	chunked = 4096

	// minCells is the size of the smallest table that has objects.
	minCells = 8

	// deleted is a cell whose object was removed, but which others may have passed on the
	// way to theirs. As a number it is greater than any in use.
	deleted = uint64(1<<32 - 1)

	// unreadable is a generation that no snapshot reaches.
	unreadable = uint64(1<<64 - 1)
)

// emptyLookup stands for the table of a small store, whose numbers are all those of one
// node. The store gets a table when an object gets a number beyond them, and keeps it.
var emptyLookup = &lookup{cells: make([]atomic.Uint64, 1), shift: 64}

// cellOf returns the cell of an object whose key has the hash h.
func cellOf(h uint64, number uint32) uint64 { return h>>32<<32 | uint64(number) + 1 }

// search returns the number of the object with that key, whose hash is h, the object, and
// whether there is one.
func (s *Snapshot[T]) search(key *types.NamespacedName, h uint64) (number uint32, obj T, found bool) {
	number, object, none := s.lookup.search(key, h, s.gen)
	switch {
	case object != nil:
		return number, *(*T)(unsafe.Pointer(&object)), true
	case none:
		// The list is read after the table. The writer appends before it empties the
		// cell, so an object that has just been removed is in one of them.
		return s.searchRemoved(key, h)
	default:
		return s.searchArray(key, h)
	}
}

// search returns the number of the object with that key, whose hash is h, and the object, as
// of the batch gen. If the object is nil, none says that there is none in the table; else only
// the array of a snapshot can tell.
//
// Most look-ups end here, with the first cell that has their hash. What is rare is therefore
// left to the array: so little is done here that the processor begins the next look-up while
// this one waits for memory.
func (t *lookup) search(key *types.NamespacedName, h, gen uint64) (number uint32, object unsafe.Pointer, none bool) {
	cells := t.cells
	p, half := h>>(t.shift&63), h>>32
	c := cells[p&uint64(len(cells)-1)].Load()
	for ; c>>32 != half; c = cells[p&uint64(len(cells)-1)].Load() {
		if c == 0 {
			return 0, nil, true
		}
		p++
	}
	number = uint32(c) - 1
	if int(number/chunked) >= len(t.chunks) {
		return 0, nil, false
	}
	chunk, i := t.chunks[number/chunked], number%chunked/neighbours
	if int(i) >= len(chunk) {
		return 0, nil, false
	}
	l := &chunk[i]
	object = atomic.LoadPointer(&l.objects[number%neighbours])
	keys, at := l.keys.Load(), uint32(l.places[number%neighbours/4].Load()>>(number%4*16)&(1<<16-1))
	// The order matters: a batch has stored its generation before it stored what was read. Keys
	// that it may still be changing are not read.
	if l.gen.Load() > gen || at == 0 || !keys.is(at, key) {
		return 0, nil, false
	}
	return number, object, false
}

// searchArray is search with the keys and objects of the array.
func (s *Snapshot[T]) searchArray(key *types.NamespacedName, h uint64) (number uint32, obj T, found bool) {
	t := s.lookup
	mask := uint64(len(t.cells) - 1)
	for p := h >> (t.shift & 63); ; p++ {
		c := t.cells[p&mask].Load()
		if c == 0 {
			return s.searchRemoved(key, h) // after the table, as in search
		}
		if c>>32 != h>>32 {
			continue
		}
		number = uint32(c) - 1
		if obj, keys, used := s.objs.Find(number); used && keys.has(number, key) {
			return number, obj, true
		}
	}
}

// scan is search in a small store. It compares the keys one by one, and reads nothing but
// what belongs to the snapshot.
func (s *Snapshot[T]) scan(key *types.NamespacedName) (number uint32, obj T, found bool) {
	for number = range uint32(neighbours) {
		if o, keys, used := s.objs.Find(number); used && keys.has(number, key) {
			return number, o, true
		}
	}
	return 0, obj, false
}

// searchRemoved is search for what the table does not have: the objects that were removed
// after the snapshot was taken, or all of a small store.
func (s *Snapshot[T]) searchRemoved(key *types.NamespacedName, h uint64) (number uint32, obj T, found bool) {
	if s.lookup == emptyLookup {
		return s.scan(key)
	}
	if s.removed.next.Load() == nil {
		return 0, obj, false // as a rule, for a snapshot that is the current one
	}
	found = s.removed.find(uint32(h>>32), func(n uint32) bool {
		o, keys, used := s.objs.Find(n)
		if !used || !keys.has(n, key) {
			return false
		}
		number, obj = n, o
		return true
	})
	return number, obj, found
}

// sizeFor returns how many cells a table for n objects has: it is then between three
// eighths and three quarters full.
func sizeFor(n int) int { return max(minCells, 1<<bits.Len(uint(max(n, 1)*4/3))) }
