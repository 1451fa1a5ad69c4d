package workqueue

import "math/bits"

// hashGroup is seven slots of a hashTable, and what a search needs to know of them in one
// word. It takes 64 bytes, one line of a cache, and most searches look at one group.
//
// A slot belongs to the group that the last bits of its hash address, or, if that is full,
// to the next one that has room. Which group is next depends on the hash, so that full
// groups do not fill their neighbours. A group counts the slots that have passed it
// since it was full. A search ends at a group that none has passed, and removing leaves nothing
// behind that a search would stumble over.
type hashGroup struct {
	// state has a byte for each slot, its tag, or 0 if the slot is empty, and in the last
	// byte the number of slots that have passed.
	state uint64
	slots [hashGroupSlots]hashSlot
}

const (
	hashGroupSlots = 7

	tagBytes   = 0x00_01_01_01_01_01_01_01 // the lowest bit of each tag
	tagUsed    = tagBytes << 7             // the highest, which is set in all tags
	passedOne  = 1 << 56
	passedMost = 255 // is not a number any more, and remains until the table grows
)

// repeatTag returns the tag of a hash, in the place of each slot. The bits are neither those that
// address the group nor, in an index of usual size, those that address the table.
func repeatTag(hash uint32) uint64 { return uint64(hash>>7&0x7F|0x80) * tagBytes }

// hashStep returns how far it is to the next group for a hash. It is odd, so that the way leads
// to all groups of the table, whose number is a power of two.
func hashStep(hash uint32) uint32 { return hash>>14 | 1 }

// hashSlotOf returns the number of the first slot in a set, which must not be empty.
func hashSlotOf(set uint64) int { return bits.TrailingZeros64(set) / 8 }

// matches returns the slots that have the tag, and rarely others: a bit for each.
func (g *hashGroup) matches(tags uint64) uint64 {
	// A byte is zero where the tags are equal: subtracting one borrows from its highest bit.
	differ := g.state ^ tags
	return (differ - tagBytes) &^ differ & tagUsed
}

// passed reports whether a slot that belongs to this group may be in another one.
func (g *hashGroup) passed() bool { return g.state >= passedOne }

// insert puts s into an empty slot and reports whether there was one. Otherwise s has passed.
func (g *hashGroup) insert(s hashSlot) bool {
	empty := ^g.state & tagUsed
	if empty == 0 {
		if g.state>>56 < passedMost {
			g.state += passedOne
		}
		return false
	}
	i := hashSlotOf(empty)
	g.slots[i] = s
	g.state |= repeatTag(s.hash()) & (0xFF << (8 * i))
	return true
}

// remove takes out s and reports whether it was there. Otherwise s, which is in another
// group, has not passed any more.
func (g *hashGroup) remove(s hashSlot) bool {
	for found := g.matches(repeatTag(s.hash())); found != 0; found &= found - 1 {
		if i := hashSlotOf(found); g.slots[i] == s {
			g.slots[i] = 0
			g.state &^= 0xFF << (8 * i)
			return true
		}
	}
	if g.state>>56 < passedMost {
		g.state -= passedOne
	}
	return false
}
