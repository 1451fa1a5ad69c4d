package indexer

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
)

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

// The old version was changed so that its function returns fewer values. None of what it returns
// leads to where it is, and its number soon belongs to another object.
func TestIndexRecoversFromAnOldVersionWithFewerValues(t *testing.T) {
	t.Parallel()
	app, x := LabelIndex[*pod]("app"), ports()
	node := NewSingleIndex("node", func(p *pod) (string, bool) { return p.Spec.NodeName, p.Spec.NodeName != "" })
	next := func(labels ...string) *pod {
		p := withPorts(newPod("a", "p0", labels...), 80)
		p.Spec.NodeName = "n"
		return p
	}
	for name, write := range map[string]func(t *testing.T, b *Batch[*pod]) (under string){
		"deleted": func(t *testing.T, b *Batch[*pod]) string {
			_, existed := b.Delete(key("a", "p0"))
			require.True(t, existed)
			return ""
		},
		"without the value": func(t *testing.T, b *Batch[*pod]) string {
			_, _, err := b.Set(next())
			require.NoError(t, err)
			return ""
		},
		"with another value": func(t *testing.T, b *Batch[*pod]) string {
			_, _, err := b.Set(next("app", "db"))
			require.NoError(t, err)
			return "db"
		},
		"with the value": func(t *testing.T, b *Batch[*pod]) string {
			_, _, err := b.Set(next("app", "web"))
			require.NoError(t, err)
			return "web"
		},
		"with the value, and another in another index": func(t *testing.T, b *Batch[*pod]) string {
			_, _, err := b.Set(withPorts(next("app", "web"), 443))
			require.NoError(t, err)
			return "web"
		},
		"without the value, and with another in another index": func(t *testing.T, b *Batch[*pod]) string {
			_, _, err := b.Set(withPorts(next(), 443))
			require.NoError(t, err)
			return ""
		},
	} {
		for _, n := range []int{1, 3, 200} { // a store without a table, and groups of both kinds
			var log bytes.Buffer
			ix, err := New(Options[*pod]{Indexes: []IndexDefinition[*pod]{node, app, x}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			pods := make([]*pod, n)
			for i := range pods {
				pods[i] = withPorts(newPod("a", fmt.Sprint("p", i), "app", "web"), 80)
				pods[i].Spec.NodeName = "n"
			}
			set(t, ix, pods...)
			delete(pods[0].Labels, "app")

			b := ix.Batch()
			under := write(t, b)
			s := b.Commit()
			for _, v := range []string{"web", "db"} {
				require.Equal(t, v == under, slices.Contains(by(t, s, app, v), "a/p0"), "%s: %d: %s", name, n, v)
			}
			// Its number goes to another object, which has the value of no other.
			b = ix.Batch()
			b.Delete(key("a", "p0"))
			_, _, err = b.Set(newPod("b", "other"))
			require.NoError(t, err)
			s = b.Commit()
			require.Len(t, by(t, s, app, "web"), n-1, name)
			require.Len(t, by(t, s, x, 80), n-1, name)
			require.Len(t, by(t, s, node, "n"), n-1, name)
			require.Empty(t, by(t, s, app, "db"))
			require.Empty(t, by(t, s, x, 443))
		}
	}
}

// The old version has no value any more, and the new one has the first again: its number must not be
// twice under that.
func TestIndexRecoversFromAnOldVersionWhoseValueComesBack(t *testing.T) {
	t.Parallel()
	app, x := LabelIndex[*pod]("app"), ports()
	{
		for _, n := range []int{3, 200} { // a small group and a large one
			ix := newIndexer(t, app, x)
			pods := make([]*pod, n)
			for i := range pods {
				pods[i] = withPorts(newPod("a", fmt.Sprint("p", i), "app", "web"), 80)
			}
			set(t, ix, pods...)
			pods[0].Spec.Containers = nil
			delete(pods[0].Labels, "app")
			s := set(t, ix, withPorts(newPod("a", "p0"), 80))
			require.Equal(t, n, IndexLen(s, x, 80))
			require.Len(t, by(t, s, app, "web"), n-1, "where there is none, before and after")
			b := ix.Batch()
			b.Delete(key("a", "p0"))
			s = b.Commit()
			require.Equal(t, n-1, IndexLen(s, x, 80))
			require.Len(t, by(t, s, x, 80), n-1)
		}
	}
}

// If one index shows that an object was changed, the others are not believed either.
func TestOneIndexShowsThatAnotherIsWrong(t *testing.T) {
	t.Parallel()
	app, x := LabelIndex[*pod]("app"), ports()
	ix := newIndexer(t, app, x)
	p := withPorts(newPod("a", "p", "app", "web"), 80)
	set(t, ix, p)
	delete(p.Labels, "app")
	withPorts(p, 443)
	b := ix.Batch()
	b.Delete(key("a", "p"))
	s := b.Commit()
	require.Empty(t, by(t, s, app, "web"))
	require.Empty(t, values(t, s, x))
}

// One of several values was changed, and the new version has it as well.
func TestIndexRecoversFromOneOfSeveralValues(t *testing.T) {
	t.Parallel()
	x := ports()
	{
		for at := range 3 {
			stored, changed := []int{1, 2, 3}, []int{1, 2, 3}
			changed[at] = 9
			ix := newIndexer(t, x)
			p := withPorts(newPod("a", "p"), stored...)
			set(t, ix, p, withPorts(newPod("a", "q"), stored...))
			p.Spec.Containers = nil
			withPorts(p, changed...)
			s := set(t, ix, withPorts(newPod("a", "p"), append(changed, 4)...))
			for i, port := range stored {
				require.Equal(t, i != at, slices.Contains(by(t, s, x, port), "a/p"))
			}
			require.Equal(t, []string{"a/p"}, by(t, s, x, 9))
			require.Equal(t, []string{"a/p"}, by(t, s, x, 4))
		}
	}
}

// The new version cannot be indexed. That is noted once, and forgotten with the next version.
func TestChangedObjectIsReplacedByOneThatFails(t *testing.T) {
	t.Parallel()
	x := ports()
	ix := newIndexer(t, x)
	p := withPorts(newPod("a", "p"), 80)
	set(t, ix, p)
	p.Spec.Containers = nil
	bad := withPorts(newPod("a", "p"), 80)
	bad.Annotations = map[string]string{"index": "error"}
	s := set(t, ix, bad)
	require.Empty(t, values(t, s, x))
	failures, err := s.IndexFailures("ports")
	require.NoError(t, err)
	n := 0
	for _, err := range failures {
		require.Error(t, err)
		n++
	}
	require.Equal(t, 1, n)
	s = set(t, ix, withPorts(newPod("a", "p"), 443))
	require.Equal(t, []int{443}, values(t, s, x))
	failures, err = s.IndexFailures("ports")
	require.NoError(t, err)
	require.Empty(t, maps.Collect(failures))
}

// An index is added while an object that was changed is replaced.
func TestNewIndexRecoversFromChangedObjects(t *testing.T) {
	t.Parallel()
	ix, x := newIndexer(t), ports()
	p := withPorts(newPod("a", "p"), 80)
	from := set(t, ix, p)
	table := follow(pmap.NewEdit(), x.newTable(ix.shared), &Snapshot[*pod]{}, from)
	p.Spec.Containers = nil
	withPorts(p, 443)
	to := set(t, ix, withPorts(newPod("a", "p"), 8080))
	next := *to
	next.tables = append(next.tables, follow(pmap.NewEdit(), table, from, to))
	require.Equal(t, []int{8080}, values(t, &next, x))
}

// Signatures say nothing of an index that was added, and too much after one was removed. That is no
// sign of a change.
func TestOtherIndexesAreNoChangeOfAnObject(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	app, x := LabelIndex[*pod]("app"), ports()
	ix, err := New(Options[*pod]{Indexes: []IndexDefinition[*pod]{app}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	write := func() {
		for i := range 6 {
			if p := newPod("a", fmt.Sprint("p", i)); i%3 == 0 {
				b := ix.Batch()
				b.Delete(key("a", p.Name))
				b.Commit()
			} else {
				set(t, ix, withPorts(newPod("a", p.Name, "app", fmt.Sprint(i%3)), i))
			}
		}
	}
	fill := func() {
		for i := range 6 {
			set(t, ix, withPorts(newPod("a", fmt.Sprint("p", i), "app", "web"), 80))
		}
	}
	fill()
	require.NoError(t, ix.AddIndex(x))
	write()
	fill()
	require.NoError(t, ix.RemoveIndex(app.Name()))
	write()
	require.Empty(t, log.String())
}

// As of a function that iterates over a map.
func TestOrderOfValuesIsNoChangeOfAnObject(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	app, calls := LabelIndex[*pod]("app"), 0
	x := NewIndex("x", func(p *pod) ([]string, error) {
		out := []string{"a", "b", "c"}
		if p.Labels["more"] != "" {
			out = append(out, "d")
		}
		calls++
		return append(out[calls%len(out):], out[:calls%len(out)]...), nil
	})
	ix, err := New(Options[*pod]{Indexes: []IndexDefinition[*pod]{app, x}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	for i := range 20 {
		p := newPod("a", "p", "app", fmt.Sprint("app-", i/2))
		if i%4 < 2 {
			p.Labels["more"] = "yes"
		}
		s := set(t, ix, p)
		require.Equal(t, 1, IndexLen(s, x, "c"))
		require.Equal(t, p.Labels["more"] != "", IndexLen(s, x, "d") == 1)
		if i%7 == 6 {
			b := ix.Batch()
			b.Delete(key("a", "p"))
			require.Empty(t, values(t, b.Commit(), x))
		}
	}
	require.Empty(t, log.String())
}

// Each object is found under the key with which it was stored.
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
