package indexer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise indexer/5
func TestReplaceIsADiff(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, app)
	old := numbered(100)
	before := set(t, ix, old...)

	list := numbered(100)[:90] // copies of the same versions
	list[3].ResourceVersion = "1003"
	list[4].UID = "recreated"
	list[5].ResourceVersion = ""
	list = append(list, newPod("ns-1", "new"))
	b := ix.Batch()
	defer b.Discard()
	res, err := b.Replace(list)
	require.NoError(t, err)
	require.Equal(t, ReplaceResult{Added: 1, Updated: 3, Deleted: 10, Unchanged: 87}, res)
	after := b.Commit()

	for i, p := range old[:90] {
		got, ok := after.Get(key(p.Namespace, p.Name))
		require.True(t, ok)
		if i >= 3 && i <= 5 {
			require.Same(t, list[i], got)
		} else {
			require.Same(t, p, got, "an unchanged object keeps its pointer")
		}
	}
	changes := map[ChangeType]int{}
	for c := range Diff(before, after) {
		changes[c.Type]++
	}
	require.Equal(t, map[ChangeType]int{Added: 1, Updated: 3, Deleted: 10}, changes)
}

// Promise indexer/5
func TestReplaceThatChangesNothingPublishesNothing(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t, LabelIndex[*pod]("app"))
	before := set(t, ix, numbered(100)...)
	b := ix.Batch()
	res, err := b.Replace(numbered(100))
	require.NoError(t, err)
	require.Equal(t, ReplaceResult{Unchanged: 100}, res)
	require.Same(t, before, b.Commit())
}

func TestReplaceWithNothingEmptiesTheStore(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, app)
	set(t, ix, numbered(100)...)
	b := ix.Batch()
	res, err := b.Replace(nil)
	require.NoError(t, err)
	require.Equal(t, ReplaceResult{Deleted: 100}, res)
	s := b.Commit()
	require.Zero(t, s.Len())
	require.Empty(t, names(s.All()))
	require.Empty(t, values(t, s, app))
}

func TestReplaceLeavesOutBadObjectsAndReportsEach(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	list := numbered(10)
	list[2], list[5] = nil, newPod("a", "")
	b := ix.Batch()
	res, err := b.Replace(list)
	require.ErrorIs(t, err, errInvalidObject)
	require.ErrorContains(t, err, "object is nil")
	require.ErrorIs(t, err, errInvalidObject)
	require.ErrorContains(t, err, "no metadata.name")
	require.ErrorContains(t, err, "number 5")
	require.Equal(t, 8, res.Added)
	require.Equal(t, 8, b.Commit().Len())
}

func TestReplaceCountsTheVeryPointerAsUnchanged(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	p := newPod("a", "without a resourceVersion")
	before := set(t, ix, p)
	b := ix.Batch()
	res, err := b.Replace([]*pod{p})
	require.NoError(t, err)
	require.Equal(t, ReplaceResult{Unchanged: 1}, res)
	require.Same(t, before, b.Commit())
}

func TestReplaceNamespaceTouchesNoOther(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	set(t, ix, numbered(100)...)
	b := ix.Batch()
	res, err := b.ReplaceNamespace("ns-1", []*pod{newPod("ns-1", "a"), newPod("ns-2", "stray"), nil})
	require.ErrorContains(t, err, "ns-2/stray")
	require.ErrorIs(t, err, errInvalidObject)
	require.ErrorContains(t, err, "object is nil")
	require.ErrorContains(t, err, "number 2", "of the list that was given")
	require.Equal(t, ReplaceResult{Added: 1, Deleted: 10}, res)
	s := b.Commit()
	require.Equal(t, []string{"ns-1/a"}, names(s.ByNamespace("ns-1")))
	require.Equal(t, 91, s.Len())
	_, ok := s.Get(key("ns-2", "stray"))
	require.False(t, ok)
}
