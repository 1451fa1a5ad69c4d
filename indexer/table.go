package indexer

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
	"github.com/informerkit/informerkit/internal/object"
)

// table is the state of one index within one snapshot.
type table[T Object] interface {
	definition() IndexDefinition[T]
	// own returns the table if the batch gen made it, else a copy to edit.
	own(gen uint64) table[T]
	// change replaces the object before by after; either may be missing. It
	// calls the index function, and never panics.
	change(gen uint64, before, after entry[T])
	// failures iterates over the objects that are not in the index.
	failures() iter.Seq2[types.NamespacedName, error]
}

// entry is an object with the hash of its key.
type entry[T Object] struct {
	obj  T
	hash uint64
	ok   bool
}

// indexTable maps each value to the group of objects that have it.
type indexTable[T Object, K comparable] struct {
	state  *indexState[T, K]
	gen    uint64
	groups pmap.Trie[*group[T, K]]
	failed pmap.Trie[*failure[T]]
}

// indexState is what all versions of a table share. The scratch space belongs
// to the writer.
type indexState[T Object, K comparable] struct {
	index    *Index[T, K]
	shared   *shared[T]
	old, new []K
}

// failure records why an object is missing from an index.
type failure[T Object] struct {
	key types.NamespacedName
	err error
	of  entry[T]
}

func (t *indexTable[T, K]) definition() IndexDefinition[T] { return t.state.index }

// own returns t if the batch gen made it, else a copy, which shares all nodes.
func (t *indexTable[T, K]) own(gen uint64) table[T] {
	if t.gen == gen {
		return t
	}
	c := *t
	c.gen = gen
	return &c
}

// change calls the index function for the new version and, unless the index has at
// most one value per object and that stayed, for the old one. It runs under the
// writer lock, or on a table that is not published yet.
func (t *indexTable[T, K]) change(gen uint64, before, after entry[T]) {
	st := t.state
	if st.index.kind == byNamespace {
		return // the primary structure answers it
	}
	t.gen = gen
	st.old, st.new = st.old[:0], st.new[:0]
	defer st.forget()
	wasMissing := before.ok && t.recover(gen, before)
	var err error
	if after.ok {
		if st.new, err = st.call(st.new, after.obj); err != nil {
			st.new = st.new[:0]
			t.fail(gen, after, err)
		}
	}
	if before.ok && !wasMissing {
		if st.index.single && len(st.new) == 1 && t.replace(gen, st.new[0], before, after) {
			return
		}
		if st.old, err = st.call(st.old, before.obj); err != nil {
			st.old = st.old[:0]
			t.removeByFullScan(gen, before.obj, err)
		}
	}
	t.move(gen, before, after)
}

// forget releases the values in the scratch space, which may be large.
func (st *indexState[T, K]) forget() {
	const keep = 64
	if cap(st.old) > keep || cap(st.new) > keep {
		st.old, st.new = nil, nil
		return
	}
	clear(st.old[:cap(st.old)])
	clear(st.new[:cap(st.new)])
}

// move brings the groups from st.old to st.new.
func (t *indexTable[T, K]) move(gen uint64, before, after entry[T]) {
	st := t.state
	stays, was := newValueSet(st.new, len(st.old)), newValueSet(st.old, len(st.new))
	lost := false
	for _, k := range st.old {
		if stays.has(k) {
			continue
		}
		lost = !t.remove(gen, k, before) || lost
	}
	for _, k := range st.new {
		if was.has(k) {
			if t.replace(gen, k, before, after) {
				continue
			}
			lost = true
		}
		t.add(gen, k, after)
	}
	if lost {
		t.removeByFullScan(gen, before.obj, errChangedValues)
	}
}

// fewValues is how many values are compared one by one faster than through a map.
const fewValues = 16

// valueSet is a set of index values.
type valueSet[K comparable] struct {
	few  []K
	many map[K]struct{} // instead of few
}

