package indexer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// onNode returns a pod on a node, with a label.
func onNode(name, node, app string) *pod {
	p := newPod("a", name, "app", app)
	p.Spec.NodeName = node
	return p
}

func TestUpdateThatKeepsTheValuesLeavesTheIndexesAlone(t *testing.T) {
	t.Parallel()
	calls := 0
	x := NewIndex("node", func(p *pod) ([]string, error) {
		calls++
		return []string{p.Spec.NodeName, "any"}, nil
	})
	ix := newIndexer(t, x, LabelIndex[*pod]("app"))
	before := set(t, ix, onNode("p", "n1", "web"), onNode("q", "n1", "web"))
	calls = 0
	next := onNode("p", "n1", "web")
	after := set(t, ix, next)
	require.Equal(t, 1, calls, "the new version only")
	require.Same(t, before.tables[0], after.tables[0])
	require.Same(t, before.tables[1], after.tables[1])
	for p := range ByIndex(after, x, "n1") {
		if p.Name == "p" {
			require.Same(t, next, p)
		}
	}
	for p := range ByIndex(before, x, "n1") {
		require.NotSame(t, next, p, "a snapshot stays as it is")
	}

	// Another value in one index: the other one stays.
	after = set(t, ix, onNode("p", "n2", "web"))
	require.NotSame(t, before.tables[0], after.tables[0])
	require.Same(t, before.tables[1], after.tables[1])
	require.Equal(t, []string{"a/p"}, by(t, after, x, "n2"))
	require.Equal(t, []string{"a/q"}, by(t, after, x, "n1"))
	require.Equal(t, []string{"a/p", "a/q"}, by(t, after, x, "any"))
}

func TestIndexesThatComeAndGoDoNotShareTheirValues(t *testing.T) {
	t.Parallel()
	node := NewSingleIndex("node", func(p *pod) (string, bool) { return p.Spec.NodeName, true })
	app := NewSingleIndex("application", func(p *pod) (string, bool) { return p.Labels["app"], true })
	ix := newIndexer(t, node)
	set(t, ix, onNode("p", "v", "w"))
	require.NoError(t, ix.RemoveIndex(node.Name()))
	require.NoError(t, ix.AddIndex(app))
	// The only value is "v", as it was before: in another index.
	s := set(t, ix, onNode("p", "v", "v"))
	require.Equal(t, []string{"a/p"}, by(t, s, app, "v"))
	require.Empty(t, by(t, s, app, "w"))

	// Added after the object, which is then updated without a change.
	require.NoError(t, ix.AddIndex(node))
	s = set(t, ix, onNode("p", "v", "v"))
	require.Equal(t, []string{"a/p"}, by(t, s, node, "v"))
	s = set(t, ix, onNode("p", "u", "v"))
	require.Equal(t, []string{"a/p"}, by(t, s, node, "u"))
	require.Empty(t, by(t, s, node, "v"))
}

// Two values that change places are the same values, and two indexes that exchange
// theirs are not.
func TestIndexesThatExchangeTheirValues(t *testing.T) {
	t.Parallel()
	node := NewSingleIndex("node", func(p *pod) (string, bool) { return p.Spec.NodeName, true })
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, node, app)
	set(t, ix, onNode("p", "x", "y"))
	s := set(t, ix, onNode("p", "y", "x"))
	require.Equal(t, []string{"a/p"}, by(t, s, node, "y"))
	require.Equal(t, []string{"a/p"}, by(t, s, app, "x"))
	require.Equal(t, []string{"y"}, values(t, s, node))
	require.Equal(t, []string{"x"}, values(t, s, app))
}

// Promise indexer/6
func TestNumberOfADeletedObjectIsGivenToAnother(t *testing.T) {
	t.Parallel()
	node := NewSingleIndex("node", func(p *pod) (string, bool) { return p.Spec.NodeName, true })
	ix := newIndexer(t, node)
	before := set(t, ix, onNode("p", "n1", "web"), onNode("stays", "n1", "web"))

	b := ix.Batch()
	b.Delete(key("a", "p"))
	_, _, err := b.Set(onNode("q", "n1", "web"))
	require.NoError(t, err)
	taken := b.Commit()
	require.Equal(t, numberOf(t, before, "p"), numberOf(t, taken, "q"), "the lowest that is free")
	require.Equal(t, map[string]ChangeType{"a/p": Deleted, "a/q": Added}, changes(t, before, taken))
	require.Equal(t, map[string]ChangeType{"a/p": Added, "a/q": Deleted}, changes(t, taken, before))
	require.Equal(t, []string{"a/q", "a/stays"}, by(t, taken, node, "n1"))
	require.Equal(t, []string{"a/p", "a/stays"}, by(t, before, node, "n1"))

	// It comes again, and its number is taken: an update, though nothing is where it was.
	again := set(t, ix, onNode("p", "n2", "web"))
	require.NotEqual(t, numberOf(t, before, "p"), numberOf(t, again, "p"))
	require.Equal(t, map[string]ChangeType{"a/p": Updated, "a/q": Added}, changes(t, before, again))
	require.Equal(t, []string{"a/p"}, by(t, again, node, "n2"))
	b = ix.Batch()
	b.Delete(key("a", "q"))
	require.Equal(t, map[string]ChangeType{"a/p": Updated}, changes(t, before, b.Commit()))
}

func numberOf(t *testing.T, s *Snapshot[*pod], name string) uint32 {
	t.Helper()
	k := key("a", name)
	r, at := s.lookup(k)
	require.NotNil(t, r)
	return at.number
}

// changes returns the differences by key, each of which must come once.
func changes(t *testing.T, from, to *Snapshot[*pod]) map[string]ChangeType {
	t.Helper()
	got := map[string]ChangeType{}
	for c := range Diff(from, to) {
		require.NotContains(t, got, c.Key.String())
		got[c.Key.String()] = c.Type
		old, hadOld := from.Get(c.Key)
		now, hasNew := to.Get(c.Key)
		require.True(t, old == c.Old && now == c.New)
		require.Equal(t, hadOld, c.Type != Added)
		require.Equal(t, hasNew, c.Type != Deleted)
	}
	return got
}
