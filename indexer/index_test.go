package indexer

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestIndexFollowsItsValues(t *testing.T) {
	t.Parallel()
	x := ports()
	ix := newIndexer(t, x)
	s := set(t, ix, withPorts(newPod("a", "1"), 80, 443), withPorts(newPod("a", "2"), 80), newPod("a", "3"))
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, 80))
	require.Equal(t, []int{80, 443}, values(t, s, x))

	s = set(t, ix, withPorts(newPod("a", "1"), 443, 8080), withPorts(newPod("a", "3"), 80, 80))
	require.Equal(t, []string{"a/2", "a/3"}, by(t, s, x, 80))
	require.Equal(t, []string{"a/1"}, by(t, s, x, 443))
	require.Equal(t, []int{80, 443, 8080}, values(t, s, x))

	b := ix.Batch()
	b.Delete(key("a", "1"))
	b.Delete(key("a", "3"))
	s = b.Commit()
	require.Equal(t, []int{80}, values(t, s, x), "values without objects are gone")
	require.Empty(t, by(t, s, x, 443))
}

func TestIndexHoldsTheNewestVersion(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, app)
	set(t, ix, numbered(500)...)
	next := numbered(500)
	s := set(t, ix, next...)
	seq := ByIndex(s, app, "app-2")
	n := 0
	for p := range seq {
		require.True(t, slices.Contains(next, p))
		n++
	}
	require.Equal(t, 100, n)
}

func TestBuiltInIndexes(t *testing.T) {
	t.Parallel()
	owner, app := OwnerUIDIndex[*pod](), LabelIndex[*pod]("app")
	ix := newIndexer(t, owner, app)
	p, q := newPod("a", "p", "app", "web"), newPod("b", "q", "app", "")
	p.OwnerReferences = []metav1.OwnerReference{{UID: "x"}, {UID: "y"}}
	q.OwnerReferences = []metav1.OwnerReference{{UID: "x"}}
	s := set(t, ix, p, q, newPod("b", "r"))
	require.Equal(t, []string{"a/p", "b/q"}, by(t, s, owner, "x"))
	require.Equal(t, []string{"a/p"}, by(t, s, owner, "y"))
	require.Equal(t, []types.UID{"x", "y"}, values(t, s, owner))
	require.Equal(t, []string{"b/q"}, by(t, s, app, ""), "an empty value is a value, no label is none")
	require.Equal(t, []string{"", "web"}, values(t, s, app))
}

func TestIndexValuesMayBeOfAnyComparableType(t *testing.T) {
	t.Parallel()
	type place struct {
		node string
		host bool
	}
	x := NewIndex("place", func(p *pod) ([]place, error) {
		return []place{{p.Spec.NodeName, p.Spec.HostNetwork}}, nil
	})
	byIface := NewIndex("any", func(p *pod) ([]any, error) { return []any{p.Name, len(p.Name)}, nil })
	ix := newIndexer(t, x, byIface)
	s := set(t, ix, numbered(70)...)
	require.Len(t, by(t, s, x, place{"node-3", false}), 10)
	require.Empty(t, by(t, s, x, place{"node-3", true}))
	require.Equal(t, []string{"ns-4/pod-4"}, by(t, s, byIface, any("pod-4")))
	require.Len(t, by(t, s, byIface, any(5)), 10)
}

func TestSingleIndexFollowsItsValue(t *testing.T) {
	t.Parallel()
	x := NewSingleIndex("node", func(p *pod) (string, bool) {
		if p.Name == "bad" {
			panic("do not index me")
		}
		return p.Spec.NodeName, p.Spec.NodeName != ""
	})
	ix := newIndexer(t, x)
	on := func(name, node string) *pod {
		p := newPod("a", name)
		p.Spec.NodeName = node
		return p
	}
	s := set(t, ix, on("1", ""), on("2", "x"), on("3", "x"), on("bad", "x"))
	require.Equal(t, []string{"a/2", "a/3"}, by(t, s, x, "x"))
	s = set(t, ix, on("1", "x"), on("2", "y"), on("3", ""))
	require.Equal(t, []string{"a/1"}, by(t, s, x, "x"))
	require.Equal(t, []string{"a/2"}, by(t, s, x, "y"))
	s = set(t, ix, on("1", "x"), on("2", "y"))
	require.Equal(t, []string{"x", "y"}, values(t, s, x))
	_, err := New(Options[*pod]{Indexes: []IndexDefinition[*pod]{NewSingleIndex[*pod, int]("x", nil)}})
	require.Error(t, err)
}

