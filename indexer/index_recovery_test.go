package indexer

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
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
