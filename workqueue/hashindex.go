package workqueue

// hashIndex finds the handle of a record (see slab) by the hash of what the record is
// about. It knows only hashes and handles, 8 bytes for each record: whether a record
// with the right hash is the right one is for the caller to see, with seek.
//
// It is an extendible hash table: a directory, addressed by the first bits of the hash,
// of small tables, addressed by the last bits. A full table is divided into two, and
// nothing else moves. So no insert takes long, however large the index is. When a table is
// divided whose bits address it alone in the directory, the directory doubles.
//
//	directory   00 ─▶ table, one bit       01 ─▶ the same
//	            10 ─▶ table, two bits      11 ─▶ table, two bits
//
// The zero value is an empty index.
type hashIndex struct {
	directory []*hashTable
	bits      uint // of a hash that address the directory
	n         int
}

// hashTable is a table with linear probing. Removing moves what follows back to where
// it belongs, so there are no tombstones.
type hashTable struct {
	slots []hashSlot // a power of two
	n     int
	bits  uint // that all hashes in the table have in common
}

// hashSlot is a hash and a handle; 0 is an empty slot, as no handle is 0.
type hashSlot uint64

func (s hashSlot) hash() uint32   { return uint32(s >> 32) }
func (s hashSlot) handle() uint32 { return uint32(s) }

const (
	hashSlotsMin = 8
	// hashSlotsMax is the size of a table that is divided when it is full. It takes two
	// pages of memory, which are copied within some microseconds.
	hashSlotsMax = 1024
	// hashBitsMax is how many bits may address the directory. With the ten that address
	// a table these are all there are.
	hashBitsMax = 22
	// hashSlotsLeast is how many records there must be for each place in the directory
	// before it doubles. There are five times as many, unless hashes have much in common.
	hashSlotsLeast = hashSlotsMax / 8
)

// fullFrom is from how many records on a table of that size has no room for another.
func fullFrom(slots int) int { return slots / 8 * 7 }

// table returns the table for a hash; the index must not be empty.
func (x *hashIndex) table(hash uint32) *hashTable {
	// For 0 bits the shift is by the whole width, which Go defines as 0.
	return x.directory[hash>>(32-x.bits)]
}

// hashCursor is a position in the search for a hash.
type hashCursor struct {
	slots []hashSlot
	pos   uint32
	hash  uint32
}

// seek begins a search.
func (x *hashIndex) seek(hash uint32) hashCursor {
	if x.n == 0 {
		return hashCursor{}
	}
	return hashCursor{slots: x.table(hash).slots, pos: hash, hash: hash}
}

// next returns the next handle with the hash, or 0 if there is none. Two things have the
// same hash about once in four billion.
func (c *hashCursor) next() uint32 {
	if len(c.slots) == 0 {
		return 0
	}
	mask := uint32(len(c.slots) - 1)
	for {
		s := c.slots[c.pos&mask]
		c.pos++
		if s == 0 {
			c.slots = nil
			return 0
		}
		if s.hash() == c.hash {
			return s.handle()
		}
	}
}

// insert puts in a handle that is not there.
func (x *hashIndex) insert(hash, handle uint32) {
	if x.directory == nil {
		x.directory = []*hashTable{{slots: make([]hashSlot, hashSlotsMin)}}
	}
	t := x.table(hash)
	// Once, as a rule. Not if all that is in the table goes to the same half.
	for t.n >= fullFrom(len(t.slots)) {
		if len(t.slots) >= hashSlotsMax && x.divisible(t) {
			x.divide(t)
		} else {
			t.grow()
		}
		t = x.table(hash)
	}
	t.insert(hashSlot(hash)<<32 | hashSlot(handle))
	x.n++
}

// remove takes out a handle that is there.
func (x *hashIndex) remove(hash, handle uint32) {
	x.table(hash).remove(hashSlot(hash)<<32 | hashSlot(handle))
	x.n--
}

// divisible reports whether a full table is to be divided. Otherwise it grows, so that
// many equal hashes, which nothing can divide, do not make the directory large.
func (x *hashIndex) divisible(t *hashTable) bool {
	return t.bits < x.bits || t.bits < hashBitsMax && x.n >= len(x.directory)*hashSlotsLeast
}

// divide replaces a table by two, which have one more bit in common each.
func (x *hashIndex) divide(t *hashTable) {
	if t.bits == x.bits {
		doubled := make([]*hashTable, 2*len(x.directory))
		for i, t := range x.directory {
			doubled[2*i], doubled[2*i+1] = t, t
		}
		x.directory = doubled
		x.bits++
	}
	var halves [2]*hashTable
	for i := range halves {
		halves[i] = &hashTable{slots: make([]hashSlot, len(t.slots)), bits: t.bits + 1}
	}
	var some uint32 // any hash in the table; all lead to the same part of the directory
	for _, s := range t.slots {
		if s != 0 {
			some = s.hash()
			halves[some>>(31-t.bits)&1].insert(s)
		}
	}
	// The part of the directory that leads to t: its first half gets one, its second the other.
	size := 1 << (x.bits - t.bits)
	first := int(some>>(32-x.bits)) &^ (size - 1)
	for i := range size {
		x.directory[first+i] = halves[i/(size/2)]
	}
}

// grow doubles a table.
func (t *hashTable) grow() {
	old := t.slots
	t.slots, t.n = make([]hashSlot, 2*len(old)), 0
	for _, s := range old {
		if s != 0 {
			t.insert(s)
		}
	}
}

// insert puts s into the first free slot from its own on; there must be one.
func (t *hashTable) insert(s hashSlot) {
	mask := uint32(len(t.slots) - 1)
	pos := s.hash() & mask
	for t.slots[pos] != 0 {
		pos = (pos + 1) & mask
	}
	t.slots[pos] = s
	t.n++
}

// remove takes out s, which must be in the table.
func (t *hashTable) remove(s hashSlot) {
	mask := uint32(len(t.slots) - 1)
	gap := s.hash() & mask
	for t.slots[gap] != s {
		gap = (gap + 1) & mask
	}
	// What follows without a gap moves into it, unless it would then be before its own
	// slot, where a search begins.
	for pos := (gap + 1) & mask; t.slots[pos] != 0; pos = (pos + 1) & mask {
		own := t.slots[pos].hash() & mask
		if (pos-own)&mask >= (pos-gap)&mask {
			t.slots[gap] = t.slots[pos]
			gap = pos
		}
	}
	t.slots[gap] = 0
	t.n--
}
