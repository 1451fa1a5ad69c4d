package deltafifo

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// Promise deltafifo/14
func TestTheBatchQueueReleasesTheMemoryOfABurst(t *testing.T) {
	t.Parallel()
	q := batchQueue{NewBatch[thing](BatchOptions{Limit: Unbounded})}
	obj := newThing("a", "1")
	burst := func(n int) {
		for range n {
			require.NoError(t, q.Update(t.Context(), obj))
		}
		popOnce(t, q)
	}
	held := func() int { return cap(q.fill) + cap(q.spare) }
	for range 3 {
		burst(DefaultLimit)
		burst(DefaultLimit)
		assert.GreaterOrEqual(t, held(), 2*DefaultLimit, "a burst may be followed by another")
		burst(DefaultLimit + 1)
		burst(DefaultLimit + 1)
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

// Promise deltafifo/11
func TestTheDeltaFIFOReleasesTheMemoryOfABurst(t *testing.T) {
	t.Parallel()
	q := deltaQueue{New(Options[thing]{Limit: Unbounded})}
	fill := func(n int) {
		for i := range n {
			require.NoError(t, q.Add(t.Context(), newThing(strconv.Itoa(i), "1")))
		}
	}
	for range 3 {
		fill(5_000)
		assert.Equal(t, 5_000, q.peak)
		drain(t, q, nil)
		assert.Zero(t, q.peak, "the map has been replaced")
		assert.Zero(t, cap(q.keys))
		fill(maxKept)
		drain(t, q, nil)
		assert.Equal(t, maxKept, q.peak, "a steady load keeps the map")
	}
}

// The line may never be empty: neither what has left nor the place where it was
// may stay.
func TestTheLineOfKeysIsAsLongAsWhatIsQueued(t *testing.T) {
	t.Parallel()
	q := deltaQueue{New(Options[thing]{Limit: Unbounded})}
	next, first := 0, 0
	add := func() {
		require.NoError(t, q.Add(t.Context(), newThing(strconv.Itoa(next), "1")))
		next++
	}
	for range 10 {
		add()
	}
	for range 10_000 {
		add()
		line := q.keys
		head := q.head
		assert.Equal(t, keyNamed(strconv.Itoa(first)), popOnce(t, q)[0].Key)
		first++
		require.Equal(t, types.NamespacedName{}, line[head], "a key that has left")
	}
	assert.Len(t, q.ListKeys(), 10)
	assert.LessOrEqual(t, cap(q.keys), 64)
	for i, key := range q.ListKeys() {
		assert.Equal(t, keyNamed(strconv.Itoa(first+i)), key)
	}
	for _, gap := range q.keys[:q.head] {
		assert.Zero(t, gap)
	}
	for _, gap := range q.keys[len(q.keys):cap(q.keys)] {
		assert.Zero(t, gap)
	}
}
