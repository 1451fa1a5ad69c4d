package eventlog

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var seed = flag.Uint64("seed", 0, "the seed of the random histories; 0 chooses one")

// reader is what a cursor must see according to the model: all entries from at.
type reader struct {
	c     *Cursor[int, int]
	limit int
	at    int
	heavy []int // the ends of the heavy batches that it has not read
}

// TestRandomHistories compares the log with a plain slice of everything that was
// ever appended, the state of which is its length.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("seed %d; repeat with -args -seed=%d", s, s)
	rnd := rand.New(rand.NewPCG(s, 0))
	for range 300 {
		history(t, rnd)
	}
}

func history(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	l := New[int](0)
	total := 0
	var readers []*reader
	for range 200 {
		switch op := rnd.IntN(10); {
		case op < 4:
			n := rnd.IntN(20)
			if rnd.IntN(20) == 0 {
				n = rnd.IntN(1000)
			}
			batch := make([]int, n, n+rnd.IntN(2*n+1))
			for i := range batch {
				batch[i] = total
				total++
			}
			heavy := n > 0 && rnd.IntN(4) == 0
			for _, r := range readers {
				if heavy {
					r.heavy = append(r.heavy, total)
				}
			}
			if !l.Append(batch, total, heavy) {
				clear(batch) // it is ours
			}
		case op < 5 && len(readers) < 10:
			r := &reader{limit: rnd.IntN(3) * 300}
			var ok bool
			r.c, r.at, ok = l.Join(r.limit, func() {})
			require.True(t, ok)
			require.Equal(t, total, r.at)
			readers = append(readers, r)
		case len(readers) == 0:
		case op < 6:
			i := rnd.IntN(len(readers))
			readers[i].c.Leave()
			_, _, status := readers[i].c.Next()
			require.Equal(t, Closed, status)
			readers = append(readers[:i], readers[i+1:]...)
		default:
			readers[rnd.IntN(len(readers))].next(t, total)
		}
	}
	require.Equal(t, total, l.state)
	require.Equal(t, uint64(total), l.End())
}

func (r *reader) next(t *testing.T, total int) {
	t.Helper()
	lag := r.c.Lag()
	run, state, status := r.c.Next()
	switch status {
	case Run:
		for _, v := range run {
			require.Equal(t, r.at, v)
			r.at++
		}
		require.Equal(t, r.at, state, "the state is that after the run")
		require.False(t, r.limit > 0 && len(r.heavy) > 1, "two heavy batches detach")
		r.heavy = slices.DeleteFunc(r.heavy, func(end int) bool { return end <= r.at })
	case Detached:
		require.Positive(t, r.limit, "a cursor without limit is never detached")
		require.Equal(t, total, state)
		require.True(t, lag > r.limit || len(r.heavy) > 1)
		r.at, r.heavy = total, nil
	case Parked:
		require.Equal(t, total, r.at, "nothing may be left when a cursor parks")
		require.Same(t, r.c.log.tail, r.c.chunk, "a waiting cursor retains no earlier chunk")
	case Closed:
		require.Fail(t, "closed")
	}
	require.Equal(t, total-r.at, r.c.Lag())
}
