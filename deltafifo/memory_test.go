package deltafifo

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	fill := func(objects, changes int) {
		for i := range objects * changes {
			require.NoError(t, q.Update(t.Context(), newThing(strconv.Itoa(i%objects), "1")))
		}
	}
	for range 3 {
		fill(5_000, 1)
		assert.GreaterOrEqual(t, q.line.items.made, 5_000)
		large := reflect.ValueOf(q.line.byKey).Pointer()
		drain(t, q, nil)
		assert.Zero(t, q.line.items.made, "the pages of many objects")
		assert.Empty(t, q.line.items.free)
		assert.NotEqual(t, large, reflect.ValueOf(q.line.byKey).Pointer(), "the map of many objects")
		fill(1, 5_000)
		assert.GreaterOrEqual(t, q.line.later.made, 4_999)
		drain(t, q, nil)
		assert.Zero(t, q.line.later.made, "the pages of many changes")
		assert.Empty(t, q.line.later.free)
		fill(maxKept, 2)
		drain(t, q, nil)
		assert.Equal(t, maxKept, q.line.items.made, "a steady load keeps its memory")
		assert.Equal(t, maxKept, q.line.later.made)
		fill(maxKept, 2)
		assert.Equal(t, maxKept, q.line.items.made, "and uses it again")
		assert.Equal(t, maxKept, q.line.later.made)
		drain(t, q, nil)
	}
}

// Promise deltafifo/11
func TestAQueueThatIsNeverEmptyKeepsLittleOfABurst(t *testing.T) {
	t.Parallel()
	q := deltaQueue{New(Options[thing]{Limit: Unbounded})}
	for i := range 20_000 {
		require.NoError(t, q.Update(t.Context(), newThing(strconv.Itoa(i/2), "1")))
	}
	for range 9_999 {
		popOnce(t, q)
	}
	assert.Len(t, q.ListKeys(), 1)
	assert.Len(t, q.line.items.free, maxKept)
	assert.Len(t, q.line.later.free, maxKept)
}

// The line may never be empty: neither what has left nor the place where it was
// may stay.
func TestTheLineIsAsLongAsWhatIsQueued(t *testing.T) {
	t.Parallel()
	q := deltaQueue{New(Options[thing]{Limit: Unbounded})}
	next, first := 0, 0
	add := func() {
		for range 3 {
			require.NoError(t, q.Update(t.Context(), newThing(strconv.Itoa(next), "1")))
		}
		next++
	}
	for range 10 {
		add()
	}
	for range 10_000 {
		add()
		left := q.line.first
		newest := left.newest
		assert.Equal(t, keyNamed(strconv.Itoa(first)), popOnce(t, q)[0].Key)
		first++
		require.Equal(t, item[thing]{}, *left, "an object that has left")
		require.Equal(t, laterDelta[thing]{}, *newest, "a delta that has left")
	}
	assert.Len(t, q.ListKeys(), 10)
	assert.Equal(t, perPage, q.line.items.made)
	assert.Equal(t, 2*perPage, q.line.later.made)
	for i, key := range q.ListKeys() {
		assert.Equal(t, keyNamed(strconv.Itoa(first+i)), key)
	}
	for _, free := range q.line.items.free {
		assert.Zero(t, *free)
	}
	for _, free := range q.line.later.free {
		assert.Zero(t, *free)
	}
}
