package indexer

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"
)

// lookupWriter changes the table of an indexer. It belongs to the goroutine that holds the
// writer lock.
//
// The table has exactly the objects of the batch that is running, or else of the published
// snapshot. That of a small store has none, and stays as it is.
type lookupWriter struct {
	*lookup          // what the next snapshot gets
	used    int      // cells that are not 0
	live    int      // cells that have a number
	removed *removal // the last one, whether that batch was committed or not
	gone    int      // removals since the table was made
	gen     uint64   // of the last batch, likewise
	direct  bool     // objects are plain pointers, so the table can have them

	// What only the writer needs to know of each number: the place among the numbers of the
	// namespace, and the signature of the index values, or 0 if that is not known.
	places     []uint32
	signatures []uint64
	// undo has what the places were that the batch has changed, for Discard.
	undo   []placed
	edited *bucketCache // nil in a small store
}

// goneLeast is how many removals there are at least before they are a reason for a new table, which
// takes longer to make than an object to remove.
const goneLeast = 1024

// placed is a number and its place.
type placed struct{ number, place uint32 }

// small reports whether the store has no table.
func (w *lookupWriter) small() bool { return w.lookup == emptyLookup }

// place notes that an object of a small store has no place yet.
func (w *lookupWriter) place(number uint32) {
	if w.places == nil {
		w.places = make([]uint32, neighbours)
	}
	w.places[number] = unplaced
}

// move gives a number another place.
func (w *lookupWriter) move(number, place uint32) {
	w.undo = append(w.undo, placed{number, w.places[number]})
	w.places[number] = place
}

// drop makes the store small again, as it was before the batch that is discarded.
func (w *lookupWriter) drop() {
	for i := range w.chunks {
		retire(w.chunks[i]) // a state that the batch has frozen may still be read
	}
	w.lookup, w.used, w.live, w.edited = emptyLookup, 0, 0, nil
	// It may have been made smaller than that of a small store, too.
	if w.places != nil && len(w.places) != neighbours {
		w.resizePlaces(neighbours)
	}
}

// likely returns the number of the object whose key has the hash h, if there is one and the
// first cell has it, or any other number.
func (w *lookupWriter) likely(h uint64) uint32 {
	c := w.cells[h>>(w.shift&63)&uint64(len(w.cells)-1)].Load()
	if c>>32 != h>>32 {
		return uint32(deleted) // which no object has: a new key is not worth a read of another's leaf
	}
	return uint32(c) - 1
}

// add puts an object into the table, of which the array has the keys.
func (w *lookupWriter) add(h, gen uint64, number, place uint32, keys *keys, object unsafe.Pointer) {
	if (w.used+1)*5 > len(w.cells)*4 {
		w.resize(w.live + 1)
	}
	l := w.change(gen, number)
	l.share(number, keys)
	atomic.StorePointer(&l.objects[number%neighbours], object)
	w.places[number] = place
	w.put(cellOf(h, number))
}

// put stores c in the first cell that is free for it.
func (w *lookupWriter) put(c uint64) {
	mask := uint64(len(w.cells) - 1)
	for p := c >> (w.shift & 63); ; p++ {
		at := &w.cells[p&mask]
		switch at.Load() {
		case 0:
			w.used++
		case deleted:
		default:
			continue
		}
		w.live++
		at.Store(c)
		return
	}
}

// remove takes an object out of the table, of which the array has the keys now. Its
// removal must be in the list before.
func (w *lookupWriter) remove(h, gen uint64, number uint32, keys *keys) {
	if w.small() {
		return
	}
	l := w.change(gen, number)
	l.share(number, keys)
	atomic.StorePointer(&l.objects[number%neighbours], nil) // no snapshot needs it there
	mask := uint64(len(w.cells) - 1)
	c := cellOf(h, number)
	p := c >> (w.shift & 63)
	for w.cells[p&mask].Load() != c {
		p++
	}
	w.live--
	if w.cells[(p+1)&mask].Load() != 0 {
		w.cells[p&mask].Store(deleted)
	} else {
		// The search for an object behind this cell would end at the next one. So there is
		// none, and the same holds for deleted cells before it.
		for w.cells[p&mask].Store(0); w.cells[(p-1)&mask].Load() == deleted; w.cells[p&mask].Store(0) {
			p--
			w.used--
		}
		w.used--
	}
	// The last few objects may have high numbers, so that what leads from numbers is still
	// large when the table is as small as can be. And a new table has a new list of removals.
	if len(w.cells) > minCells && w.live < len(w.cells)/8 || w.live < minCells && w.room > minCells*neighbours ||
		w.gone > max(goneLeast, 2*w.live) {
		w.resize(w.live)
	}
}

// resize makes a table for n objects and copies what is in use. Readers go on with the old
// one until they load the next snapshot. Nothing is taken out of that any more, so its list of
// removals ends here: it does not grow for as long as a snapshot is kept.
//
// Cells are copied about in the order of their hashes, so both tables are read and written
// from one end to the other: no object and no name is looked at.
func (w *lookupWriter) resize(n int) {
	old := w.cells
	size := sizeFor(n)
	w.lookup = &lookup{cells: make([]atomic.Uint64, size), shift: uint8(64 - bits.TrailingZeros(uint(size))), chunks: w.chunks, room: w.room, beside: w.beside}
	w.removed, w.gone = &removal{}, 0
	w.live = 0
	numbers := 0 // all in use are less
	// No reader has the new cells yet, so they can be stored without a barrier each.
	cells, mask := unsafe.Slice((*uint64)(unsafe.Pointer(&w.cells[0])), size), uint64(size-1)
	for i := range old {
		if c := old[i].Load(); c != 0 && c != deleted {
			p := c >> (w.shift & 63) & mask
			for cells[p] != 0 {
				p = (p + 1) & mask
			}
			cells[p] = c
			w.live++
			numbers = max(numbers, int(uint32(c)))
		}
	}
	w.used = w.live
	if numbers < w.room/4 {
		w.cut(numbers)
	}
}

