package eventlog

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func none() {}

// read returns all entries that c can get, until it parks.
func read(t *testing.T, c *Cursor[int, int]) []int {
	t.Helper()
	var all []int
	for {
		run, _, status := c.Next()
		if status != Run {
			require.Equal(t, Parked, status)
			return all
		}
		all = append(all, run...)
	}
}

func TestCursorSeesWhatIsAppendedAfterItJoined(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	l.Append([]int{1, 2}, 2, false)
	c, state, ok := l.Join(0, none)
	require.True(t, ok)
	assert.Equal(t, 2, state, "the state belongs to the place where the cursor joined")
	assert.Empty(t, read(t, c))
	l.Append([]int{3}, 3, false)
	l.Append([]int{4, 5}, 5, false)
	assert.Equal(t, 3, c.Lag())
	run, state, status := c.Next()
	assert.Equal(t, []int{3, 4, 5}, run)
	assert.Equal(t, 5, state)
	assert.Equal(t, Run, status)
	assert.Zero(t, c.Lag())
	assert.Equal(t, uint64(5), l.End())
}

func TestRunNeverEndsWithinABatch(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	c, _, _ := l.Join(0, none)
	n := 0
	for size := 1; size < 3*maxChunk; size = size*2 + 1 {
		batch := make([]int, size)
		for i := range batch {
			n++
			batch[i] = n
		}
		l.Append(batch, n, false) // the state is the last entry
	}
	want := 0
	for {
		run, state, status := c.Next()
		if status == Parked {
			break
		}
		for _, v := range run {
			want++
			require.Equal(t, want, v)
		}
		require.Equal(t, run[len(run)-1], state)
	}
	assert.Equal(t, n, want)
}

func TestBatchWithoutEntriesReplacesTheStateAndWakesNobody(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	woken := 0
	c, _, _ := l.Join(0, func() { woken++ })
	read(t, c)
	l.Append(nil, 7, false)
	assert.Zero(t, woken)
	assert.Equal(t, 7, l.state)
	_, state, status := c.Next()
	assert.Equal(t, Parked, status)
	assert.Equal(t, 7, state)
}

func TestWaitingCursorIsWokenOncePerWait(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	woken := 0
	c, _, _ := l.Join(0, func() { woken++ })
	l.Append([]int{1}, 1, false)
	assert.Zero(t, woken, "it does not wait yet")
	read(t, c)
	read(t, c) // parking twice is parking once
	l.Append([]int{2}, 2, false)
	l.Append([]int{3}, 3, false)
	assert.Equal(t, 1, woken)
	assert.Equal(t, []int{2, 3}, read(t, c))
}

func TestManyWaitingCursorsAreAllWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[int](0)
		var woken atomic.Int32
		cursors := make([]*Cursor[int, int], 100)
		for i := range cursors {
			cursors[i], _, _ = l.Join(0, func() { woken.Add(1) })
			read(t, cursors[i])
		}
		for round := range 10 {
			l.Append([]int{round}, round, false)
			synctest.Wait()
			require.Equal(t, int32(100*(round+1)), woken.Load())
			for _, c := range cursors {
				require.Equal(t, []int{round}, read(t, c))
			}
		}
	})
}

func TestSlowCursorIsDetachedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	slow, _, _ := l.Join(100, none)
	lossless, _, _ := l.Join(0, none)
	fast, _, _ := l.Join(100, none)
	total := 10 * maxChunk
	for i := range total {
		l.Append([]int{i}, i, false)
		require.Equal(t, []int{i}, read(t, fast))
	}
	run, state, status := slow.Next()
	assert.Equal(t, Detached, status)
	assert.Empty(t, run)
	assert.Equal(t, total-1, state)
	assert.Len(t, read(t, lossless), total)
	l.Append([]int{-1}, -1, false)
	assert.Equal(t, []int{-1}, read(t, slow), "it goes on from the position that Next returned")
}

func TestLargeBatchDoesNotDetachAWaitingCursor(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	c, _, _ := l.Join(10, none)
	read(t, c)
	l.Append(make([]int, 5000), 1, false)
	assert.Len(t, read(t, c), 5000)
}

func TestPassedEntriesAreGarbage(t *testing.T) {
	t.Parallel()
	type payload struct{ _ [64]byte }
	l := New[*payload](0)
	fast, _, _ := l.Join(0, none)
	slow, _, _ := l.Join(1, none)
	drain := func() {
		for {
			if _, _, s := fast.Next(); s == Parked {
				return
			}
		}
	}
	run, _, _ := slow.Next()
	require.Empty(t, run)
	var first, last weak.Pointer[payload]
	for i := range 4 * maxChunk {
		p := &payload{}
		switch i {
		case 0:
			first = weak.Make(p)
		case 4*maxChunk - 1:
			last = weak.Make(p)
		}
		l.Append([]*payload{p}, i, false)
		drain()
	}
	runtime.GC()
	assert.Nil(t, first.Value(), "a detached cursor must hold nothing")
	_, _, status := slow.Next()
	require.Equal(t, Detached, status)
	_, _, status = slow.Next()
	require.Equal(t, Parked, status)
	runtime.GC()
	assert.Nil(t, last.Value(), "when all cursors wait, the log must hold nothing")
	runtime.KeepAlive(l)
}