// A snapshot without the index gives the same answer, slowly, and says so once.
//
// Promise indexer/8
func TestIndexThatIsNotRegisteredIsAnsweredByAFullScan(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ix, err := New(Options[*pod]{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	x := ports()
	failing := withPorts(newPod("a", "failing"), 80)
	failing.Annotations = map[string]string{"index": "panic"}
	before := set(t, ix, withPorts(newPod("a", "web"), 80, 443), withPorts(newPod("a", "db"), 5432), failing)
	require.NoError(t, ix.AddIndex(x))
	for _, s := range []*Snapshot[*pod]{before, ix.Snapshot()} {
		require.Equal(t, []string{"a/web"}, by(t, s, x, 443))
		require.Empty(t, by(t, s, x, 1))
		require.Equal(t, []int{80, 443, 5432}, values(t, s, x))
	}
	require.Equal(t, 1, strings.Count(log.String(), "not registered"), log.String())
	for range IndexValues(before, x) {
		break
	}
	for range ByIndex(before, x, 80) {
		break
	}
	require.PanicsWithValue(t, "indexer: query of a nil index; make one with NewIndex and pass it to New or AddIndex",
		func() { ByIndex[*pod, string](before, nil, "x") })
}

func TestIndexIsFoundByName(t *testing.T) {
	t.Parallel()
	app, x := LabelIndex[*pod]("app"), ports()
	s := newIndexer(t, app, x).Snapshot()
	found, err := FindIndex[*pod, string](s, "label:app")
	require.NoError(t, err)
	require.Same(t, app, found)
	_, err = FindIndex[*pod, string](s, "ports")
	require.ErrorIs(t, err, ErrIndexNotFound)
	require.ErrorContains(t, err, "type string")
	_, err = FindIndex[*pod, int](s, "none")
	require.ErrorIs(t, err, ErrIndexNotFound)
	require.False(t, registered(s, ports()), "the same name, but another index")
}

// A built-in index is what its name says: two of them need not be one pointer.
func TestBuiltInIndexesOfOneNameAreTheSame(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t, LabelIndex[*pod]("app"), OwnerUIDIndex[*pod]())
	s := ix.Snapshot()
	require.NotNil(t, tableOf(s, LabelIndex[*pod]("app")))
	require.NotNil(t, tableOf(s, OwnerUIDIndex[*pod]()))
	require.Nil(t, tableOf(s, LabelIndex[*pod]("tier")))
	require.Nil(t, tableOf(s, NewSingleIndex("label:app", func(*pod) (string, bool) { return "", false })))
}

// failing runs an index that misbehaves for the pod "bad", before and after
// others are stored, and expects that only this index misses only that pod.
func failing[K comparable](t *testing.T, good K, bad func() ([]K, error)) (reason error) {
	var log bytes.Buffer
	x := NewIndex("picky", func(p *pod) ([]K, error) {
		if p.Name == "bad" {
			return bad()
		}
		return []K{good}, nil
	})
	app := LabelIndex[*pod]("app")
	ix, err := New(Options[*pod]{
		Indexes: []IndexDefinition[*pod]{x, app},
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	s := set(t, ix, newPod("a", "1", "app", "w"), newPod("a", "bad", "app", "w"), newPod("a", "2", "app", "w"))
	require.Equal(t, 3, s.Len())
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, good))
	require.Len(t, by(t, s, app, "w"), 3)
	require.Contains(t, log.String(), "a/bad")

	bads, err := s.IndexFailures("picky")
	require.NoError(t, err)
	n := 0
	for k, err := range bads {
		require.Equal(t, key("a", "bad"), k)
		reason = err
		n++
	}
	require.Equal(t, 1, n)

	// An update keeps it out, a delete clears the record.
	s = set(t, ix, newPod("a", "bad", "app", "v"))
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, good))
	require.Equal(t, []string{"a/bad"}, by(t, s, app, "v"))
	b := ix.Batch()
	b.Delete(key("a", "bad"))
	s = b.Commit()
	bads, err = s.IndexFailures("picky")
	require.NoError(t, err)
	for k, err := range bads {
		t.Error("a deleted object still fails:", k, err)
	}
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, good))
	require.NotContains(t, log.String(), "changed after it was stored", "it was not")
	return reason
}

