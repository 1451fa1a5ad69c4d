package deltafifo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise deltafifo/11
func TestTheQueueReleasesTheMemoryOfABurst(t *testing.T) {
	t.Parallel()
	q := inOrder{New(Options[thing]{Limit: unbounded})}
	obj := newThing("a", "1")
	burst := func(n int) {
		for range n {
			require.NoError(t, q.Update(t.Context(), obj))
		}
		popOnce(t, q)
	}
	held := func() int { return cap(q.fill) + cap(q.spare) }
	for range 3 {
		burst(defaultLimit)
		burst(defaultLimit)
		assert.GreaterOrEqual(t, held(), 2*defaultLimit, "a burst may be followed by another")
		burst(defaultLimit + 1)
		burst(defaultLimit + 1)
		assert.Zero(t, held(), "a longer one is released when it has been processed")
		burst(1000)
		burst(1000)
		assert.GreaterOrEqual(t, held(), 2000)
		burst(10)
		burst(10)
		burst(10)
		assert.LessOrEqual(t, held(), 2*4*16, "busy, but with small batches")
	}
}
