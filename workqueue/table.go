package workqueue

// table finds the entry of an item. It is a hash table that grows and shrinks by
// one bucket at a time (linear hashing), for three reasons that a Go map cannot
// serve at once: an Add that misses inserts where it has just looked, without a
// second look-up; the hash is computed before the queue's lock is taken; and no
// operation ever pays for moving a million entries while everybody else waits
// for the lock.
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

// tableBucket is one cache line. It holds the hashes beside the entries, so that
// looking for one item, or splitting a bucket, does not fetch the entries of
// others from memory: with many items, that is what an operation costs.
type tableBucket[T comparable] struct {
	entries [bucketSize]*entry[T] // nil: free
	hashes  [bucketSize]uint32
	more    *tableBucket[T] // if the slots do not suffice; kept when it becomes empty
	_       [8]byte
}

const (
	bucketSize  = 4
	perBucket   = 3  // entries per bucket above which the table grows
	segmentSize = 16 // buckets allocated at a time, a power of two
	// keptBuckets is to how few buckets the table shrinks: they are enough for the
	// entries that the free list keeps, and take 22 kB.
	keptBuckets = 352
)

type segment[T comparable] [segmentSize]tableBucket[T]

func (t *table[T]) at(b uint64) *tableBucket[T] { return &t.segments[b/segmentSize][b%segmentSize] }

// bucket returns the bucket for items with that hash.
func (t *table[T]) bucket(hash uint32) *tableBucket[T] {
	b := uint64(hash) & t.mask
	if b >= t.buckets {
		b &= t.mask >> 1
	}
	return t.at(b)
}

// find returns the entry of item, or nil.
func (t *table[T]) find(hash uint32, item *T) *entry[T] {
	if s := t.slot(hash, item); s != nil {
		return *s
	}
	return nil
}

// slot returns the place of item's entry, or nil. The place is valid until
// something is inserted or removed.
func (t *table[T]) slot(hash uint32, item *T) **entry[T] {
	if t.n == 0 {
		return nil
	}
	for b := t.bucket(hash); b != nil; b = b.more {
		for i, h := range &b.hashes {
			if h == hash {
				if e := b.entries[i]; e != nil && e.item == *item {
					return &b.entries[i]
				}
			}
		}
	}
	return nil
}

// findOrInsert returns the entry of item; a missing one comes from free.
func (t *table[T]) findOrInsert(hash uint32, item *T, free *freeList[T]) *entry[T] {
	if t.segments == nil {
		t.segments = append(t.segments, new(segment[T]))
		t.buckets, t.mask = segmentSize, 2*segmentSize-1
	}
	first := t.bucket(hash)
	for b := first; b != nil; b = b.more {
		for i, h := range &b.hashes {
			if h == hash {
				if e := b.entries[i]; e != nil && e.item == *item {
					return e
				}
			}
		}
	}
	e := free.get(t.n)
	e.item, e.hash = *item, hash
	first.put(e)
	t.n++
	if uint64(t.n) > perBucket*t.buckets {
		t.grow()
	}
	return e
}

// put stores e in a free slot.
func (b *tableBucket[T]) put(e *entry[T]) {
	for ; ; b = b.more {
		for i := range &b.entries {
			if b.entries[i] == nil {
				b.entries[i], b.hashes[i] = e, e.hash
				return
			}
		}
		if b.more == nil {
			b.more = new(tableBucket[T])
		}
	}
}

// remove takes e out of the table.
func (t *table[T]) remove(e *entry[T]) {
	for b := t.bucket(e.hash); b != nil; b = b.more {
		for i := range &b.entries {
			if b.entries[i] == e {
				t.clear(&b.entries[i])
				return
			}
		}
	}
}

// clear takes the entry at a place that is in use out of the table.
func (t *table[T]) clear(slot **entry[T]) {
	*slot = nil
	t.n--
	if t.buckets > keptBuckets && uint64(t.n) < t.buckets*perBucket/4 {
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
	from, to := t.at(b&(t.mask>>1)), t.at(b)
	old := *from
	*from = tableBucket[T]{}
	for o := &old; o != nil; o = o.more {
		for i, e := range &o.entries {
			switch {
			case e == nil:
			case uint64(o.hashes[i])&t.mask == b:
				to.put(e)
			default:
				from.put(e)
			}
		}
	}
	t.buckets++
	if t.buckets > t.mask {
		t.mask = 2*t.mask + 1
	}
}

// shrink is the reverse of grow, for four buckets at a time, so that the table
// shrinks faster than it can be emptied.
func (t *table[T]) shrink() {
	for range min(4, t.buckets-keptBuckets) {
		if t.buckets == t.mask/2+1 {
			t.mask >>= 1
		}
		t.buckets--
		b := t.buckets
		from, into := t.at(b), t.at(b&(t.mask>>1))
		for o := from; o != nil; o = o.more {
			for _, e := range &o.entries {
				if e != nil {
					into.put(e)
				}
			}
		}
		*from = tableBucket[T]{}
		if b%segmentSize == 0 {
			t.dropSegment()
		}
	}
}

// dropSegment frees the last segment, whose buckets are not in use.
func (t *table[T]) dropSegment() {
	last := len(t.segments) - 1
	t.segments[last] = nil
	t.segments = t.segments[:last]
	if cap(t.segments) > 64 && len(t.segments) < cap(t.segments)/4 {
		t.segments = append(make([]*segment[T], 0, 2*len(t.segments)), t.segments...)
	}
}
