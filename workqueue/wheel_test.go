package workqueue

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requireSound checks what the comments of wheel promise of its parts.
func (w *wheel) requireSound(t *testing.T) {
	t.Helper()
	n := 0
	ring := func(first uint32) {
		last := w.deadlines.at(first).prev
		for handle := range w.list(first) {
			require.Equal(t, last, w.deadlines.at(handle).prev)
			require.Greater(t, w.at(handle), w.base-1)
			last = handle
			n++
		}
		require.Equal(t, w.deadlines.at(first).prev, last)
	}
	if w.moving != 0 {
		ring(w.moving)
	}
	for level, l := range w.levels {
		require.Equal(t, l != nil && l.used != 0, w.used>>level&1 == 1)
		if l == nil {
			continue
		}
		for slot, first := range l.slots {
			require.Equal(t, first != 0, l.used>>slot&1 == 1)
			if first == 0 {
				continue
			}
			ring(first)
			for handle := range w.list(first) {
				inLevel, inSlot := w.position(w.at(handle))
				require.Equal(t, []int{level, slot}, []int{inLevel, inSlot})
			}
		}
	}
	require.Equal(t, w.n, n)
}

// waiting is an entry of a wheel, in the list that the wheel is compared with.
type waiting struct {
	handle uint32
	at     int64
	came   int
}

func byTime(a, b waiting) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.came, b.came)) }

// A wheel does what a sorted list does, whatever its entries wait for: nanoseconds or centuries.
func TestWheelReturnsEntriesInOrderOfTimeAndThenOfArrival(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := wheel{deadlines: new(side[deadline])}
		var model []waiting
		now := r.Int64N(1 << 50)
		var free []uint32
		for handle := uint32(1); handle <= 1000; handle++ {
			free = append(free, handle)
		}
		came := 0
		add := func(handle uint32) {
			at := after(now, anyDelay(r))
			if len(model) > 0 && r.IntN(3) == 0 { // the same as another one
				at = max(now+1, model[r.IntN(len(model))].at)
			}
			came++
			model = append(model, waiting{handle, at, came})
			w.add(handle, at, now)
		}
		take := func(i int) (handle uint32) {
			handle = model[i].handle
			w.remove(handle)
			model = slices.Delete(model, i, i+1)
			return handle
		}
		for step := range 10_000 {
			switch r.IntN(8) {
			case 0, 1, 2, 3:
				if len(free) > 0 {
					add(free[0])
					free = free[1:]
				}
			case 4:
				if len(model) > 0 {
					free = append(free, take(r.IntN(len(model))))
				}
			case 5: // it is to come earlier, or later
				if len(model) > 0 {
					add(take(r.IntN(len(model))))
				}
			case 6: // a release that is interrupted
				now = after(now, anyDelay(r)/8)
				for range r.IntN(40) {
					handle, more := w.next(now)
					if !more {
						break
					}
					if handle != 0 {
						slices.SortFunc(model, byTime)
						require.Equal(t, model[0], waiting{handle, w.at(handle), model[0].came})
						require.LessOrEqual(t, model[0].at, now)
						free = append(free, take(0))
					}
				}
			default: // and one that is not
				slices.SortFunc(model, byTime)
				if len(model) > 0 && r.IntN(2) == 0 {
					now = max(now, model[0].at)
				}
				for handle, more := w.next(now); more; handle, more = w.next(now) {
					if handle != 0 {
						require.Equal(t, model[0].handle, handle)
						require.LessOrEqual(t, model[0].at, now)
						free = append(free, take(0))
					}
				}
				if len(model) == 0 {
					require.Equal(t, int64(maxTime), w.wakeAt())
					break
				}
				require.Greater(t, model[0].at, now, "an entry is due and was not returned")
				require.Greater(t, w.wakeAt(), now)
				require.LessOrEqual(t, w.wakeAt(), model[0].at)
				if len(model) <= wheelScan {
					require.Equal(t, model[0].at, w.wakeAt())
				}
			}
			if step%50 == 0 {
				w.requireSound(t)
				slices.SortFunc(model, byTime)
				requireEarliest(t, &w, model, r.IntN(len(model)+2))
			}
		}
	}
}

// anyDelay returns a duration of any order of magnitude, but seldom of centuries.
func anyDelay(r *rand.Rand) time.Duration {
	digits := 1 + r.IntN(30)
	if r.IntN(50) == 0 {
		digits = 62
	}
	return time.Duration(1 + r.Int64N(1<<digits))
}

func requireEarliest(t *testing.T, w *wheel, model []waiting, n int) {
	t.Helper()
	var want, got []int64
	for _, x := range model[:min(n, len(model))] {
		want = append(want, x.at)
	}
	for _, handle := range w.earliest(n) {
		got = append(got, w.at(handle))
	}
	slices.Sort(got)
	require.Equal(t, want, got)
	require.Len(t, slices.Collect(w.all), len(model))
}

// However many entries wait for one time, a step moves or returns one, and each is moved
// once for each level at most.
func TestWheelMovesOneEntryAtATime(t *testing.T) {
	t.Parallel()
	const n, at = 10_000, 1<<40 + 12345
	w := wheel{deadlines: new(side[deadline])}
	for handle := uint32(1); handle <= n; handle++ {
		w.add(handle, at+int64(handle%7), 0)
	}
	_, more := w.next(1 << 39)
	assert.False(t, more)
	assert.LessOrEqual(t, w.wakeAt(), int64(at))
	assert.Greater(t, w.wakeAt(), int64(1<<39))
	returned, steps := 0, 0
	for handle, more := w.next(at + 7); more; handle, more = w.next(at + 7) {
		if handle != 0 {
			w.remove(handle)
			returned++
		}
		steps++
	}
	assert.Equal(t, n, returned)
	assert.LessOrEqual(t, steps, n*(1+bits.Len64(at)/wheelBits)+wheelSlots)
	assert.Zero(t, w.used)
	w.clear()
	assert.Equal(t, wheel{deadlines: w.deadlines}, w)
}