// Promise indexer/7
func TestFailingIndexFunctionIsolatesTheObject(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, failing(t, "v", func() ([]string, error) { return nil, errUnwilling }), errUnwilling)
	require.ErrorIs(t, failing(t, "v", func() ([]string, error) { return []string{"v"}, errUnwilling }), errUnwilling)
	require.ErrorContains(t, failing(t, "v", func() ([]string, error) { panic("boom") }), "boom")
	require.ErrorContains(t, failing(t, "v", func() ([]string, error) { panic(errors.New("boom")) }), "boom")
	require.ErrorContains(t, failing(t, 1.5, func() ([]float64, error) { return []float64{math.NaN()}, nil }), "equal itself")
	require.ErrorContains(t, failing[any](t, 1, func() ([]any, error) { return []any{[]int{1}}, nil }), "panicked")
	require.ErrorContains(t, failing[any](t, 1, func() ([]any, error) { return []any{1, []int{1}}, nil }), "panicked")
	require.ErrorContains(t, failing(t, -1, func() ([]int, error) { return make([]int, 1_000_000), nil }), "MaxIndexValues")
}

func TestObjectIsIndexedAgainOnceItsFunctionSucceeds(t *testing.T) {
	t.Parallel()
	x := ports()
	ix := newIndexer(t, x)
	bad := withPorts(newPod("a", "1"), 80)
	bad.Annotations = map[string]string{"index": "panic"}
	s := set(t, ix, bad)
	require.Empty(t, by(t, s, x, 80))
	s = set(t, ix, withPorts(newPod("a", "1"), 80))
	require.Equal(t, []string{"a/1"}, by(t, s, x, 80))
	s = set(t, ix, bad)
	require.Empty(t, by(t, s, x, 80))
	require.Empty(t, values(t, s, x))
}

// The record of a failure is that of an object, whatever is done to its name.
func TestFailureOfARenamedObjectIsForgottenWithIt(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"index first": false, "index last": true} {
		x := ports()
		ix := newIndexer(t)
		if !late {
			require.NoError(t, ix.AddIndex(x))
		}
		var pods []*pod
		for i := range 20 {
			p := newPod("a", fmt.Sprint(i))
			p.Annotations = map[string]string{"index": "error"}
			pods = append(pods, p)
		}
		set(t, ix, pods...)
		for _, p := range pods {
			p.Name = "renamed" // a mutation
		}
		if late {
			require.NoError(t, ix.AddIndex(x))
		}
		require.Equal(t, 20, failures(t, ix.Snapshot(), x.Name()), name)
		b := ix.Batch()
		for i := range 20 {
			_, existed := b.Delete(key("a", fmt.Sprint(i)))
			require.True(t, existed)
		}
		require.Zero(t, failures(t, b.Commit(), x.Name()), name)
	}
}

func failures(t *testing.T, s *Snapshot[*pod], index string) (n int) {
	seq, err := s.IndexFailures(index)
	require.NoError(t, err)
	for _, err := range seq {
		require.Error(t, err)
		n++
	}
	return n
}

