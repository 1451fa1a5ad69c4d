package indexer

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// spy counts how many objects a selector is shown.
type spy struct {
	labels.Selector
	looked *int
}

func (s spy) Matches(l labels.Labels) bool {
	*s.looked++
	return s.Selector.Matches(l)
}

// Promise indexer/9
func TestSelectorLooksOnlyAtWhatAnIndexLeaves(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t, LabelIndex[*pod]("app"), LabelIndex[*pod]("tier"))
	pods := numbered(1000) // 200 per app, 100 per namespace
	for i, p := range pods {
		p.Labels["tier"] = "back"
		if i < 20 {
			p.Labels["tier"] = "front"
		}
	}
	s := set(t, ix, pods...)
	for _, c := range []struct {
		namespace, selector string
		found, looked       int
	}{
		{"", "app=app-1", 200, 200},
		{"", "app in (app-1,app-2)", 400, 400},
		{"", "app in (app-1,app-2),app!=app-2", 200, 400},
		{"", "tier=front,app=app-1", 10, 20}, // the smaller of the two
		{"", "app=nobody", 0, 0},
		{"", "app", 1000, 1000}, // needs every value
		{"", "app!=app-1", 800, 1000},
		{"", "unindexed=x", 0, 1000},
		{"ns-3", "app=app-1", 20, 100}, // the namespace is smaller than the index
		{"ns-3", "tier=front", 2, 2},   // looked at: those in the namespace
		{"ns-3", "app=nobody", 0, 0},
		{"nowhere", "app=app-1", 0, 0},
	} {
		sel, err := labels.Parse(c.selector)
		require.NoError(t, err)
		looked := 0
		seq := s.Select(spy{sel, &looked})
		if c.namespace != "" {
			seq = s.SelectInNamespace(c.namespace, spy{sel, &looked})
		}
		require.Equal(t, c.found, count(seq), "%+v", c)
		require.LessOrEqual(t, looked, c.looked, "%+v", c)
	}
}

func TestSelectorThatNamesAValueTwiceFindsObjectsOnce(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t, LabelIndex[*pod]("app"))
	s := set(t, ix, numbered(100)...)
	sel, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"app-1", "app-1"}},
	}})
	require.NoError(t, err)
	require.Equal(t, 20, count(s.Select(sel)))
}

// shy returns no labels at the first call.
type shy struct {
	*pod
	asked bool
}

func (s *shy) GetLabels() map[string]string {
	if !s.asked {
		s.asked = true
		panic("not yet")
	}
	return s.pod.GetLabels()
}

// Promise indexer/9
func TestSelectorDoesNotRelyOnAnIndexThatMissesObjects(t *testing.T) {
	t.Parallel()
	ix, err := New(Options[*shy]{Logger: slog.New(slog.DiscardHandler), Indexes: []IndexDefinition[*shy]{LabelIndex[*shy]("app")}})
	require.NoError(t, err)
	b := ix.Batch()
	defer b.Discard()
	for _, p := range numbered(10) {
		_, _, err := b.Set(&shy{pod: p, asked: p.Name != "pod-3"})
		require.NoError(t, err)
	}
	s := b.Commit()
	require.Len(t, names(s.Select(labels.SelectorFromSet(labels.Set{"app": "app-0"}))), 10)
}

func TestSelectorsThatSelectAllOrNothing(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t, LabelIndex[*pod]("app"))
	s := set(t, ix, numbered(30)...)
	require.Equal(t, 30, count(s.Select(nil)))
	require.Equal(t, 30, count(s.Select(labels.Everything())))
	require.Equal(t, 3, count(s.SelectInNamespace("ns-1", nil)))
	looked := 0
	require.Zero(t, count(s.Select(spy{labels.Nothing(), &looked})))
	require.Zero(t, count(s.SelectInNamespace("ns-1", spy{labels.Nothing(), &looked})))
	require.Zero(t, looked, "nothing can match")
}
