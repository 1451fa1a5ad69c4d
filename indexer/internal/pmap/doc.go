// Package pmap has the persistent structures under the indexer: a hash trie, and an array
// whose numbers it gives away itself. "Persistent"
// means that every version stays valid: to change a value is to make a new
// version, which shares almost everything with the old one. A version is two
// words, so that a snapshot is a copy of two words.
//
// # The picture
//
// A hash is read from its first bit on. An inner node uses up three bits and
// has eight slots; a leaf holds up to six values whose hashes begin alike.
//
//	hash  101 011 00…                     root (inner)
//	       │   │              000 001 010 011 100 101 110 111
//	       │   │               └─┬─┘   │   └─┬─┘   │   └─┬─┘
//	       │   │                leaf  leaf  leaf   │    leaf    a leaf may fill
//	       │   │                                 inner          2, 4 or 8 slots
//	       └───┼───────────────────────────────────┘
//	           └──▶ slot 011 ──▶ leaf { tags: 9c 41 07 …, values: •  •  • … }
//
// A full leaf is divided in two by one more bit, not in eight: neighbouring
// slots share a leaf until it has been divided three times. Leaves are therefore
// two thirds full at any size, where a trie that divides by eight at once swings
// between full and nearly empty. Each value has a tag, one byte of its hash;
// one comparison of machine words finds the candidates, and a look-up touches
// the memory of the value it is looking for and of no other.
//
// To change the value x is to copy the leaf that has it and the nodes above:
//
//	version 1 ──▶ A ──▶ B ──▶ leaf x           A', B' and the leaf of x' are new;
//	              │     └───▶ leaf y  ◀──┐     everything else is shared, and
//	              └───▶ C  ◀───────┐     │     a diff need not look at it
//	version 2 ──▶ A' ──▶ B' ──▶ leaf x'  │
//	              │      └───────────────┘
//	              └────▶ (C)
//
// # Batches
//
// A batch of changes is named by a number, the generation, that each node
// carries: a node made by the same batch is edited in place, all others are
// copied first. So a batch of a hundred changes copies the root once.
//
//	t := current            // start from a version
//	t.Put(gen, …)           // gen is greater than that of any batch before
//	t.Remove(gen, …)
//	current = t             // publish, e.g. through an atomic pointer
//
// # Values without keys
//
// A [Trie] stores values and no keys or hashes: the caller brings the hash and a
// test for equality. The indexer has uses for that: the value of a large group of an index
// is the number of an object alone.
//
// # The array
//
// An [Array] leads from small numbers to values. A number is read from its first bit on,
// three bits per level, without a hash and without comparing anything:
//
//	number 17 = 010 001        root ──▶ slot 010 ──▶ leaf, slot 001
//
// Add gives away the lowest number that is free. Each node knows which of its children
// are full, so that this costs one path, and the numbers stay dense. In the indexer
// everything leads to numbers, and the array from there to objects: an update changes the array
// alone. What stays when a value changes, the keys of eight neighbours, is up to the caller, and
// an update does not copy it. The numbers of a namespace are an array, too. Nodes are shared and
// copied as in the trie, and nodes that become empty are dropped. At worst one value is left in each leaf of eight.
//
// # Promises
//
//  1. A version never changes after its batch has ended; any number of
//     goroutines may read it while others make new ones.
//  2. Find and Each allocate nothing by themselves, Diff a fixed handful.
//  3. Diff visits only what the two versions do not share, and yields each value
//     once. Two versions of 100,000 values that differ in one cost one path.
//  4. Equal hashes are handled: values whose hashes agree in all 63 bits that
//     the trie uses go to a list. It is correct with any hash function, fast with
//     a good one; the indexer seeds its own, so that names cannot be chosen to
//     collide.
//  5. What is removed gives its nodes back: sparse siblings are merged.
//
// Each of these is checked by a test; all of it is compared with a Go map over
// many random operations, with good and with hopeless hash functions.
//
// # What was compared
//
// 100,000 pointers; go1.26, 2 cores of a shared Intel Xeon with 260 MB of L3
// cache, best of several runs:
// go test -bench '/100000|Memory|CopyGoMap' -count 10 ./indexer/internal/pmap
//
//	                             find   replace one   in batches  iterate  memory
//	                                    alone         of 100      per value  per value
//	this trie: 8 slots, 6 values  31 ns  1.1 µs 470 B  0.7 µs 270 B  8.5 ns  20 B
//	4 slots, 6 values             51 ns  1.5 µs 427 B  0.8 µs 258 B  9.9 ns  21 B
//	8 slots, 4 values             66 ns  1.4 µs 477 B  0.7 µs 276 B 17.7 ns  26 B
//	8 slots, 8 values             32 ns  1.1 µs 481 B  0.7 µs 280 B  6.5 ns  18 B
//	16 slots, 6 values            29 ns  2.0 µs 640 B  0.9 µs 350 B 10.1 ns  22 B
//	16 slots, 8 values            31 ns  1.3 µs 656 B  0.8 µs 365 B  7.0 ns  21 B
//	32 slots, 8 values            28 ns  1.8 µs 947 B  1.0 µs 449 B 11.5 ns  18 B
//	hash kept beside each value  105 ns  1.8 µs 518 B  1.3 µs 318 B    –      32 B
//	copy-on-write B+tree (32)    547 ns  3.4 µs 1.6 kB 3.1 µs 845 B  4.0 ns  29 B
//	Go map                        31 ns       –            –           –       –
//	copying a Go map                –    3 ms              –           –       –
//
// Bytes are exact; times are orders of magnitude: the rows were not measured in
// the same minute on a busy machine (in the minute of the last trie row, the
// first row found in 112 ns, so that keeping the hash gains nothing when
// reading). What follows from it:
//
//   - Wider nodes save a level when reading, which the caches hide, and cost a
//     third to a half more bytes for each change. Eight slots are the knee.
//   - With eight values a leaf costs little more than with six as long as a value
//     is a pointer. The indexer's primary structure stores three words per value,
//     where six values save 48 bytes per change.
//   - Keeping hashes costs 12 bytes per value and 48 per change, and saves
//     computing two hashes per added value when leaves are divided. The indexer has
//     room for half a hash beside a name, and uses that.
//   - The B+tree iterates faster, for its leaves are longer, and does everything
//     else at a third to a sixth of the speed: binary search over hashes
//     misses the cache at each level.
//   - In the indexer, a trie of bare pointers finds an object by name in about
//     four times the time of a Go map, for it has to look into each candidate
//     object; with the name beside the pointer it is below twice. That is worth 24
//     bytes per object in one structure, and not in the indexes.
package pmap
