package workqueue

// table finds the entry of an item. It is a hash table of linked entries that
// grows and shrinks by one bucket at a time (linear hashing), for three
// reasons that a Go map cannot serve at once: an Add that misses can insert
// where it has just looked, without a second look-up; the hash is computed
// before the queue's lock is taken; and no operation ever pays for moving a
// million entries while everybody else waits for the lock.
//
//	bucket:   0    1    2  │  3   │  4    5  (6 ...)
//	          └── split ───┘      └─ new ──┘  comes next: bucket 2 splits into 2 and 6
//
// Buckets below the split point are addressed with one more bit of the hash
// than those above it.
type table[T comparable] struct {
	segments []*segment[T]
	buckets  uint64 // in use, at least segmentSize once anything was added
	mask     uint64 // addresses the doubled table that is being grown into
	n        int    // entries
}

// segmentSize is the number of buckets allocated at a time, a power of two.
const segmentSize = 64

type segment[T comparable] [segmentSize]*entry[T]

// bucket returns the head of the chain that holds the items with that hash.
func (t *table[T]) bucket(hash uint32) **entry[T] {
	b := uint64(hash) & t.mask
	if b >= t.buckets {
		b &= t.mask >> 1
	}
	return &t.segments[b/segmentSize][b%segmentSize]
}

// find returns the entry of item, or nil.
func (t *table[T]) find(hash uint32, item T) *entry[T] {
	if t.n == 0 {
		return nil
	}
	for e := *t.bucket(hash); e != nil; e = e.chain {
		if e.hash == hash && e.item == item {
			return e
		}
	}
	return nil
}

// findOrInsert returns the entry of item; a missing one comes from free.
func (t *table[T]) findOrInsert(hash uint32, item T, free *freeList[T]) *entry[T] {
	if t.segments == nil {
		t.segments = append(t.segments, new(segment[T]))
		t.buckets, t.mask = segmentSize, 2*segmentSize-1
	}
	head := t.bucket(hash)
	for e := *head; e != nil; e = e.chain {
		if e.hash == hash && e.item == item {
			return e
		}
	}
	e := free.get()
	e.item, e.hash, e.chain = item, hash, *head
	*head = e
	t.n++
	if uint64(t.n) > t.buckets {
		t.grow()
	}
	return e
}

// remove takes e out of the table.
func (t *table[T]) remove(e *entry[T]) {
	p := t.bucket(e.hash)
	for *p != e {
		p = &(*p).chain
	}
	*p = e.chain
	e.chain = nil
	t.n--
	// Two at a time, so that a queue being emptied shrinks as fast as it empties.
	for i := 0; i < 2 && t.buckets > segmentSize && t.buckets > 2*uint64(t.n); i++ {
		t.shrink()
	}
}

// grow adds one bucket and moves its share of entries there from the bucket
// that has stood in for it.
func (t *table[T]) grow() {
	b := t.buckets
	if b%segmentSize == 0 {
		t.segments = append(t.segments, new(segment[T]))
	}
	from := b & (t.mask >> 1)
	to := &t.segments[b/segmentSize][b%segmentSize]
	p := &t.segments[from/segmentSize][from%segmentSize]
	for e := *p; e != nil; e = *p {
		if uint64(e.hash)&t.mask != b {
			p = &e.chain
			continue
		}
		*p = e.chain
		e.chain, *to = *to, e
	}
	t.buckets++
	if t.buckets > t.mask {
		t.mask = 2*t.mask + 1
	}
}

// shrink is the reverse of grow.
func (t *table[T]) shrink() {
	if t.buckets == t.mask/2+1 {
		t.mask >>= 1
	}
	t.buckets--
	b := t.buckets
	from := &t.segments[b/segmentSize][b%segmentSize]
	into := b & (t.mask >> 1)
	p := &t.segments[into/segmentSize][into%segmentSize]
	for *p != nil {
		p = &(*p).chain
	}
	*p, *from = *from, nil
	if b%segmentSize == 0 {
		last := len(t.segments) - 1
		t.segments[last] = nil
		t.segments = t.segments[:last]
		if cap(t.segments) > 64 && len(t.segments) < cap(t.segments)/4 {
			t.segments = append(make([]*segment[T], 0, 2*len(t.segments)), t.segments...)
		}
	}
}

// all calls f for every entry, in no particular order.
func (t *table[T]) all(f func(*entry[T])) {
	for _, s := range t.segments {
		for _, e := range s {
			for e != nil {
				next := e.chain // f may remove e
				f(e)
				e = next
			}
		}
	}
}
