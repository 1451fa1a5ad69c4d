// Package pmap has the persistent structures under the indexer: an [Array] from small
// numbers to values, and a [Set] of elements that are found by their hash.
//
// "Persistent" means that every version stays valid. To change a value is to make a new
// version, which shares almost everything with the old one. A version is a small struct,
// and to copy that struct is to keep the version.
//
// # The picture
//
// Both are trees whose branches have eight slots. An Array reads a number from its highest
// bits to its lowest, three at a time, and two for a leaf. It is a radix tree, as in the vectors of Clojure:
//
//	number 17 = 100 01         root ──▶ slot 100 ──▶ leaf, slot 01
//
// A Set reads a hash from its lowest bits, three at a time, until a leaf comes, which has a few dozen
// elements. It is a hash trie: a hash table that divides only where it is full.
//
//	hash … 011 101             root ──▶ slot 101 ──▶ slot 011 ──▶ leaf {x, y, z}
//
// To change x is to copy the leaf that has it and the nodes above it:
//
//	version 1 ──▶ A ──▶ B ──▶ leaf x           A', B' and the leaf of x' are new.
//	              │     └───▶ leaf y  ◀──┐     Everything else is shared, and a
//	              └───▶ C  ◀───────┐     │     diff need not look at it.
//	version 2 ──▶ A' ──▶ B' ──▶ leaf x'  │
//	              │      └───────────────┘
//	              └────▶ (C)
//
// # Batches
//
// A batch of changes is named by an [Edit]. A node that a batch has made carries its Edit
// and is changed in place by that batch. All others are copied first. So a batch of a
// hundred changes copies the root once.
//
//	next := current         // start from a version
//	e := pmap.NewEdit()
//	next.Set(e, 17, v)      // copies the path to 17
//	next.Set(e, 16, w)      // the same leaf: changed in place
//	current = next          // publish, and use e no more
//
// # Promises
//
//  1. A version never changes after the last use of its Edit. Any number of goroutines
//     may read it while others make new ones.
//  2. Reading allocates nothing, and a change costs one path.
//  3. Diff visits only what two versions do not share, and yields each number once.
//  4. Equal hashes are handled. The elements whose hashes agree go to one leaf, which then
//     may be long. A Set is correct with any hash function, and fast with a good one.
//  5. What is deleted gives its nodes back. An Array gives away the lowest free numbers, so
//     that it stays dense, and sparse parts of a Set are merged.
package pmap

import "sync/atomic"

const (
	// slotBits is how many bits of a number or a hash one level uses, and fan how many
	// slots a node therefore has. With more, a read takes fewer steps, and a change copies
	// more: eight is a third of the bytes of 32, and two levels more.
	slotBits = 3
	fan      = 1 << slotBits
	slotMask = fan - 1

	// leafBits and leafFan are the same for the leaves of an Array. Their values are larger
	// than pointers, so there are fewer: most of what a change copies is its leaf.
	leafBits = 2
	leafFan  = 1 << leafBits
	leafMask = leafFan - 1
)

// Edit names a batch of changes. See the package. The zero value names none.
type Edit uint64

// edits counts the batches of the process. It does not wrap around: one in a nanosecond would do
// so after some 600 years.
var edits atomic.Uint64

// NewEdit returns an Edit that no node carries yet.
func NewEdit() Edit { return Edit(edits.Add(1)) }
