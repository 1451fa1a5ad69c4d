package indexer

import (
	"fmt"
	"runtime"
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
func collected(pods ...weak.Pointer[pod]) []bool {
	runtime.GC()
	out := make([]bool, len(pods))
	for i, p := range pods {
		out[i] = p.Value() == nil
	}
	return out
}

func TestOldSnapshotKeepsItsOwnObjectsOnly(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
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
	require.NotSame(t, &old.lookup.latest[0], &ix.Snapshot().lookup.latest[0])
	removeNames(ix, names...)
	require.NotContains(t, collected(later...), false, "of those that are deleted")
	got, ok := old.Get(key("n", "first0"))
	require.True(t, ok && got == first[0])
}

func TestDiscardedBatchKeepsNothing(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
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
	require.Len(t, ix.lookup.cells, minCells)
	require.LessOrEqual(t, len(ix.lookup.latest), minCells)
	require.LessOrEqual(t, len(ix.lookup.places), minCells*neighbours)
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
	b.Discard()
	require.LessOrEqual(t, len(ix.lookup.latest), minCells)
}
