package eventlog

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests look inside the log: what it delivers does not depend on chunks, what
// it allocates and retains does.

func TestChunkIsFilledToTheLastPlace(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	c, _, _ := l.Join(0, none)
	for i := range minChunk {
		l.Append([]int{i}, i, false)
	}
	assert.Zero(t, l.tail.first, "all of them fit into the first chunk")
	assert.Len(t, l.tail.entries, cap(l.tail.entries))
	l.Append([]int{minChunk}, minChunk, false)
	assert.Equal(t, uint64(minChunk), l.tail.first, "one more does not")
	assert.Len(t, read(t, c), minChunk+1)
}

func TestLongBatchBecomesAChunkUnlessItsSliceIsMostlyEmpty(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		len, cap int
		kept     bool
	}{
		{"shortest, full", minKept, minKept, true},
		{"shortest, half full", minKept, 2 * minKept, true},
		{"shortest, less than half full", minKept, 2*minKept + 1, false},
		{"long, less than half full", 10 * minKept, 100 * minKept, false},
		{"too short", minKept - 1, minKept - 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := New[int](0)
			c, _, _ := l.Join(0, none)
			batch := make([]int, tc.len, tc.cap)
			assert.Equal(t, tc.kept, l.Append(batch, 1, false))
			run, _, _ := c.Next()
			require.Len(t, run, tc.len)
			assert.Equal(t, tc.kept, &run[0] == &batch[0])
		})
	}
}

func TestLimitIsTheMostThatMayBeUnread(t *testing.T) {
	t.Parallel()
	const limit = 3 * minKept
	for name, more := range map[string]int{"exactly the limit": 0, "one more": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New[int](0)
			c, _, _ := l.Join(limit, none)
			l.Append(make([]int, minKept), 1, false) // each of them begins a chunk
			l.Append(make([]int, limit-minKept+more), 2, false)
			_, state, status := c.Next()
			if more == 0 {
				assert.Equal(t, Run, status)
				assert.Equal(t, 1, state)
			} else {
				assert.Equal(t, Detached, status)
				assert.Equal(t, 2, state)
			}
		})
	}
}

func TestIdleLogKeepsAShortChunkForTheNextEntries(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ entries, keeps int }{
		"the longest to be kept": {minKept, minKept},
		"a longer one":           {minKept + 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New[int](0)
			c, _, _ := l.Join(0, none)
			l.Append(make([]int, tc.entries), 1, false)
			read(t, c)
			assert.Equal(t, tc.keeps, cap(l.tail.entries))
			assert.Empty(t, l.tail.entries)
		})
	}
}

// An idle log keeps a short chunk, and must not keep the objects in it: it may
// never be full.
func TestIdleLogHoldsNoObjects(t *testing.T) {
	t.Parallel()
	type payload struct{ _ [64]byte }
	for name, end := range map[string]func(reader, other *Cursor[*payload, int]){
		"all readers wait": func(reader, other *Cursor[*payload, int]) {
			other.Next()
			other.Next()
		},
		"the last one behind has left": func(_, other *Cursor[*payload, int]) { other.Leave() },
		"all readers have left": func(reader, other *Cursor[*payload, int]) {
			reader.Leave()
			other.Leave()
		},
		"the last one left while it read": func(_, other *Cursor[*payload, int]) {
			other.Next()
			other.Leave()
			other.Next()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New[*payload](0)
			reader, _, _ := l.Join(0, none)
			other, _, _ := l.Join(0, none)
			object := func() weak.Pointer[payload] {
				p := &payload{}
				l.Append([]*payload{p}, 1, false)
				return weak.Make(p)
			}()
			reader.Next()
			_, _, status := reader.Next()
			require.Equal(t, Parked, status)
			runtime.GC()
			require.NotNil(t, object.Value(), "the other has not read it yet")
			end(reader, other)
			runtime.GC()
			assert.Nil(t, object.Value())
			runtime.KeepAlive(l)
			runtime.KeepAlive(reader)
			runtime.KeepAlive(other)
		})
	}
}

// A waiting cursor retains no earlier chunk.
func TestWaitingCursorIsAtTheTail(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	behind, _, _ := l.Join(0, none)
	c, _, _ := l.Join(0, none)
	for i := range 10 * minKept {
		l.Append(make([]int, 1+i%minKept), i, false)
		read(t, c)
		require.Same(t, l.tail, c.chunk)
	}
	assert.NotSame(t, l.tail, behind.chunk)
}

