package workqueue

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requireSound checks what the comments of slab promise of its parts.
func (s *slab[R]) requireSound(t *testing.T) {
	t.Helper()
	free, roomy, holes := 0, map[uint32]bool{}, map[uint32]bool{}
	for _, number := range s.holes {
		require.False(t, holes[number])
		holes[number] = true
	}
	var last uint32
	for number := s.room; number != 0; number = s.pages[number].next {
		require.False(t, roomy[number])
		require.Equal(t, last, s.pages[number].prev)
		roomy[number] = true
		last = number
	}
	require.Equal(t, last, s.last)
	for number, p := range s.pages {
		if number == 0 {
			require.Zero(t, p)
			continue
		}
		require.Equal(t, p.records == nil, holes[uint32(number)])
		if p.records == nil {
			continue
		}
		require.Equal(t, p.free != 0, roomy[uint32(number)])
		require.LessOrEqual(t, p.free, uint32(wholePage))
		for slot := range p.records {
			if p.free>>slot&1 == 1 {
				free++
				var zero R
				require.EqualValues(t, zero, p.records[slot])
			}
		}
	}
	require.Equal(t, s.free, free)
}

func TestSlabKeepsRecordsApart(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var s slab[int]
	var beside side[int]
	model := map[uint32]*int{}
	var handles []uint32
	most := 0
	for round := range 6 {
		for step := range 20_000 {
			if r.IntN(5) > 0 == (round%2 == 0) || len(handles) == 0 {
				handle, record := s.get()
				require.NotZero(t, handle)
				require.Zero(t, *record)
				require.Nil(t, model[handle], "in use already")
				*record = step
				*beside.at(handle) = step
				model[handle] = record
				handles = append(handles, handle)
				most = max(most, len(handles))
				continue
			}
			i := r.IntN(len(handles))
			handle := handles[i]
			handles[i] = handles[len(handles)-1]
			handles = handles[:len(handles)-1]
			require.Same(t, model[handle], s.at(handle), "it has moved")
			require.Equal(t, *s.at(handle), *beside.at(handle))
			s.put(handle)
			delete(model, handle)
			if round > 3 && step%500 == 0 {
				s.trim()
				trimSide(&beside, &s)
			}
			if step%4000 == 0 {
				s.requireSound(t)
			}
		}
	}
	s.requireSound(t)
	require.Equal(t, len(model), s.used)
	for handle, record := range s.each {
		require.Same(t, model[handle], record)
		delete(model, handle)
	}
	assert.Empty(t, model)
	assert.Greater(t, most, 4*slabKept)
	for _, handle := range handles {
		s.put(handle)
	}
	s.trim()
	trimSide(&beside, &s)
	s.requireSound(t)
	assert.LessOrEqual(t, s.free, slabKept+2*pageSize)
	assert.LessOrEqual(t, len(beside.pages), len(s.pages)*pageSize/sidePageSize+1)
}

// Each record that is in use has its turn, whatever was taken back and dropped.
func TestSlabGivesEachRecordItsTurn(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var s slab[int]
	handle, next := s.inTurn(0)
	assert.Zero(t, handle, "an empty slab")
	assert.Zero(t, next)
	var handles []uint32
	for range 8 * slabKept {
		handle, _ := s.get()
		handles = append(handles, handle)
	}
	r.Shuffle(len(handles), func(i, j int) { handles[i], handles[j] = handles[j], handles[i] })
	for len(handles) > 0 {
		seen := map[uint32]int{}
		steps := 0
		for from := uint32(0); ; steps++ {
			handle, next := s.inTurn(from)
			if handle != 0 {
				seen[handle]++
			}
			if next == 0 {
				break
			}
			from = next
		}
		assert.LessOrEqual(t, steps, len(handles)+2*len(s.pages))
		assert.Len(t, seen, len(handles))
		for _, handle := range handles {
			require.Equal(t, 1, seen[handle])
		}
		gone := (len(handles) + 1) / 2
		for _, handle := range handles[:gone] {
			s.put(handle)
		}
		handles = handles[gone:]
	}
	assert.NotEmpty(t, s.holes)
}

// What is drained in the order in which it came leaves no more than what is kept, and
// what stays behind does not keep the rest.
func TestSlabDropsPagesThatAreFree(t *testing.T) {
	t.Parallel()
	var s slab[*int]
	const n = 100_000
	var handles [n]uint32
	for i := range handles {
		handles[i], _ = s.get()
	}
	for i, handle := range handles {
		if i%10_000 != 17 {
			s.put(handle)
		}
	}
	s.requireSound(t)
	assert.Equal(t, n/10_000, s.used)
	assert.LessOrEqual(t, s.free, slabKept+(2+n/10_000)*pageSize)
}

// Not parallel to what collects garbage by itself: it is kept by the test while it counts.
func TestDroppedPagesAreUsedAgainUntilTheyAreCollected(t *testing.T) {
	var s slab[*int]
	kept := new(spare[*int])
	s.spare = weak.Make(kept)
	handles := make([]uint32, 8*slabKept)
	for i := range handles {
		handles[i], _ = s.get()
	}
	for _, handle := range handles {
		s.put(handle)
	}
	dropped := len(kept.records)
	require.GreaterOrEqual(t, dropped, 6*slabKept/pageSize)
	for i := range handles {
		handles[i], _ = s.get()
	}
	assert.Empty(t, kept.records)
	s.requireSound(t)
	runtime.KeepAlive(kept)
	for _, handle := range handles {
		s.put(handle)
	}
	kept = nil
	runtime.GC()
	runtime.GC()
	assert.Nil(t, s.spare.Value(), "the memory of a burst is kept")
}
