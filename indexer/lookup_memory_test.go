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

// length returns how many removals follow.
func (r *removal) length() (n int) {
	for e := r.next.Load(); e != nil; e = e.next.Load() {
		n++
	}
	return n
}

// A snapshot that is kept has a list of what was removed since. The writer does not make it longer for
// ever, whether what it did was published or not, and each snapshot finds what it has.
func TestListOfRemovalsIsBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 8, 9, 100, 3000} {
		ix := newIndexer(t)
		pods := make([]*pod, n)
		for i := range pods {
			pods[i] = newPod("n", fmt.Sprint("p", i))
		}
		set(t, ix, pods...)
		type version struct {
			*Snapshot[*pod]
			missing int // the number of a pod, or -1
		}
		versions := []version{{ix.Snapshot(), -1}}
		most := max(goneLeast, 2*n) + 1
		tables, last := 0, ix.lookup.lookup
		for i := range 5 * most {
			if ix.lookup.lookup != last {
				tables, last = tables+1, ix.lookup.lookup
			}
			b := ix.Batch()
			b.Delete(key("n", fmt.Sprint("p", i%n)))
			if i%3 == 0 {
				b.Discard()
				continue
			}
			if s := b.Commit(); i%(most/7) == 0 {
				versions = append(versions, version{s, i % n})
			}
			s := set(t, ix, pods[i%n])
			if i%(most/5) == 0 {
				versions = append(versions, version{s, -1})
			}
		}
		longest := 0
		for _, v := range versions {
			longest = max(longest, v.removed.length())
			for i, p := range pods {
				got, ok := v.Get(key("n", p.Name))
				require.Equal(t, i != v.missing, ok)
				require.True(t, !ok || got == p)
			}
			_, ok := v.Get(key("n", "none"))
			require.False(t, ok)
		}
		require.LessOrEqual(t, tables, 6, "how often all of it was copied")
		require.LessOrEqual(t, longest, most)
		if n <= neighbours {
			require.Zero(t, longest, "it needs none")
		} else {
			require.Greater(t, longest, most/2)
		}
	}
}

// The buckets that a batch has edited are garbage when it is discarded.
func TestDiscardClearsTheCacheOfNamespaces(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	set(t, ix, numbered(100)...)
	b := ix.Batch()
	_, _, err := b.Set(newPod("ns-1", "p"))
	require.NoError(t, err)
	require.NotNil(t, ix.lookup.edited.get("ns-1"))
	b.Discard()
	require.Equal(t, bucketCache{}, *ix.lookup.edited)
}

// The batch makes a table and empties it again, so that there is less of it than a small store has.
func TestDiscardOfABatchThatHasEmptiedASmallStore(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	for _, indexes := range [][]IndexDefinition[*pod]{nil, {app}} {
		for n := range neighbours + 1 {
			ix := newIndexer(t, indexes...)
			pods := make([]*pod, n)
			for i := range pods {
				pods[i] = newPod("n", fmt.Sprint("p", i), "app", "web")
			}
			set(t, ix, pods...)
			b := ix.Batch()
			for i := range minCells*neighbours + 1 {
				_, _, err := b.Set(newPod("n", fmt.Sprint("p", i), "app", "db"))
				require.NoError(t, err)
			}
			_, err := b.Replace(nil)
			require.NoError(t, err)
			b.Discard()

			// The next batch gets the lock, and finds all that there is.
			s := set(t, ix, newPod("n", "next", "app", "web"))
			require.Equal(t, n+1, s.Len())
			require.Len(t, slices.Collect(s.ByNamespace("n")), n+1)
			if len(indexes) > 0 {
				require.Len(t, by(t, s, app, "web"), n+1)
				require.Empty(t, by(t, s, app, "db"))
			}
			for _, p := range pods {
				removeNames(ix, p.Name)
			}
			require.Equal(t, 1, ix.Len())
			if len(indexes) > 0 {
				require.Equal(t, []string{"n/next"}, by(t, ix.Snapshot(), app, "web"))
			}
		}
	}
}
