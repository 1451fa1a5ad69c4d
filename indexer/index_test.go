package indexer

import (
	"bytes"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
	require.ErrorIs(t, err, errIndexNotFound)
	require.ErrorContains(t, err, "type string")
	_, err = FindIndex[*pod, int](s, "none")
	require.ErrorIs(t, err, errIndexNotFound)
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