func TestHandedOutRunIsNotTouchedUntilTheNextCall(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	a, _, _ := l.Join(1, none)
	b, _, _ := l.Join(1, none)
	l.Append([]int{1, 2, 3}, 3, false)
	run, _, _ := a.Next()
	a.Leave() // while its reader still reads
	read(t, b)
	for i := range 1000 {
		l.Append([]int{100 + i}, i, false)
		read(t, b)
	}
	assert.Equal(t, []int{1, 2, 3}, run)
	_, _, status := a.Next()
	assert.Equal(t, Closed, status)
}

func TestLeaveEndsACursorInEveryState(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	fresh, _, _ := l.Join(0, none)
	parked, _, _ := l.Join(0, func() { t.Error("woken after Leave") })
	behind, _, _ := l.Join(0, none)
	reading, _, _ := l.Join(0, none)
	read(t, behind)
	l.Append([]int{1}, 1, false)
	reading.Next()
	read(t, parked)
	for _, c := range []*Cursor[int, int]{fresh, parked, behind, reading} {
		c.Leave()
		c.Leave()
		assert.Zero(t, c.Lag())
	}
	l.Append([]int{2}, 2, false)
	for _, c := range []*Cursor[int, int]{fresh, parked, behind, reading} {
		_, _, status := c.Next()
		assert.Equal(t, Closed, status)
	}
	assert.Empty(t, l.cursors)
	assert.Empty(t, l.parked)
}

func TestCloseWakesAndEndsAllReaders(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	woken := 0
	waiting, _, _ := l.Join(0, func() { woken++ })
	behind, _, _ := l.Join(0, none)
	read(t, waiting)
	l.Append([]int{1}, 1, false)
	read(t, waiting)
	l.Close()
	l.Close()
	assert.Equal(t, 2, woken)
	for _, c := range []*Cursor[int, int]{waiting, behind} {
		_, _, status := c.Next()
		assert.Equal(t, Closed, status)
	}
	l.Append([]int{2}, 2, false)
	assert.Equal(t, 1, l.state)
	_, _, ok := l.Join(0, none)
	assert.False(t, ok)
}

// Readers that wait only for their wake function must see everything: a lost
// wake-up would hang this test.
func TestNoWakeUpIsLost(t *testing.T) {
	t.Parallel()
	const readers, total = 8, 20000
	l := New[int](0)
	var wg sync.WaitGroup
	for range readers {
		wake := make(chan struct{}, 1)
		c, _, _ := l.Join(0, func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		wg.Go(func() {
			want := 0
			for want < total {
				run, _, status := c.Next()
				for _, v := range run {
					if v != want {
						t.Errorf("got %d, want %d", v, want)
						return
					}
					want++
				}
				if status == Parked {
					<-wake
				}
			}
			c.Leave()
			c.Next()
		})
	}
	for i := range total {
		l.Append([]int{i}, i, false)
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
	wg.Wait()
	assert.Empty(t, l.cursors)
}

func TestAppendDoesNotAllocateWhenReadersKeepUp(t *testing.T) {
	l := New[int](0)
	cursors := make([]*Cursor[int, int], wakeInline)
	for i := range cursors {
		cursors[i], _, _ = l.Join(0, none)
	}
	batch := []int{1}
	allocs := testing.AllocsPerRun(1000, func() {
		l.Append(batch, 1, false)
		for _, c := range cursors {
			for {
				if _, _, s := c.Next(); s == Parked {
					break
				}
			}
		}
	})
	assert.Zero(t, allocs)
}

// A reader has reasons to look other than the log.
func TestWakeEndsAWaitOrPreventsTheNext(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	woken := 0
	c, _, _ := l.Join(0, func() { woken++ })
	c.Wake()
	run, _, status := c.Next()
	require.Equal(t, Run, status, "it was called before the wait")
	require.Empty(t, run)
	_, _, status = c.Next()
	require.Equal(t, Parked, status)
	c.Wake()
	require.Equal(t, 1, woken)
	l.Append([]int{1}, 1, false)
	require.Equal(t, 1, woken, "it does not wait any more")
	require.Equal(t, []int{1}, read(t, c))
	require.True(t, c.Leave())
	c.Wake()
	require.False(t, c.Leave())
	require.Equal(t, 1, woken)
}
