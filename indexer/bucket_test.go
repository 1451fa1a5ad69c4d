package indexer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/object"
)

// sharedPlaces returns two namespaces that have the same place in the cache.
func sharedPlaces() (a, b string) {
	a = "team-a"
	for i := 0; ; i++ {
		if b = fmt.Sprint("team-", i); place(a) == place(b) {
			return a, b
		}
	}
}

func TestNamespacesThatShareAPlaceInTheCache(t *testing.T) {
	t.Parallel()
	one, other := sharedPlaces()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		var pods []*pod
		for i := range 2*maxRecent + 5 {
			pods = append(pods, newPod(one, fmt.Sprint("p", i)), newPod(other, fmt.Sprint("p", i)))
		}
		half := set(t, ix, pods[:len(pods)/2]...)
		all := set(t, ix, pods[len(pods)/2:]...)
		require.Equal(t, maxRecent+3, half.NamespaceLen(one))
		require.Equal(t, maxRecent+2, half.NamespaceLen(other))
		require.Equal(t, 2*maxRecent+5, all.NamespaceLen(one))
		for _, s := range []*Snapshot[*pod]{half, all} {
			for _, namespace := range []string{one, other} {
				require.Len(t, names(s.ByNamespace(namespace)), s.NamespaceLen(namespace))
				for p := range s.ByNamespace(namespace) {
					require.Equal(t, namespace, p.Namespace)
				}
			}
		}
	})
}

// The bucket that the batch has removed must not get what comes after it.
func TestNamespaceThatBecomesEmptyAndIsFilledAgainInABatch(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		b := ix.Batch()
		defer b.Discard()
		for i := range 3 {
			_, _, err := b.Set(newPod("team-a", fmt.Sprint("p", i)))
			require.NoError(t, err)
			_, existed := b.Delete(key("team-a", fmt.Sprint("p", i)))
			require.True(t, existed)
		}
		_, _, err := b.Set(newPod("team-a", "last"))
		require.NoError(t, err)
		s := b.Commit()
		require.Equal(t, []string{"team-a/last"}, names(s.ByNamespace("team-a")))
		require.Equal(t, 1, s.NamespaceLen("team-a"))
	})
}

// Versions share the memory of what was added last.
func TestWhatWasAddedLastIsRemovedFromOneVersionOnly(t *testing.T) {
	t.Parallel()
	for first := range maxRecent + 3 {
		ix := newIndexer(t)
		var pods []*pod
		for i := range maxRecent + 3 {
			pods = append(pods, newPod("a", fmt.Sprintf("p%02d", i)))
		}
		all := set(t, ix, pods...)
		b := ix.Batch()
		gone, existed := b.Delete(object.KeyOf(pods[first]))
		require.True(t, existed)
		_, _, err := b.Set(newPod("a", "new"))
		require.NoError(t, err)
		fewer := b.Commit()
		require.Len(t, names(all.ByNamespace("a")), len(pods))
		require.Contains(t, names(all.ByNamespace("a")), object.KeyOf(gone).String())
		require.NotContains(t, names(all.ByNamespace("a")), "a/new")
		require.Len(t, names(fewer.ByNamespace("a")), len(pods))
		require.NotContains(t, names(fewer.ByNamespace("a")), object.KeyOf(gone).String())
	}
}

// A batch with three objects for each of many namespaces copies each bucket once, and next to nothing else.
func TestAddToManyNamespacesAllocatesOneBucketEach(t *testing.T) {
	const namespaces, before, runs = 50, 100, 100
	var batches [][]*pod
	for n := range before + runs + 1 {
		var pods []*pod
		for i := range 3 * namespaces {
			pods = append(pods, newPod(fmt.Sprint("team-", i%namespaces), fmt.Sprint("p", n, "-", i)))
		}
		batches = append(batches, pods)
	}
	ix := newIndexer(t)
	failed := false
	add := func() {
		b := ix.Batch()
		for _, p := range batches[0] {
			_, _, err := b.Set(p)
			failed = failed || err != nil
		}
		b.Commit()
		batches = batches[1:]
	}
	for range before {
		add()
	}
	// The rest is the nodes that have the objects, the keys and the buckets, and the places of
	// 32 objects of a namespace now and then.
	require.Less(t, testing.AllocsPerRun(runs, add)/namespaces, 3.5)
	require.False(t, failed)
}

func TestBatchCopiesThePlacedNumbersOnce(t *testing.T) {
	t.Parallel()
	published := &placedNumbers{gen: 1}
	nb := &bucket{placed: published}
	own := nb.ownPlaced(2)
	require.NotSame(t, published, own)
	require.Same(t, own, nb.ownPlaced(2))
	require.NotSame(t, own, nb.ownPlaced(3))
}

func TestBucketsAreFoundAgainWithoutTheirHash(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		for i := range 2 { // a namespace that is new, and one that is not
			s := set(t, ix, newPod("team-a", fmt.Sprint("p", i)))
			nb, _ := s.bucket("team-a")
			if ix.lookup.small() {
				require.Nil(t, ix.lookup.edited, "it would take most of the memory of a small store")
			} else {
				require.Same(t, nb, ix.lookup.edited.get("team-a"))
			}
		}
	})
}

func TestListOfANamespaceEndsWhereTheCallerEndsIt(t *testing.T) {
	t.Parallel()
	const n = 2*maxRecent + 9
	ix := newIndexer(t)
	for i := range n {
		set(t, ix, newPod("a", fmt.Sprint("p", i)))
	}
	for end := range n {
		seen := 0
		for range ix.Snapshot().ByNamespace("a") {
			if seen++; seen > end {
				break
			}
		}
		require.Equal(t, end+1, seen)
	}
}

func TestIndexFunctionsKeepNothingOfAnObjectThatIsSetAgain(t *testing.T) {
	t.Parallel()
	x := ports()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		p := withPorts(newPod("a", "p"), 80, 81)
		before := set(t, ix, p)
		require.Same(t, before, set(t, ix, p))
		require.Equal(t, []int{0, 0}, before.tables[0].(*indexTable[*pod, int]).state.new[:2])
	}, x)
}
