package indexer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise indexer/6
func TestDiffOfSnapshots(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	a := set(t, ix, newPod("a", "stays"), newPod("a", "changes"), newPod("b", "goes"))
	b := ix.Batch()
	next := newPod("a", "changes")
	_, _, err := b.Set(next)
	require.NoError(t, err)
	b.Delete(key("b", "goes"))
	_, _, err = b.Set(newPod("c", "comes"))
	require.NoError(t, err)
	c := b.Commit()

	got := map[string]Change[*pod]{}
	for ch := range Diff(a, c) {
		got[ch.Key.String()] = ch
	}
	require.Len(t, got, 3)
	require.Equal(t, Updated, got["a/changes"].Type)
	require.Same(t, next, got["a/changes"].New)
	require.NotNil(t, got["a/changes"].Old)
	require.Equal(t, Added, got["c/comes"].Type)
	require.Nil(t, got["c/comes"].Old)
	require.Equal(t, Deleted, got["b/goes"].Type)
	require.Nil(t, got["b/goes"].New)
	require.Equal(t, 3, count(Diff(c, a)), "and back")
	require.Zero(t, count(Diff(a, a)))
	require.Zero(t, count(Diff[*pod](nil, nil)))
	require.Equal(t, 3, count(Diff(nil, a)), "everything is new")
	require.Equal(t, 3, count(Diff(a, nil)), "everything is gone")
}

// The neighbours of a changed object are in the same leaf, or in one whose shape has
// changed; what is identical in both snapshots is no difference.
//
// Promise indexer/6
func TestDiffYieldsNothingThatStayed(t *testing.T) {
	t.Parallel()
	pods := numbered(500)
	for _, n := range []int{2, 6, 7, 40, 500} {
		for _, namespaces := range []int{1, 10} {
			ix := newIndexer(t)
			for i := range pods[:n] {
				pods[i] = newPod(fmt.Sprint("ns-", i%namespaces), fmt.Sprint("pod-", i))
			}
			for i := range n {
				before := set(t, ix, pods[:n]...)
				b := ix.Batch()
				b.Delete(key(pods[i].Namespace, pods[i].Name))
				deleted := b.Commit()
				require.Equal(t, 1, count(Diff(before, deleted)), "%d objects, %d deleted", n, i)
				require.Equal(t, 1, count(Diff(deleted, before)))
				changed := set(t, ix, pods[i].DeepCopy())
				require.Equal(t, 1, count(Diff(before, changed)), "%d objects, %d changed", n, i)
				require.Zero(t, count(Diff(before, set(t, ix, pods[i]))), "equal again, but not the same snapshot")
				if i > 20 {
					break
				}
			}
		}
	}
}

func TestDiffOfSnapshotsOfTwoIndexers(t *testing.T) {
	t.Parallel()
	pods := numbered(100)
	x, y := newIndexer(t), newIndexer(t)
	a := set(t, x, pods[:80]...)
	other := numbered(100)
	b := set(t, y, append(other[70:], pods[10:70]...)...)
	types := map[ChangeType]int{}
	for c := range Diff(a, b) {
		types[c.Type]++
		require.Equal(t, c.Type != Added, c.Old != nil)
		require.Equal(t, c.Type != Deleted, c.New != nil)
	}
	require.Equal(t, map[ChangeType]int{Deleted: 10, Updated: 10, Added: 20}, types)
}