// change returns what readers see of a number and its neighbours, for the batch gen to
// change. After it, no reader of an older snapshot looks there.
func (w *lookupWriter) change(gen uint64, number uint32) *latest {
	if int(number) >= w.room {
		w.extend(number)
	}
	l := w.latest(number)
	if !w.direct {
		gen = unreadable
	}
	if l.gen.Load() != gen { // a batch that adds objects stores into the same groups again and again
		l.gen.Store(gen)
	}
	return l
}

// extend makes room for a number.
func (w *lookupWriter) extend(number uint32) {
	next := *w.lookup
	if int(number) < chunked {
		// To twice the size, as the numbers that there are have to be copied.
		next.room = min(roundUp(max(int(number)+1, w.room*2), neighbours), chunked)
	} else {
		next.room = roundUp(int(number)+1, chunked)
	}
	if len(next.chunks) < 2 { // it may have one that is smaller
		next.chunks = [][]latest{w.first(min(next.room, chunked))}
	}
	chunks := make([][]latest, roundUp(next.room, chunked)/chunked)
	for i := copy(chunks, next.chunks); i < len(chunks); i++ {
		chunks[i] = newChunk(chunked)
	}
	next.chunks = chunks
	if next.beside = len(w.places); next.beside < next.room {
		next.beside = max(next.room, next.beside+next.beside/8)
		w.resizePlaces(next.beside)
	}
	w.lookup = &next
}

// cut makes the tables by number smaller. All numbers in use are less than numbers.
func (w *lookupWriter) cut(numbers int) {
	next := *w.lookup
	next.room = roundUp(numbers, neighbours)
	if numbers > chunked {
		// What is left out has no keys and objects any more, so older tables may go on.
		next.room = roundUp(numbers, chunked)
		next.chunks = resized(w.chunks, next.room/chunked)
	} else {
		next.chunks = [][]latest{w.first(next.room)}
	}
	next.beside = next.room
	w.resizePlaces(next.beside)
	w.lookup = &next
}

// roundUp returns the first multiple of unit, which is a power of two, from n on.
func roundUp(n, unit int) int { return (n + unit - 1) &^ (unit - 1) }

// newChunk returns a chunk of so many numbers.
func newChunk(numbers int) []latest { return make([]latest, numbers/neighbours) }

// first returns the first chunk with another size, and retires what it was.
func (w *lookupWriter) first(numbers int) []latest {
	next := newChunk(numbers)
	if len(w.chunks) == 0 {
		return next
	}
	old := w.chunks[0]
	if len(old) == len(next) {
		return old
	}
	copy(next, old) // which only the writer changes, and next is not shared yet
	retire(old)
	return next
}

// retire drops the keys and objects of a chunk that is not in use any more. Snapshots may keep
// it for long, and it must not keep in memory what is newer. They read their arrays from here on.
func retire(chunk []latest) {
	for i := range chunk {
		l := &chunk[i]
		l.gen.Store(unreadable)
		l.keys.Store(nil)
		for j := range l.objects {
			if l.objects[j] != nil {
				atomic.StorePointer(&l.objects[j], nil)
			}
		}
	}
}

// resizePlaces makes room for what only the writer needs of so many numbers.
func (w *lookupWriter) resizePlaces(numbers int) {
	w.places = resized(w.places, numbers)
	if w.signatures != nil {
		w.signatures = resized(w.signatures, numbers)
	}
}

// resized returns a copy of s with n elements.
func resized[E any](s []E, n int) []E {
	c := make([]E, n)
	copy(c, s)
	return c
}

// latest returns what the table has of a number and its neighbours, for which there must be room.
func (w *lookupWriter) latest(number uint32) *latest {
	return &w.chunks[number/chunked][number%chunked/neighbours]
}

// set stores what the object with that number is now.
func (w *lookupWriter) set(gen uint64, number uint32, object unsafe.Pointer) {
	if w.small() {
		return
	}
	atomic.StorePointer(&w.change(gen, number).objects[number%neighbours], object)
}

// sign stores a signature, and returns what it was before.
func (w *lookupWriter) sign(number uint32, signature uint64) (was uint64) {
	if w.signatures == nil {
		w.signatures = make([]uint64, len(w.places))
	}
	was, w.signatures[number] = w.signatures[number], signature
	return was
}

// signature returns that of a number.
func (w *lookupWriter) signature(number uint32) uint64 {
	if w.signatures == nil {
		return 0
	}
	return w.signatures[number]
}

// unsign forgets the signature of a number.
func (w *lookupWriter) unsign(number uint32) {
	if w.signatures != nil {
		w.signatures[number] = 0
	}
}

// log appends the removal of an object to the list, which a small store does not need.
func (w *lookupWriter) log(h uint64, number uint32) {
	w.undo = append(w.undo, placed{number, w.places[number]})
	if w.small() {
		return
	}
	r := &removal{cell: cellOf(h, number)}
	w.removed.next.Store(r)
	w.removed = r
	w.gone++
}

// ended releases what was needed until the end of the batch gen.
func (w *lookupWriter) ended(gen uint64) {
	const keep = 1024
	w.gen = gen
	if w.undo = w.undo[:0]; cap(w.undo) > keep {
		w.undo = nil
	}
}

// restorePlaces undoes what the batch did to places, latest first: a number may have been
// given to several objects.
func (w *lookupWriter) restorePlaces() {
	for _, p := range slices.Backward(w.undo) {
		if int(p.number) < len(w.places) {
			w.places[p.number] = p.place
		}
	}
}
