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

// few objects fill two leaves.
const few = 8

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

		// The last one of a group of few goes with its keys.
		removeNames(ix, "stays")
		runtime.KeepAlive(old)
		require.Equal(t, []bool{true}, collected(v1))
	})
}

func TestDiscardedBatchKeepsNothing(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		others := ix.Batch()
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
	})
}

// What a batch has frozen shares nodes with the published state, and may still be iterated
// over, or compared, when the batch is discarded.
func TestFrozenStateOfADiscardedBatchStaysAsItWas(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	pods := numbered(few)
	set(t, ix, pods...)
	b := ix.Batch()
	more := numbered(3 * few)
	for _, p := range more {
		_, _, err := b.Set(p)
		require.NoError(t, err)
	}
	frozen := b.freeze()
	b.Discard()
	later := numbered(3 * few)
	set(t, ix, later...) // with the same keys
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
		for _, p := range numbered(3 * few) {
			_, _, err := b.Set(p)
			require.NoError(t, err)
		}
		frozen = b.freeze()
		for _, p := range numbered(3 * few) {
			_, _, err := b.Set(p)
			require.NoError(t, err)
			later = append(later, weak.Make(p))
		}
		return frozen, later
	}
	frozen, later := write()
	require.NotContains(t, collected(later...), false)
	require.Equal(t, 3*few, frozen.Len())
}

func TestDiscardOfABatchThatHasGrownAndEmptiedTheStore(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	for _, indexes := range [][]IndexDefinition[*pod]{nil, {app}} {
		for n := range few + 1 {
			ix := newIndexer(t, indexes...)
			pods := make([]*pod, n)
			for i := range pods {
				pods[i] = newPod("n", fmt.Sprint("p", i), "app", "web")
			}
			set(t, ix, pods...)
			b := ix.Batch()
			for i := range 1000 + 1 {
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
			require.Equal(t, 1, ix.Snapshot().Len())
			if len(indexes) > 0 {
				require.Equal(t, []string{"n/next"}, by(t, ix.Snapshot(), app, "web"))
			}
		}
	}
}
