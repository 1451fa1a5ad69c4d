package indexer

import (
	"iter"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Select iterates over the objects whose labels match the selector; nil matches
// all. If the selector requires values of a label that is indexed ([LabelIndex]),
// it looks only at the objects with such a value. An index that failed for an
// object is not used.
func (s *Snapshot[T]) Select(selector labels.Selector) iter.Seq[T] {
	if selector == nil || selector.Empty() {
		return s.All()
	}
	return func(yield func(T) bool) {
		// A plan that would visit as many objects as there are is not used: a full scan
		// needs no look-ups of values.
		if p := s.plan(selector, s.Len()); p != nil {
			p.each(matching(selector, yield))
		} else {
			s.All()(matching(selector, yield))
		}
	}
}

// SelectInNamespace is [Snapshot.Select] within one namespace. It uses a label
// index only if that leaves fewer objects to look at than the namespace has.
func (s *Snapshot[T]) SelectInNamespace(namespace string, selector labels.Selector) iter.Seq[T] {
	if selector == nil || selector.Empty() {
		return s.ByNamespace(namespace)
	}
	return func(yield func(T) bool) {
		match := matching(selector, yield)
		if p := s.plan(selector, s.NamespaceLen(namespace)); p != nil {
			// A label index spans namespaces, so the namespace must be checked again. The
			// limit passed to plan ensures that this discards fewer objects than the
			// namespace has.
			p.each(func(o T) bool { return o.GetNamespace() != namespace || match(o) })
		} else {
			s.ByNamespace(namespace)(match)
		}
	}
}

// matching passes on the objects that match.
func matching[T Object](selector labels.Selector, yield func(T) bool) func(T) bool {
	return func(o T) bool { return !selector.Matches(labels.Set(o.GetLabels())) || yield(o) }
}

// labelPlan is a way to reach all objects that can match: those that have one
// of some values of an indexed label.
type labelPlan[T Object] struct {
	table  *indexTable[T, string]
	s      *Snapshot[T]
	values []string
}

// each calls yield for every object with one of the values, until yield returns false.
// An object has one value of a label, so none comes twice.
func (p *labelPlan[T]) each(yield func(T) bool) {
	for _, v := range p.values {
		for r := range p.s.recordsOf(p.table.groups.numbers(p.s.shared, v)) {
			if !yield(r.obj) {
				return
			}
		}
	}
}

// plan returns the cheapest way that looks at fewer than limit objects, or nil.
func (s *Snapshot[T]) plan(selector labels.Selector, limit int) (best *labelPlan[T]) {
	reqs, selectable := selector.Requirements()
	// labels.Nothing() reports false here: it cannot be written as requirements, and it
	// matches nothing. A plan without values is exactly that.
	if !selectable {
		return &labelPlan[T]{s: s}
	}
	for i := range reqs {
		// Requirements are combined with AND, so the objects of any single one include
		// all that match; the selector itself filters the rest. Only these operators
		// list their values. NotIn and DoesNotExist also match objects without the
		// label, which the index does not have.
		switch reqs[i].Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
		default:
			continue
		}
		t := s.labelTable(reqs[i].Key())
		if t == nil {
			continue
		}
		values, n := reqs[i].Values().UnsortedList(), 0 // each once
		for _, v := range values {
			n += t.groups.numbers(s.shared, v).Len()
		}
		if n < limit {
			best, limit = &labelPlan[T]{table: t, s: s, values: values}, n
		}
	}
	return best
}

// labelTable returns the index of the label with that key, or nil if there is
// none or it misses objects.
func (s *Snapshot[T]) labelTable(key string) *indexTable[T, string] {
	// An object that failed is in no group, and a query through the index would miss it.
	// The full scan does not, so the answer stays right at a higher price.
	for _, t := range s.tables {
		if t, ok := t.(*indexTable[T, string]); ok && t.index.builtIn && t.index.label == key && t.failed.Len() == 0 {
			return t
		}
	}
	return nil
}
