package workqueue

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fuzzedWheel is a wheel beside the sorted list that it must be equal to.
type fuzzedWheel struct {
	wheel

	model []waiting // in order of time, then of arrival
	now   int64
	came  int
	in    [16]bool // which handles, from 1 on, are in the wheel
}

// put adds a handle, or moves it if it is there, to a time that is n units of digit after now.
func (w *fuzzedWheel) put(handle uint32, digit, n int64) {
	if w.in[handle-1] {
		w.take(handle)
	}
	at := after(w.now, anyUnits(digit, n))
	w.came++
	w.in[handle-1] = true
	w.model = append(w.model, waiting{handle, at, w.came})
	slices.SortFunc(w.model, byTime)
	w.add(handle, at, w.now)
}

// take removes a handle that is there.
func (w *fuzzedWheel) take(handle uint32) {
	w.in[handle-1] = false
	w.model = slices.DeleteFunc(w.model, func(x waiting) bool { return x.handle == handle })
	w.remove(handle)
}

// release does at most that many steps, and takes out what is due.
func (w *fuzzedWheel) release(t *testing.T, steps int) {
	t.Helper()
	for range steps {
		handle, more := w.next(w.now)
		if !more {
			require.True(t, len(w.model) == 0 || w.model[0].at > w.now, "an entry is due and was not returned")
			return
		}
		if handle == 0 {
			continue
		}
		require.NotEmpty(t, w.model, "the wheel returned an entry that was removed")
		require.Equal(t, w.model[0].handle, handle)
		require.LessOrEqual(t, w.model[0].at, w.now, "an entry came too early")
		w.take(handle)
	}
}

// requireEqual compares all that the wheel says with the list.
func (w *fuzzedWheel) requireEqual(t *testing.T) {
	t.Helper()
	require.Len(t, w.model, w.n)
	w.requireSound(t)
	for _, x := range w.model {
		require.Equal(t, x.at, w.at(x.handle))
	}
	if len(w.model) == 0 {
		require.Equal(t, int64(maxTime), w.wakeAt())
	} else {
		require.LessOrEqual(t, w.wakeAt(), w.model[0].at)
	}
}

// anyUnits returns a positive delay of some units of a digit in base 64, those of the last one
// of which are years.
func anyUnits(digit, n int64) time.Duration {
	return time.Duration((n + 1) << (digit % 10 * wheelBits))
}

// A wheel does what a sorted list does, for any entries that come, move, go and become due, and
// releases that are interrupted at any step.
func FuzzWheel(f *testing.F) {
	const (
		put, earliest, take, clock, some, release = 0, 3, 4, 5, 6, 7

		second, hour = 4 << 4, 6 << 4 // digits of about so long
	)
	f.Add([]byte{put, 1, 5, put, 2, 5, put, 3, 4, clock, 0, 7, release, 0, 0})
	// Two in a slot that begin to move, one that joins them, one that is moved, one that goes.
	f.Add([]byte{
		put, second | 1, 5, put, second | 2, 5, put, second | 3, 5, clock, second, 5, some, 0, 2,
		put, 4, 1, put, 2, 1, take, 3, 0, earliest, 0, 2, clock, 0, 9, release, 0, 0,
	})
	// One that joins two of the same time, while they begin to move: it comes after them.
	f.Add([]byte{
		put, second | 4, 5, clock, 0, 4, put, second | 1, 5, put, second | 2, 5,
		clock, second, 4, clock, 3 << 4, 62, clock, 2 << 4, 62, clock, 1 << 4, 62, clock, 0, 58,
		some, 0, 2, put, 3, 4, clock, 0, 4, release, 0, 0,
	})
	// An earlier time for one that waits, twice, and one that never comes.
	f.Add([]byte{
		put, hour | 1, 1, put, second | 1, 9, put, 9<<4 | 2, 255, put, 1, 1, clock, 0, 1, release, 0, 0,
		clock, hour, 1, release, 0, 0, earliest, 0, 9,
	})
	f.Fuzz(func(t *testing.T, ops []byte) {
		w := &fuzzedWheel{wheel: wheel{deadlines: new(side[deadline])}}
		for ; len(ops) >= 3; ops = ops[3:] {
			handle, digit, n := uint32(ops[1]%16)+1, int64(ops[1]>>4), int64(ops[2])
			switch ops[0] % 8 {
			case 0, 1, 2:
				w.put(handle, digit, n)
			case 3: // this ends the moves of an interrupted release
				requireEarliest(t, &w.wheel, w.model, int(n))
			case 4:
				if w.in[handle-1] {
					w.take(handle)
				}
			case 5: // the clock goes on
				w.now = after(w.now, anyUnits(digit, n))
			case 6: // a release that is interrupted
				w.release(t, int(n))
			default: // one that is not: an entry moves once for each digit at most
				w.release(t, 16*12+wheelSlots)
			}
			w.requireEqual(t)
		}
	})
}