// The second of two appends in a row finds no waiting cursor. It must not drop the
// spare slice that the next cursors to wait would use.
func TestAppendWithoutAWaitingCursorDoesNotAllocate(t *testing.T) {
	l := New[int](0)
	c, _, _ := l.Join(0, none)
	batch := []int{1}
	drain := func() {
		for {
			if _, _, s := c.Next(); s == Parked {
				return
			}
		}
	}
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		l.Append(batch, 1, false)
		l.Append(batch, 1, false)
		drain()
		l.Append(batch, 1, false)
		drain()
	}))
}

// A cursor holds its reader's wake function, and with it all that a handler holds.
func TestLogRetainsNoCursorThatNoLongerWaits(t *testing.T) {
	t.Parallel()
	l := New[int](0)
	first, _, _ := l.Join(0, none)
	second, _, _ := l.Join(0, none)
	read(t, first)
	read(t, second)
	first.Leave()
	assert.Equal(t, []*Cursor[int, int]{second, nil}, l.parked[:2], "left")
	l.Append([]int{1}, 1, false)
	assert.Equal(t, []*Cursor[int, int]{nil, nil}, l.spare[:2], "woken")
}

// What was not read is garbage after Close, and what is appended after a reader
// has left is not held by the run that it still has in hand.
func TestClosedLogAndLeftCursorHoldNoEntries(t *testing.T) {
	t.Parallel()
	l := New[*[64]byte](0)
	behind, _, _ := l.Join(0, none)
	reading, _, _ := l.Join(0, none)
	l.Append([]*[64]byte{new([64]byte)}, 0, false)
	run, _, status := reading.Next()
	require.Equal(t, Run, status)
	reading.Leave()
	later := make([]weak.Pointer[[64]byte], 3*maxChunk)
	for i := range later {
		p := new([64]byte)
		later[i] = weak.Make(p)
		l.Append([]*[64]byte{p}, i, false)
	}
	alive := func() (n int) {
		runtime.GC()
		for _, p := range later {
			if p.Value() != nil {
				n++
			}
		}
		return n
	}
	require.Equal(t, len(later), alive(), "there is one that has not read them")
	behind.Leave()
	// The tail is cleared only when no reader has a run in hand.
	assert.LessOrEqual(t, alive(), maxChunk)
	next, _, _ := l.Join(0, none)
	for i := range later {
		p := new([64]byte)
		later[i] = weak.Make(p)
		l.Append([]*[64]byte{p}, i, false)
	}
	l.Close()
	assert.Zero(t, alive())
	runtime.KeepAlive(run)
	runtime.KeepAlive(reading)
	runtime.KeepAlive(next)
	runtime.KeepAlive(l)
}

// What a heavy batch holds does not show in its length, so the limit of a cursor does
// not count it.
func TestSecondUnreadHeavyBatchDetaches(t *testing.T) {
	t.Parallel()
	type payload struct{ _ [64]byte }
	for name, length := range map[string]int{"short": 1, "long enough to be kept": minKept} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New[*payload](0)
			stalled, _, _ := l.Join(1<<20, none)
			lossless, _, _ := l.Join(0, none)
			var objects []weak.Pointer[payload]
			grow := func(heavy bool, n int) {
				batch := make([]*payload, n)
				for i := range batch {
					batch[i] = new(payload)
				}
				objects = append(objects, weak.Make(batch[0]))
				l.Append(batch, len(objects), heavy)
			}
			grow(true, length)
			run, _, status := stalled.Next()
			require.Equal(t, Run, status)
			grow(false, 1)
			grow(true, length)
			grow(false, 1)
			lossless.Leave()
			runtime.GC()
			require.NotNil(t, objects[2].Value(), "one heavy batch may be unread")
			grow(true, length)
			runtime.GC()
			for i, o := range objects {
				assert.Equal(t, i == 0 || i == 4, o.Value() != nil, "batch %d", i) // in hand, and the tail
			}
			runtime.KeepAlive(run)
			_, state, status := stalled.Next()
			assert.Equal(t, Detached, status)
			assert.Equal(t, 5, state)
			grow(true, length)
			_, _, status = stalled.Next()
			assert.Equal(t, Run, status, "it has read the last one")
			runtime.KeepAlive(l)
		})
	}
}
