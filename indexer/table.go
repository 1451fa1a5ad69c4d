package indexer

import (
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
)

// table is the state of one index within one snapshot.
//
// The interface hides the value type K, so that a snapshot can have indexes of different
// types in one slice. Queries know K, and get the table back with a type assertion
// (tableOf).
type table[T Object] interface {
	definition() IndexDefinition[T]
	// set follows a write of the object with that number. It returns t if that changes
	// nothing in the index or if t belongs to the batch, else an edited copy. It never panics.
	set(e pmap.Edit, number uint32, key types.NamespacedName, obj T) table[T]
	// delete follows a deletion in the same way.
	delete(e pmap.Edit, number uint32) table[T]
	// failures iterates over the objects that are not in the index.
	failures() iter.Seq2[types.NamespacedName, error]
}

// indexTable is the table of an index with values of type K.
type indexTable[T Object, K comparable] struct {
	index  *Index[T, K]
	shared *shared
	edit   pmap.Edit
	groups groups[K]
	// values has, by number, the values under which an object is in groups. An index
	// function is thus called once for each version of an object, and an object that was
	// changed after it was stored is nevertheless found where it is.
	values pmap.Array[[]K]
	// one is where the function's values go as long as there is only one, as with most indexes. All
	// versions of the table share it, for only the writer uses it, and empties it again.
	one *[1]K
	// failed has the objects whose function failed. They are in no group: a query by a
	// value must not return an object for some of its values and not for others.
	failed pmap.Array[failure]
}

// failure records why an object is missing from an index.
type failure struct {
	key types.NamespacedName
	err error
}

func (t *indexTable[T, K]) definition() IndexDefinition[T] { return t.index }

// set implements [table].
func (t *indexTable[T, K]) set(e pmap.Edit, number uint32, key types.NamespacedName, obj T) table[T] {
	values, err := t.index.call(t.one[:0], obj, t.shared.maxValues)
	defer clear(t.one[:])
	if err == nil && sameValues(t.valuesOf(number), values) && t.failed.Get(number) == nil {
		return t // as with most updates: a new status, on the same node
	}
	c := t.own(e)
	if err == nil {
		c.failed.Delete(e, number)
	} else {
		// The write itself succeeds. One object that an index function cannot handle
		// must not keep the cache from following the server.
		values = nil
		c.failed.Set(e, number, failure{key, err})
		t.shared.noteFailure(problem{"objects are missing from an index, because its function failed; IndexFailures has all of them", t.index.name}, key, err)
	}
	c.move(e, number, values)
	return c
}

// delete implements [table].
func (t *indexTable[T, K]) delete(e pmap.Edit, number uint32) table[T] {
	if t.values.Get(number) == nil && t.failed.Get(number) == nil {
		return t
	}
	c := t.own(e)
	c.failed.Delete(e, number)
	c.move(e, number, nil)
	return c
}

// own returns t if it belongs to the batch, else a copy, which shares all nodes.
func (t *indexTable[T, K]) own(e pmap.Edit) *indexTable[T, K] {
	if t.edit == e {
		return t
	}
	c := *t
	c.edit = e
	return &c
}

// valuesOf returns the values under which an object is in groups.
func (t *indexTable[T, K]) valuesOf(number uint32) []K {
	if values := t.values.Get(number); values != nil {
		return *values
	}
	return nil
}

// move takes an object out of the groups that it leaves and puts it into those that it
// enters. It takes the slice, if that has more than one.
func (t *indexTable[T, K]) move(e pmap.Edit, n uint32, values []K) {
	old := t.valuesOf(n)
	stays, was := newValueSet(values, len(old)), newValueSet(old, len(values))
	for _, k := range old {
		if !stays.has(k) {
			t.groups.remove(e, t.shared, k, number(n))
		}
	}
	for i, k := range values {
		var g *group[K]
		if was.has(k) {
			g = t.groups.find(t.shared, k).group
		} else {
			g = t.groups.add(e, t.shared, k, number(n))
		}
		// What stays in memory is the value of the group, not a copy in the memory of each object.
		if values[i] = g.value[0]; len(values) == 1 {
			values = g.value
		}
	}
	if len(values) == 0 {
		t.values.Delete(e, n)
	} else {
		t.values.Set(e, n, values)
	}
}

// failures implements [table]. It runs on any snapshot, without a lock.
func (t *indexTable[T, K]) failures() iter.Seq2[types.NamespacedName, error] {
	return func(yield func(types.NamespacedName, error) bool) {
		t.failed.All()(func(_ uint32, f *failure) bool { return yield(f.key, f.err) })
	}
}

// IndexFailures iterates over the objects that are missing from the index of
// that name because its function failed, with the reason. It fails
// if the snapshot has no such index.
func (s *Snapshot[T]) IndexFailures(name string) (iter.Seq2[types.NamespacedName, error], error) {
	i := s.find(name)
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", errIndexNotFound, name)
	}
	return s.tables[i].failures(), nil
}

// fewValues is how many values are compared one by one faster than through a map.
const fewValues = 16

// valueSet is a set of index values.
//
// Without it, an object with n old and n new values takes n² comparisons: with the
// 10,000 that are allowed, 100 million under the writer lock.
type valueSet[K comparable] struct {
	few  []K
	many map[K]struct{} // instead of few
}

// newValueSet prepares for a number of questions about values.
func newValueSet[K comparable](values []K, questions int) valueSet[K] {
	if min(len(values), questions) <= fewValues {
		return valueSet[K]{few: values}
	}
	many := make(map[K]struct{}, len(values))
	for _, k := range values {
		many[k] = struct{}{}
	}
	return valueSet[K]{many: many}
}

// has reports whether k is in the set.
func (s valueSet[K]) has(k K) bool {
	if s.many == nil {
		return slices.Contains(s.few, k)
	}
	_, ok := s.many[k]
	return ok
}

// sameValues reports whether a and b, each without duplicates, have the same values. A function
// that iterates over a map returns them in another order each time.
func sameValues[K comparable](a, b []K) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.Equal(a, b) {
		return true
	}
	set := newValueSet(a, len(b))
	return !slices.ContainsFunc(b, func(k K) bool { return !set.has(k) })
}
