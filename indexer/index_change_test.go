package indexer

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRemovingAnIndexLeavesThoseOfOlderSnapshots(t *testing.T) {
	t.Parallel()
	defs := []*Index[*pod, string]{
		LabelIndex[*pod]("app"), NewSingleIndex("namespace", func(p *pod) (string, bool) { return p.Namespace, true }),
		NewSingleIndex("node", func(p *pod) (string, bool) { return p.Spec.NodeName, true }),
		NewSingleIndex("name", func(p *pod) (string, bool) { return p.Name, true }),
	}
	queries := []string{"app-1", "ns-1", "node-1", "pod-1"}
	for _, gone := range defs {
		ix := newIndexer(t, defs[0], defs[1], defs[2], defs[3])
		set(t, ix, numbered(70)...)
		before := ix.Snapshot()
		require.NoError(t, ix.RemoveIndex(gone.Name()))
		after := ix.Snapshot()
		for i, x := range defs {
			want := by(t, before, x, queries[i])
			require.NotEmpty(t, want)
			if x == gone {
				require.False(t, registered(after, x))
				continue
			}
			require.Equal(t, want, by(t, after, x, queries[i]), "%s after %s was removed", x.Name(), gone.Name())
		}
		// An index that is added now takes the place at the end, in new snapshots only.
		require.NoError(t, ix.AddIndex(OwnerUIDIndex[*pod]()))
		require.Len(t, before.tables, 4)
		require.Equal(t, defs[3].Name(), before.tables[3].definition().Name())
	}
}

// Promise indexer/8
func TestIndexesComeAndGoWhileTheStoreIsWritten(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	pods := numbered(300)
	set(t, ix, pods...)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			b := ix.Batch()
			p := pods[i%len(pods)]
			if i/len(pods)%2 == 0 {
				b.Delete(key(p.Namespace, p.Name))
			} else if _, _, err := b.Set(p); err != nil {
				t.Error(err)
			}
			b.Commit()
		}
	})
	app := LabelIndex[*pod]("app")
	for range 50 {
		require.NoError(t, ix.AddIndex(app))
		s := ix.Snapshot()
		want := map[string]int{}
		for p := range s.All() {
			want[p.Labels["app"]]++
		}
		for v, n := range want {
			require.Len(t, by(t, s, app, v), n)
		}
		require.Len(t, values(t, s, app), len(want))
		require.NoError(t, ix.RemoveIndex(app.Name()))
		require.False(t, registered(ix.Snapshot(), app))
		require.True(t, registered(s, app), "a snapshot keeps its indexes")
	}
	close(stop)
	wg.Wait()
}

// Promise indexer/8
func TestAddingAnIndexDoesNotHoldUpWriters(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	set(t, ix, numbered(10)...)
	building, written := make(chan struct{}), make(chan struct{})
	var once sync.Once
	x := NewSingleIndex("slow", func(p *pod) (string, bool) {
		once.Do(func() { close(building); <-written })
		return p.Spec.NodeName, true
	})
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(t, ix.AddIndex(x)) })
	<-building
	b := ix.Batch() // would never return if AddIndex held the lock meanwhile
	p := newPod("a", "late")
	p.Spec.NodeName = "late"
	_, _, err := b.Set(p)
	require.NoError(t, err)
	b.Delete(key("ns-1", "pod-1"))
	b.Commit()
	set(t, ix, numbered(1)...)
	close(written)
	wg.Wait()
	s := ix.Snapshot()
	require.Equal(t, []string{"a/late"}, by(t, s, x, "late"))
	require.Equal(t, []string{"ns-8/pod-8"}, by(t, s, x, "node-1"), "without the one deleted meanwhile")
	require.Equal(t, 10, s.Len())

	before := slices.Collect(s.All())
	set(t, ix, numbered(10)...)
	require.Equal(t, []string{"ns-8/pod-8"}, by(t, s, x, "node-1"), "a snapshot stays as it is")
	require.True(t, slices.Equal(before, slices.Collect(s.All())), "a snapshot stays as it is")
}

// The name is free when the work begins, and taken when it is done.
func TestIndexWhoseNameIsTakenWhileItIsBuiltIsRefused(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	set(t, ix, numbered(10)...)
	building, taken := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := NewSingleIndex("node", func(p *pod) (string, bool) {
		once.Do(func() { close(building); <-taken })
		return p.Spec.NodeName, true
	})
	fast := NewSingleIndex("node", func(p *pod) (string, bool) { return p.Spec.NodeName, true })
	var wg sync.WaitGroup
	wg.Go(func() { assert.ErrorIs(t, ix.AddIndex(slow), errIndexExists) })
	<-building
	require.NoError(t, ix.AddIndex(fast))
	close(taken)
	wg.Wait()
	require.Len(t, ix.Snapshot().tables, 1)
	require.Len(t, by(t, ix.Snapshot(), fast, "node-1"), 2)
	require.False(t, registered(ix.Snapshot(), slow))
}

func TestIndexFunctionMayReadTheIndexer(t *testing.T) {
	t.Parallel()
	var ix *Indexer[*pod]
	x := NewIndex("len", func(*pod) ([]int, error) { return []int{ix.Snapshot().Len()}, nil })
	ix = newIndexer(t, x)
	s := set(t, ix, newPod("a", "1"), newPod("a", "2"))
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, 0), "it sees what was published before the batch")
}
