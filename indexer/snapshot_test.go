package indexer

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Every batch gives all pods the same new label, and sets the resourceVersion
// to it: a reader that sees two labels, or another version, has seen half a batch.
//
// Promise indexer/2
func TestEachSnapshotIsOnePointInTimeAcrossAllIndexes(t *testing.T) {
	t.Parallel()
	const pods, rounds = 60, 150
	round := LabelIndex[*pod]("round")
	owner := OwnerUIDIndex[*pod]()
	ix := newIndexer(t, round, owner)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := 0
			for {
				last = checkSnapshot(t, ix.Snapshot(), round, last, pods)
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for r := 1; r <= rounds; r++ {
		b := ix.Batch()
		if r%10 == 0 {
			b.SetResourceVersion("1") // an attempt to go back
		}
		for i := range pods {
			p := newPod(fmt.Sprint("ns-", i%5), fmt.Sprint("pod-", i), "round", strconv.Itoa(r))
			p.OwnerReferences = []metav1.OwnerReference{{UID: "owner"}}
			_, _, err := b.Set(p)
			require.NoError(t, err)
		}
		b.SetResourceVersion(strconv.Itoa(r))
		b.Commit()
	}
	close(done)
	wg.Wait()
}

func checkSnapshot(t *testing.T, s *Snapshot[*pod], round *Index[*pod, string], last, pods int) int {
	rv := s.ResourceVersion()
	if rv == "" {
		return last
	}
	n, err := strconv.Atoi(rv)
	if err != nil || n < last {
		t.Errorf("resourceVersion went from %d to %q", last, rv)
	}
	for p := range s.All() {
		if p.Labels["round"] != rv {
			t.Errorf("resourceVersion %s has an object of %s", rv, p.Labels["round"])
		}
	}
	if got := values(t, s, round); len(got) != 1 || got[0] != rv {
		t.Errorf("resourceVersion %s has index values %v", rv, got)
	}
	if got := by(t, s, round, rv); len(got) != pods {
		t.Errorf("%d objects by index, want %d", len(got), pods)
	}
	k := 0
	for p := range s.Select(labels.SelectorFromSet(labels.Set{"round": rv})) {
		if g, _ := s.Get(key(p.Namespace, p.Name)); g != p {
			t.Errorf("Get and Select do not agree")
		}
		k++
	}
	if k != pods {
		t.Errorf("%d objects selected, want %d", k, pods)
	}
	return n
}

// Promise indexer/1
func TestReadingAllocatesNothingPerObject(t *testing.T) {
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, app)
	set(t, ix, numbered(5000)...)
	k := key("ns-7", "pod-7")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, ok := ix.Get(k); !ok {
			t.Error("not found")
		}
		if ix.Snapshot().Len() != 5000 || ix.Snapshot().NamespaceLen("ns-1") != 500 {
			t.Error("wrong length")
		}
	}), "Get and Len")

	sel := labels.SelectorFromSet(labels.Set{"app": "app-1"})
	for name, iterate := range map[string]func() int{
		"All":               func() int { return count(ix.All()) },
		"ByNamespace":       func() int { return count(ix.Snapshot().ByNamespace("ns-1")) },
		"Select":            func() int { return count(ix.Snapshot().Select(sel)) },
		"SelectInNamespace": func() int { return count(ix.Snapshot().SelectInNamespace("ns-1", sel)) },
		"ByIndex": func() int {
			seq := ByIndex(ix.Snapshot(), app, "app-1")
			return count(seq)
		},
	} {
		n := 0
		allocs := testing.AllocsPerRun(10, func() { n = iterate() })
		require.GreaterOrEqual(t, n, 100, name)
		require.LessOrEqual(t, allocs, 10.0, "%s over %d objects", name, n)
	}
}

func count[T any](seq func(func(T) bool)) (n int) {
	for range seq {
		n++
	}
	return n
}

func TestIterationsStopWhenAskedTo(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, app)
	s := set(t, ix, numbered(300)...)
	seq := ByIndex(s, app, "app-1")
	for name, seq := range map[string]func(func(*pod) bool){
		"All": s.All(), "ByNamespace": s.ByNamespace("ns-1"), "ByIndex": seq,
		"Select": s.Select(labels.SelectorFromSet(labels.Set{"app": "app-1"})),
	} {
		n := 0
		for range seq {
			if n++; n == 3 {
				break
			}
		}
		require.Equal(t, 3, n, name)
	}
	for range s.Namespaces() {
		break
	}
	for range Diff(nil, s) {
		break
	}
}

func TestIterationOutlivesItsBatch(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t, LabelIndex[*pod]("app"))
	set(t, ix, numbered(200)...)
	for _, end := range []func(*Batch[*pod]){func(b *Batch[*pod]) { b.Commit() }, (*Batch[*pod]).Discard} {
		b := ix.Batch()
		_, _, err := b.Set(newPod("ns-1", "new"))
		require.NoError(t, err)
		seq := b.freeze().All()
		want := names(seq)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 20 {
				assert.Equal(t, want, names(seq))
			}
		})
		for _, p := range numbered(200) {
			_, _, err := b.Set(p)
			require.NoError(t, err)
			b.Delete(key("ns-1", "new"))
		}
		end(b)
		set(t, ix, numbered(300)...)
		wg.Wait()
		require.Equal(t, want, names(seq))
		b = ix.Batch()
		_, err = b.Replace(numbered(200))
		require.NoError(t, err)
		b.Commit()
	}
}

// Promise indexer/10
func TestHashesOfTwoIndexersDiffer(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, hash(newIndexer(t).shared, "name"), hash(newIndexer(t).shared, "name"))
}

func TestNamespacesAreThoseWithObjects(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	set(t, ix, newPod("a", "1"), newPod("b", "1"), newPod("b", "2"), newPod("", "1"))
	got := map[string]int{}
	s := ix.Snapshot()
	for ns := range s.Namespaces() {
		got[ns] = s.NamespaceLen(ns)
	}
	require.Equal(t, map[string]int{"a": 1, "b": 2, "": 1}, got)
	b := ix.Batch()
	b.Delete(key("a", "1"))
	s = b.Commit()
	require.Zero(t, s.NamespaceLen("a"))
	require.Equal(t, 2, count(s.Namespaces()))
}
