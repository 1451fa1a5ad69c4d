package workqueue

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// handles returns what the index has for a hash.
func (x *hashIndex) handles(hash uint32) (all []uint32) {
	for h := x.find(hash, 0); h != 0; h = x.find(hash, h) {
		all = append(all, h)
	}
	return all
}

// holds reports whether a handle with that hash is anywhere in the table of the hash.
func (x *hashIndex) holds(hash, handle uint32) bool {
	for s := range x.table(hash).all {
		if s == hashSlot(hash)<<32|hashSlot(handle) {
			return true
		}
	}
	return false
}

// requireSound checks what the comments of hashIndex promise of its parts.
func (x *hashIndex) requireSound(t *testing.T) {
	t.Helper()
	if x.directory == nil {
		require.Zero(t, x.n)
		return
	}
	require.Len(t, x.directory, 1<<x.bits)
	n := 0
	found := map[uint32][]uint32{} // by hash
	for i := 0; i < len(x.directory); {
		table := x.directory[i]
		require.LessOrEqual(t, table.bits, x.bits)
		used := 0
		for s := range table.all {
			used++
			require.Same(t, table, x.table(s.hash()))
			if found[s.hash()] == nil {
				found[s.hash()] = x.handles(s.hash())
			}
			require.Contains(t, found[s.hash()], s.handle())
		}
		require.Equal(t, table.n, used)
		require.LessOrEqual(t, used, fullFrom(len(table.groups)))
		table.requireSound(t)
		n += used
		for range 1 << (x.bits - table.bits) {
			require.Same(t, table, x.directory[i])
			i++
		}
	}
	require.Equal(t, x.n, n)
}

// requireSound checks the states of the groups.
func (t *hashTable) requireSound(tt *testing.T) {
	tt.Helper()
	passed := make([]int, len(t.groups))
	mask := uint32(len(t.groups) - 1)
	for i := range t.groups {
		for slot, s := range t.groups[i].slots {
			tag := uint8(t.groups[i].state >> (8 * slot))
			if s == 0 {
				require.Zero(tt, tag)
				continue
			}
			require.Equal(tt, uint8(repeatTag(s.hash())), tag)
			for pos := s.hash(); pos&mask != uint32(i); pos += hashStep(s.hash()) {
				passed[pos&mask]++
			}
		}
	}
	for i := range t.groups {
		if counted := int(t.groups[i].state >> 56); counted < passedMost {
			require.Equal(tt, passed[i], counted)
		}
	}
}

func TestHashIndexFindsWhatIsInIt(t *testing.T) {
	t.Parallel()
	for name, hash := range map[string]func(r *rand.Rand) uint32{
		"spread":            func(r *rand.Rand) uint32 { return r.Uint32() },
		"equal first bits":  func(r *rand.Rand) uint32 { return r.Uint32() >> 12 },
		"equal last bits":   func(r *rand.Rand) uint32 { return r.Uint32() << 12 },
		"few hashes":        func(r *rand.Rand) uint32 { return r.Uint32N(50) * 0x9E3779B1 },
		"all of them equal": func(*rand.Rand) uint32 { return 0xFFFFFFFF },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			var x hashIndex
			model := map[uint32]uint32{} // hashes by handle
			var handles []uint32
			n := 4000
			if name == "spread" {
				n = 30_000
			}
			for step := range 2 * n {
				// First mostly more of them, then mostly fewer.
				if r.IntN(3) > 0 == (step < n) || len(handles) == 0 {
					handle, h := uint32(step+1), hash(r)
					x.insert(h, handle)
					model[handle] = h
					handles = append(handles, handle)
				} else {
					i := r.IntN(len(handles))
					handle := handles[i]
					handles[i] = handles[len(handles)-1]
					handles = handles[:len(handles)-1]
					x.remove(model[handle], handle)
					require.False(t, x.holds(model[handle], handle))
					delete(model, handle)
				}
				if step%(n/4) == n/8 {
					x.requireSound(t)
				}
			}
			for handle, h := range model {
				require.Contains(t, x.handles(h), handle)
			}
			require.Equal(t, len(model), x.n)
			assert.LessOrEqual(t, len(x.directory), max(16, n/hashSlotsLeast*2), "hashes with much in common make the directory large")
			x.requireSound(t)
		})
	}
}

// A search for what is missing ends, even if a slot has passed each of the groups.
func TestSearchEndsInATableWhoseGroupsAllHaveBeenPassed(t *testing.T) {
	t.Parallel()
	var x hashIndex
	const a, b = 2, 3 // hashes of the first and the second of two groups
	for handle := uint32(1); handle <= 8; handle++ {
		x.insert(a, handle) // the last one passes the first group
	}
	for handle := uint32(9); handle <= 13; handle++ {
		x.insert(b, handle)
	}
	x.remove(a, 1)
	x.insert(b, 14)
	x.remove(a, 2)
	x.insert(b, 15) // passes the second group
	groups := x.directory[0].groups
	require.Len(t, groups, 2)
	require.True(t, groups[0].passed() && groups[1].passed())
	x.requireSound(t)
	for hash := range uint32(1000) {
		if hash != a && hash != b {
			require.Empty(t, x.handles(hash))
		}
	}
	assert.Len(t, x.handles(a), 6)
	assert.Len(t, x.handles(b), 7)
}

// A table of a few bytes of input: what is inserted is found, what is removed is not.
func FuzzHashIndex(f *testing.F) {
	f.Add([]byte{1, 2, 3, 1, 2, 3}, uint32(1))
	f.Add([]byte{0, 255, 0, 128, 7, 7, 7}, uint32(0x01010101))
	f.Fuzz(func(t *testing.T, ops []byte, spread uint32) {
		var x hashIndex
		in := map[byte]bool{}
		for _, op := range ops {
			// Twice the same is in and out again.
			hash, handle := uint32(op)*spread, uint32(op)+1
			if in[op] {
				x.remove(hash, handle)
			} else {
				x.insert(hash, handle)
			}
			in[op] = !in[op]
		}
		for op, there := range in {
			found := false
			for _, h := range x.handles(uint32(op) * spread) {
				found = found || h == uint32(op)+1
			}
			require.Equal(t, there, found)
		}
		x.requireSound(t)
	})
}

// Two items in about four billion have the same hash.
func TestItemsWithTheSameHashAreToldApart(t *testing.T) {
	t.Parallel()
	var m entryMap[string]
	a, b := m.findOrInsert("a", 7), m.findOrInsert("b", 7)
	assert.NotSame(t, a, b)
	assert.Same(t, a, m.findOrInsert("a", 7))
	assert.Same(t, a, m.find("a", 7))
	assert.Same(t, b, m.find("b", 7))
	assert.Nil(t, m.find("c", 7))
	m.remove(a)
	assert.Nil(t, m.find("a", 7))
	assert.Same(t, b, m.find("b", 7))

	var f failures[string]
	f.init(time.Hour)
	for range 3 {
		f.add(failedNow("a"))
	}
	// As if b had the hash of a.
	handle, c := f.counts.get()
	c.item, c.hash, c.n = "b", hashOf("a"), 8
	f.index.insert(c.hash, handle)
	assert.Equal(t, handle, f.findLocked("b", c.hash))
	assert.Equal(t, 3, f.count("a"))
}
