package indexer

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/object"
)

// storeWeakly stores a new object and returns only a weak pointer to it.
func storeWeakly(t *testing.T, ix *Indexer[*pod], name string) weak.Pointer[pod] {
	t.Helper()
	p := newPod("n", name)
	set(t, ix, p)
	return weak.Make(p)
}

func removeNames(ix *Indexer[*pod], names ...string) {
	b := ix.Batch()
	for _, name := range names {
		b.Delete(key("n", name))
	}
	b.Commit()
}

// collected reports what the garbage collector has taken.
//
// Of a goroutine that is preempted the collector cannot tell numbers from addresses. On 32 bits a hash
// of another test may well look like the address of a pod, so one collection is not enough.
func collected(pods ...weak.Pointer[pod]) []bool {
	const collections = 4
	out := make([]bool, len(pods))
	for range collections {
		runtime.GC()
		for i, p := range pods {
			out[i] = p.Value() == nil
		}
		if !slices.Contains(out, false) {
			break
		}
	}
	return out
}

func TestOldSnapshotKeepsItsOwnObjectsOnly(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		storeWeakly(t, ix, "stays")
		v1 := storeWeakly(t, ix, "p")
		old := ix.Snapshot()
		v2 := storeWeakly(t, ix, "p")
		v3 := storeWeakly(t, ix, "p")
		q := storeWeakly(t, ix, "q")
		require.Equal(t, []bool{false, true, false, false}, collected(v1, v2, v3, q))
		removeNames(ix, "p", "q")
		require.Equal(t, []bool{false, true, true}, collected(v1, v3, q))
		got, ok := old.Get(key("n", "p"))
		require.True(t, ok && got == v1.Value())

		// The last one of a group of neighbours goes with its keys.
		removeNames(ix, "stays")
		runtime.KeepAlive(old)
		require.Equal(t, []bool{true}, collected(v1))
	})
}

func TestOldTableKeepsNoNewerObjects(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	var first []*pod
	for i := range 100 {
		first = append(first, newPod("n", fmt.Sprint("first", i)))
	}
	set(t, ix, first...)
	b := ix.Batch()
	for _, p := range first[1:] {
		b.Delete(object.KeyOf(p))
	}
	old := b.Commit() // with room for many
	var later []weak.Pointer[pod]
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprint("later", i))
		later = append(later, storeWeakly(t, ix, names[i]))
	}
	for i := range 1000 {
		names = append(names, fmt.Sprint("more", i))
		storeWeakly(t, ix, names[len(names)-1])
	}
	require.NotSame(t, &old.lookup.chunks[0][0], &ix.Snapshot().lookup.chunks[0][0])
	removeNames(ix, names...)
	require.NotContains(t, collected(later...), false, "of those that are deleted")
	got, ok := old.Get(key("n", "first0"))
	require.True(t, ok && got == first[0])
}

func TestDiscardedBatchKeepsNothing(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		others := ix.Batch() // a table stays
		for p := range ix.All() {
			others.Delete(object.KeyOf(p))
		}
		others.Commit()
		kept := storeWeakly(t, ix, "p")
		discard := func() (pods []weak.Pointer[pod]) {
			b := ix.Batch()
			defer b.Discard()
			for i := range 10_000 {
				p := newPod("n", fmt.Sprint("q", i))
				_, _, err := b.Set(p)
				require.NoError(t, err)
				pods = append(pods, weak.Make(p))
			}
			p := newPod("n", "p")
			_, _, err := b.Set(p)
			require.NoError(t, err)
			return append(pods, weak.Make(p))
		}
		before := ix.Snapshot()
		for i, gone := range collected(discard()...) {
			if !gone {
				require.Failf(t, "kept", "object %d", i)
			}
		}
		require.Equal(t, []bool{false}, collected(kept))
		require.Same(t, before, ix.Snapshot())

		// Nor does it leave its room.
		require.LessOrEqual(t, len(ix.lookup.cells), minCells)
		require.LessOrEqual(t, ix.lookup.room, minCells*neighbours)
		require.LessOrEqual(t, len(ix.lookup.places), minCells*neighbours)
	})
}

// As above, in a store without objects.
func TestDiscardedFirstBatchLeavesNoRoom(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	b := ix.Batch()
	for _, p := range numbered(5000) {
		_, _, err := b.Set(p)
		require.NoError(t, err)
	}
	require.False(t, ix.lookup.small())
	b.Discard()
	require.True(t, ix.lookup.small(), "it has no table either")
	require.Len(t, ix.lookup.places, neighbours)
}

// What a batch has frozen shares keys with the published state, and may still be iterated
// over, or compared, when the batch is discarded.
func TestFrozenStateOfADiscardedBatchStaysAsItWas(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	pods := numbered(neighbours)
	set(t, ix, pods...)
	b := ix.Batch()
	more := numbered(3 * neighbours)
	for _, p := range more {
		_, _, err := b.Set(p)
		require.NoError(t, err)
	}
	frozen := b.freeze()
	require.NotSame(t, emptyLookup, frozen.lookup)
	b.Discard()
	later := numbered(3 * neighbours)
	set(t, ix, later...) // makes a table again, with the same keys
	for i, p := range more {
		got, ok := frozen.Get(object.KeyOf(p))
		require.True(t, ok && got == p, "%d", i)
		got, ok = ix.Get(object.KeyOf(p))
		require.True(t, ok && got == later[i], "%d", i)
	}
}

func TestFrozenStateOfADiscardedBatchKeepsNoNewerObjects(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	write := func() (frozen *Snapshot[*pod], later []weak.Pointer[pod]) {
		b := ix.Batch()
		defer b.Discard()
		for _, p := range numbered(3 * neighbours) {
			_, _, err := b.Set(p)
			require.NoError(t, err)
		}
		frozen = b.freeze()
		for _, p := range numbered(3 * neighbours) {
			_, _, err := b.Set(p)
			require.NoError(t, err)
			later = append(later, weak.Make(p))
		}
		return frozen, later
	}
	frozen, later := write()
	require.NotContains(t, collected(later...), false)
	require.Equal(t, 3*neighbours, frozen.Len())
}
