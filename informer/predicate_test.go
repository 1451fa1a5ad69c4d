package informer

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPredicatesChooseUpdatesByWhatChanged(t *testing.T) {
	t.Parallel()
	base := labelled("1")
	update := func(change func(p *pod)) Event[*pod] {
		p := base.DeepCopy()
		change(p)
		return Event[*pod]{Type: Updated, Old: base, New: p}
	}
	nothing := update(func(*pod) {})
	generation := update(func(p *pod) { p.Generation++ })
	label := update(func(p *pod) { p.Labels["n"] = "2" })
	annotation := update(func(p *pod) { p.Annotations = map[string]string{"a": "b"} })
	version := update(func(p *pod) { p.ResourceVersion = "2" })
	all := []Event[*pod]{nothing, generation, label, annotation, version}

	chosen := func(p Predicate[*pod]) (which []int) {
		for i, e := range all {
			When(p, HandlerFunc[*pod](func(Event[*pod]) { which = append(which, i) })).OnEvent(e)
		}
		return which
	}
	g, l, a, v := GenerationChanged[*pod](), LabelsChanged[*pod](), AnnotationsChanged[*pod](), ResourceVersionChanged[*pod]()
	assert.Equal(t, []int{1}, chosen(g))
	assert.Equal(t, []int{2}, chosen(l))
	assert.Equal(t, []int{3}, chosen(a))
	assert.Equal(t, []int{4}, chosen(v))
	assert.Equal(t, []int{1, 2}, chosen(Or(g, l)))
	assert.Empty(t, chosen(And(g, l)))
	assert.Equal(t, []int{0, 2, 3, 4}, chosen(Not(g)))
	assert.Len(t, chosen(And[*pod]()), 5)
	assert.Empty(t, chosen(Or[*pod]()))
	for _, p := range []Predicate[*pod]{g, l, a, v} {
		assert.True(t, p(Event[*pod]{Type: Added, New: base}))
		assert.True(t, p(Event[*pod]{Type: Deleted, Old: base}))
	}
}