// newValueSet prepares for a number of questions about vals.
func newValueSet[K comparable](vals []K, questions int) valueSet[K] {
	if min(len(vals), questions) <= fewValues {
		return valueSet[K]{few: vals}
	}
	many := make(map[K]struct{}, len(vals))
	for _, k := range vals {
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

var errChangedValues = errors.New("index function returned different values for the same object; was the object modified after Set?")

// removeByFullScan removes obj from every group that has it. It is needed only if
// the index function does not return the same values twice for the same object.
func (t *indexTable[T, K]) removeByFullScan(gen uint64, obj T, err error) {
	st := t.state
	key := object.KeyOf(obj)
	st.shared.log.Warn("indexer: an object was changed after it was stored, or an index function is not a function of the object",
		"index", st.index.name, "object", key.String(), "err", err)
	var in []K
	t.groups.Each(func(g *group[T, K]) bool {
		g.each(func(o T) bool {
			if identical(o, obj) {
				in = append(in, g.key)
				return false
			}
			return true
		})
		return true
	})
	for _, k := range in {
		t.removeSlow(gen, k, obj)
	}
}

// call runs the index function; whatever it does wrong becomes an error.
func (st *indexState[T, K]) call(dst []K, obj T) (vals []K, err error) {
	defer func() {
		if r := recover(); r != nil {
			vals, err = dst, fmt.Errorf("index function panicked: %v", r)
		}
	}()
	if vals, err = st.index.values(dst, obj); err != nil {
		return dst, err
	}
	if len(vals) > st.shared.maxValues {
		return dst, fmt.Errorf("index function returned %d values, MaxIndexValues is %d", len(vals), st.shared.maxValues)
	}
	return dedupe(vals)
}

// dedupe removes values that occur twice, and rejects those that can never be
// found again (NaN) or cannot be compared at all, which panics.
func dedupe[K comparable](vals []K) ([]K, error) {
	out := vals[:0]
	var seen map[K]struct{}
	if len(vals) > fewValues {
		seen = make(map[K]struct{}, len(vals))
	}
	for _, k := range vals {
		if k != k {
			return vals, fmt.Errorf("index function returned a value that does not equal itself: %v", k)
		}
		if seen == nil {
			if slices.Contains(out, k) {
				continue
			}
		} else {
			if _, dup := seen[k]; dup {
				continue
			}
			seen[k] = struct{}{}
		}
		out = append(out, k)
	}
	return out, nil
}

// fail records that an object is missing from the index.
func (t *indexTable[T, K]) fail(gen uint64, e entry[T], err error) {
	st := t.state
	f := &failure[T]{key: object.KeyOf(e.obj), err: err, of: e}
	t.failed.Put(gen, e.hash, f, never, func(o *failure[T]) uint64 { return o.of.hash })
	st.shared.log.Warn("indexer: object is missing from an index", "index", st.index.name, "object", f.key.String(), "err", err)
}

// recover forgets that an object was missing and reports whether it was.
func (t *indexTable[T, K]) recover(gen uint64, e entry[T]) bool {
	_, was := t.failed.Remove(gen, e.hash, func(o *failure[T]) bool { return e.is(o.of.obj) })
	return was
}

func (t *indexTable[T, K]) failures() iter.Seq2[types.NamespacedName, error] {
	return func(yield func(types.NamespacedName, error) bool) {
		t.failed.Each(func(f *failure[T]) bool { return yield(f.key, f.err) })
	}
}

func (t *indexTable[T, K]) find(k K) *group[T, K] {
	h := hashValue(t.state.shared.hasher, k)
	g, _ := t.groups.Find(h, func(g *group[T, K]) bool { return g.key == k })
	return g
}

// IndexFailures iterates over the objects that are missing from the index of
// that name because its function failed, with the reason.
func (s *Snapshot[T]) IndexFailures(name string) (iter.Seq2[types.NamespacedName, error], error) {
	i := s.find(name)
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", ErrIndexNotFound, name)
	}
	return s.tables[i].failures(), nil
}
