package indexer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/object"
)

// manyObjects are more than a leaf has.
const manyObjects = 32

// The group that the batch has removed must not get what comes after it.
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

func TestWhatWasAddedLastIsRemovedFromOneVersionOnly(t *testing.T) {
	t.Parallel()
	for first := range manyObjects + 3 {
		ix := newIndexer(t)
		var pods []*pod
		for i := range manyObjects + 3 {
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

func TestListOfANamespaceEndsWhereTheCallerEndsIt(t *testing.T) {
	t.Parallel()
	const n = 2*manyObjects + 9
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
