package workqueue

import "hash/maphash"

// hashSeed is the same for queues and limiters, so that they can pass each other the hash of
// an item.
var hashSeed = maphash.MakeSeed()

// hashOf returns the hash of an item. It panics if the item cannot be compared, as a map would.
func hashOf[T comparable](item T) uint32 {
	hash := maphash.Comparable(hashSeed, item)
	return uint32(hash>>32) ^ uint32(hash)
}

// hashIndex finds the handle of a record (see slab) by the hash of what the record is
// about. It knows only hashes and handles, 8 bytes for each record: whether a record
// with the right hash is the right one is for the caller to see, with find.
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
	spare     []hashGroup // of the table that was divided last, for the next one
}

// hashTable is a table of groups, see hashGroup.
type hashTable struct {
	groups []hashGroup // a power of two
	n      int
	bits   uint // that all hashes in the table have in common
}

// hashSlot is a hash and a handle; 0 is an empty slot, as no handle is 0.
type hashSlot uint64

func (s hashSlot) hash() uint32   { return uint32(s >> 32) }
func (s hashSlot) handle() uint32 { return uint32(s) }

const (
	// hashGroupsMax is the size of a table that is divided when it is full. It takes two
	// pages of memory, which are copied within some microseconds.
	hashGroupsMax = 128
	// hashBitsMax is how many bits may address the directory. With those that address
	// a group and a tag these are all there are.
	hashBitsMax = 22
	// hashSlotsLeast is how many records there must be for each place in the directory
	// before it doubles. There are five times as many, unless hashes have much in common.
	hashSlotsLeast = hashGroupsMax
)

// fullFrom is from how many records on a table of so many groups has no room for another: 13 of
// 14 places, as a search in a table that is entirely full takes long.
func fullFrom(groups int) int {
	if groups == 1 {
		return hashGroupSlots
	}
	return groups / 2 * (2*hashGroupSlots - 1)
}

// table returns the table for a hash; the index must not be empty.
func (x *hashIndex) table(hash uint32) *hashTable {
	// For 0 bits the shift is by the whole width, which Go defines as 0.
	return x.directory[hash>>(32-x.bits)]
}

// find returns a handle with the hash: the first one, or the one that follows after. It is 0
// if there is none. Two things have the same hash about once in four billion.
func (x *hashIndex) find(hash, after uint32) uint32 {
	if x.n == 0 {
		return 0
	}
	groups := x.table(hash).groups
	mask, tags := uint32(len(groups)-1), repeatTag(hash)
	// Each group may have been passed, though not all are full any more.
	pos, step := hash, hashStep(hash)
	for range groups {
		g := &groups[pos&mask]
		for found := g.matches(tags); found != 0; found &= found - 1 {
			s := g.slots[hashSlotOf(found)]
			switch {
			case s.hash() != hash:
			case after == 0:
				return s.handle()
			case after == s.handle():
				after = 0
			}
		}
		if !g.passed() {
			break
		}
		pos += step
	}
	return 0
}

// insert puts in a handle that is not there.
func (x *hashIndex) insert(hash, handle uint32) {
	if x.directory == nil {
		x.directory = []*hashTable{{groups: make([]hashGroup, 1)}}
	}
	t := x.table(hash)
	// Once, as a rule. Not if all that is in the table goes to the same half.
	for t.n >= fullFrom(len(t.groups)) {
		if len(t.groups) >= hashGroupsMax && x.divisible(t) {
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
	reused := x.spare
	if len(reused) == len(t.groups) {
		clear(reused)
	} else {
		reused = make([]hashGroup, len(t.groups))
	}
	x.spare = t.groups
	halves := [2]*hashTable{
		{groups: reused, bits: t.bits + 1},
		{groups: make([]hashGroup, len(t.groups)), bits: t.bits + 1},
	}
	var some uint32 // any hash in the table; all lead to the same part of the directory
	for s := range t.all {
		some = s.hash()
		halves[some>>(31-t.bits)&1].insert(s)
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
	old := *t
	t.groups, t.n = make([]hashGroup, 2*len(old.groups)), 0
	for s := range old.all {
		t.insert(s)
	}
}

// all yields what is in the table.
func (t *hashTable) all(yield func(s hashSlot) bool) {
	for i := range t.groups {
		for _, s := range t.groups[i].slots {
			if s != 0 && !yield(s) {
				return
			}
		}
	}
}

// insert puts s into the first group on its way that has room; there must be one.
func (t *hashTable) insert(s hashSlot) {
	mask := uint32(len(t.groups) - 1)
	for pos, step := s.hash(), hashStep(s.hash()); ; pos += step {
		if t.groups[pos&mask].insert(s) {
			t.n++
			return
		}
	}
}

// remove takes out s, which must be in the table.
func (t *hashTable) remove(s hashSlot) {
	mask := uint32(len(t.groups) - 1)
	for pos, step := s.hash(), hashStep(s.hash()); ; pos += step {
		if t.groups[pos&mask].remove(s) {
			t.n--
			return
		}
	}
}