// Between batches the scratch space of an index must not keep values alive.
func TestIndexForgetsTheValuesItCompared(t *testing.T) {
	t.Parallel()
	x := NewIndex("values", func(p *pod) ([]*int, error) {
		if p.Name == "bad" {
			return []*int{new(int)}, errUnwilling
		}
		one, two := new(int), new(int)
		return []*int{one, one, one, two}, nil
	})
	ix := newIndexer(t, x)
	s := set(t, ix, newPod("a", "b"), newPod("a", "bad"))
	st := s.tables[0].(*indexTable[*pod, *int]).state
	for _, v := range append(st.old[:cap(st.old)], st.new[:cap(st.new)]...) {
		require.Nil(t, v)
	}
}

// The ratio is hundreds if each value is compared with each.
func TestUpdateOfManyValuesCostsAboutAsMuchAsTheirInsertion(t *testing.T) {
	const n = 100_000
	for name, shift := range map[string]int{"the same values": 0, "half of them new": n / 2} {
		x := NewIndex("many", func(p *pod) ([]int, error) {
			vals := make([]int, n)
			for i := range vals {
				vals[i] = i
				if p.Labels["app"] == "new" {
					vals[i] += shift
				}
			}
			return vals, nil
		})
		ix, err := New(Options[*pod]{Indexes: []IndexDefinition[*pod]{x}, MaxIndexValues: n})
		require.NoError(t, err)
		start := time.Now()
		set(t, ix, newPod("a", "b"))
		insert := time.Since(start)
		start = time.Now()
		s := set(t, ix, newPod("a", "b", "app", "new"))
		require.Less(t, time.Since(start), 20*insert, name)
		require.Len(t, values(t, s, x), n)
		require.Equal(t, []string{"a/b"}, by(t, s, x, n+shift-1))
	}
}

func TestManyValuesOfOneObject(t *testing.T) {
	t.Parallel()
	many := NewIndex("many", func(p *pod) ([]int, error) {
		n, _ := strconv.Atoi(p.Name)
		vals := make([]int, 0, 2*n)
		for i := range n {
			vals = append(vals, i, i) // and each twice
		}
		return vals, nil
	})
	ix := newIndexer(t, many)
	s := set(t, ix, newPod("a", "5000"), newPod("b", "10"))
	require.Len(t, values(t, s, many), 5000)
	require.Len(t, by(t, s, many, 9), 2)
	require.Len(t, by(t, s, many, 10), 1)
	b := ix.Batch()
	b.Delete(key("a", "5000"))
	s = b.Commit()
	require.Len(t, values(t, s, many), 10)
}

// An index function that is not a function of the object, and an object that is
// changed after it was stored, look the same: the values of the old version
// are not those of before. The index must recover from both.
func TestIndexRecoversFromChangedObjects(t *testing.T) {
	t.Parallel()
	for name, mutate := range map[string]func(*pod){
		"label":     func(p *pod) { p.Labels["app"] = "other" },
		"name":      func(p *pod) { p.Name = "renamed" },
		"namespace": func(p *pod) { p.Namespace = "moved" },
		"all":       func(p *pod) { p.Name = "renamed"; p.Namespace = ""; p.Labels["app"] = "other" },
	} {
		for _, n := range []int{3, 200} { // a small group and a large one
			var log bytes.Buffer
			app := LabelIndex[*pod]("app")
			ix, err := New(Options[*pod]{Indexes: []IndexDefinition[*pod]{app}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			pods := make([]*pod, n)
			for i := range pods {
				pods[i] = newPod("a", fmt.Sprint("p", i), "app", "web")
			}
			set(t, ix, pods...)
			mutate(pods[0])
			mutate(pods[1])

			s := set(t, ix, newPod("a", "p0", "app", "web"))
			got, ok := s.Get(key("a", "p0"))
			require.True(t, ok, name)
			require.NotSame(t, pods[0], got)
			n0 := IndexLen(s, app, "web")
			require.Equal(t, n, n0, "%s: the new version, and the mutated other one", name)

			b := ix.Batch()
			_, existed := b.Delete(key("a", "p1"))
			require.True(t, existed, name)
			s = b.Commit()
			require.Equal(t, n-1, s.Len())
			require.Len(t, by(t, s, app, "web"), n-1, name)
			require.Equal(t, []string{"web"}, values(t, s, app), name)
			if name != "name" && name != "namespace" { // else the values are still right
				require.Contains(t, log.String(), "changed after it was stored", name)
			}

			b = ix.Batch()
			_, err = b.Replace(nil)
			require.NoError(t, err)
			require.Empty(t, values(t, b.Commit(), app), name)
		}
	}
}

// The old version was given the value that the new one has. Under that value the old
// version cannot be replaced; under its first value it must not stay.
func TestIndexRecoversFromAMutationThatTheNextVersionRepeats(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 200} { // a small group and a large one
		x, app := ports(), LabelIndex[*pod]("app")
		ix := newIndexer(t, x, app)
		pods := make([]*pod, n)
		for i := range pods {
			pods[i] = withPorts(newPod("a", fmt.Sprint("p", i), "app", "web"), 80)
		}
		set(t, ix, pods...)
		pods[0].Spec.Containers[0].Ports[0].ContainerPort = 443
		pods[0].Labels["app"] = "db"
		s := set(t, ix, withPorts(newPod("a", "p0", "app", "db"), 443))
		require.Len(t, by(t, s, x, 80), n-1)
		require.Equal(t, []string{"a/p0"}, by(t, s, x, 443))
		require.Len(t, by(t, s, app, "web"), n-1)
		require.Equal(t, []string{"a/p0"}, by(t, s, app, "db"))
	}
}

// The old version was changed so that its index function fails: no value leads to
// where it is, so the index is searched for it.
func TestIndexRecoversFromAnOldVersionWhoseFunctionFails(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 200} { // a small group and a large one
		for _, how := range []string{"error", "panic"} {
			t.Run(fmt.Sprint(how, " ", n), func(t *testing.T) {
				x := ports()
				ix := newIndexer(t, x)
				pods := make([]*pod, n)
				for i := range pods {
					pods[i] = withPorts(newPod("a", fmt.Sprint("p", i)), 80)
				}
				withPorts(pods[0], 443)
				set(t, ix, pods...)
				for _, p := range pods[:2] {
					p.Annotations = map[string]string{"index": how}
				}
				s := set(t, ix, withPorts(newPod("a", "p0"), 8080))
				require.Len(t, by(t, s, x, 80), n-1)
				require.Equal(t, []int{80, 8080}, values(t, s, x))

				b := ix.Batch()
				b.Delete(key("a", "p1"))
				s = b.Commit()
				require.Len(t, by(t, s, x, 80), n-2)
				failures, err := s.IndexFailures("ports")
				require.NoError(t, err)
				for k, err := range failures {
					require.NoError(t, err, "%s: the new versions are in order", k)
				}
			})
		}
	}
}

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

// What cannot be noticed is a value that the function does not return any more:
// the index keeps the mutated version under it. The store itself is not fooled.
func TestMutationNeverConfusesTheStoreItself(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t, LabelIndex[*pod]("app"))
	pods := numbered(200)
	set(t, ix, pods...)
	for _, p := range pods {
		*p = pod{}
	}
	b := ix.Batch()
	defer b.Discard()
	for _, p := range numbered(200) {
		old, existed, err := b.Set(p)
		require.NoError(t, err)
		require.True(t, existed)
		require.Empty(t, old.Name)
	}
	s := b.Commit()
	require.Equal(t, 200, s.Len())
	require.Len(t, names(s.ByNamespace("ns-4")), 20)
	for _, p := range numbered(200) {
		got, ok := s.Get(key(p.Namespace, p.Name))
		require.True(t, ok)
		require.Equal(t, p.Name, got.Name)
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
	wg.Go(func() { assert.ErrorIs(t, ix.AddIndex(slow), ErrIndexExists) })
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
	x := NewIndex("len", func(*pod) ([]int, error) { return []int{ix.Len()}, nil })
	ix = newIndexer(t, x)
	s := set(t, ix, newPod("a", "1"), newPod("a", "2"))
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, 0), "it sees what was published before the batch")
}
