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
//
// The interface hides the value type K, so that a snapshot can have indexes of different
// types in one slice. Queries know K, and get the table back with a type assertion
// (tableOf).
type table[T Object] interface {
	definition() IndexDefinition[T]
	// own returns the table if the batch gen made it, else a copy to edit.
	own(gen uint64) table[T]
	// change replaces the object before by after; either may be missing. It
	// calls the index function, and never panics.
	change(gen uint64, before, after entry[T])
	// failures iterates over the objects that are not in the index.
	failures() iter.Seq2[types.NamespacedName, error]
	// bytes returns the memory of the index.
	bytes() int
}

// entry is an object with the hash of its key.
//
// ok is false if there is no object: before an insertion, or after a deletion.
type entry[T Object] struct {
	obj  T
	hash uint64
	ok   bool
}

// indexTable maps each value to the group of objects that have it.
type indexTable[T Object, K comparable] struct {
	state *indexState[T, K]
	gen   uint64
	// groups has no empty group: IndexValues yields the value of each.
	groups pmap.Trie[*group[T, K]]
	// failed and groups are disjoint: an object whose values are not known is in no
	// group. A query by a value must not return it for some of its values and not for
	// others.
	failed pmap.Trie[*failure[T]]
}

// indexState is what all versions of a table share. The scratch space belongs
// to the writer.
type indexState[T Object, K comparable] struct {
	index  *Index[T, K]
	shared *shared[T]
	// old and new are the values of the object that is being changed. They are reused
	// from write to write, and belong to the goroutine that holds the writer lock;
	// readers of a published table use only index and shared.
	old, new []K
}

// failure records why an object is missing from an index.
type failure[T Object] struct {
	key types.NamespacedName
	err error
	// of keeps the hash: when a leaf of failures is divided, the key of an object that
	// was modified meanwhile may have another one.
	of entry[T]
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
	t.gen = gen
	st.old, st.new = st.old[:0], st.new[:0]
	defer st.forget()
	// An old version that failed is in no group, so there is nothing to take out. Its
	// function must not be called again either: it could succeed this time.
	wasMissing := before.ok && t.recover(gen, before)
	var err error
	if after.ok {
		if st.new, err = st.call(st.new, after.obj); err != nil {
			st.new = st.new[:0]
			// The write itself succeeds. One object that an index function cannot handle
			// must not keep the cache from following the server.
			t.fail(gen, after, err)
		}
	}
	if before.ok && !wasMissing {
		// If the old version is in the group of the new value, it has no other value:
		// the index promises one at most. That saves a call for the old version, whose
		// memory is probably not in the CPU caches any more. A status update of a pod on
		// the same node ends here.
		if st.index.single && len(st.new) == 1 && t.replace(gen, st.new[0], before, after) {
			return
		}
		// The values of the old version are computed, not stored: storing them would
		// cost memory for each object. It relies on index functions being deterministic
		// and on objects being immutable; removeByFullScan repairs the index where one
		// of these does not hold.
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
	// A value that stays is left to the second loop, which overwrites one slot instead
	// of removing and adding, so that no leaf is merged or divided.
	stays, was := newValueSet(st.new, len(st.old)), newValueSet(st.old, len(st.new))
	lost := false
	for _, k := range st.old {
		if stays.has(k) {
			continue
		}
		// Not found: the function returns other values now than when the object was
		// stored, so a stale pointer is in some other group.
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
//
// Without it, an object with n old and n new values takes n² comparisons: with the
// 10,000 that are allowed, 100 million under the writer lock.
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
	// The values are collected first. A removal edits nodes of this batch in place,
	// which must not happen under an iteration over them.
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
	// A panic here would otherwise unwind through the writer, in the middle of an update
	// of several indexes, because of one object that the function did not expect.
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
		// Only NaN, or a value that contains one. Such a value can be added to a group
		// and never found again, so each update would leave a stale pointer behind.
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
	// change has removed an earlier failure of the object with recover, so there is none
	// to replace: Put need not compare, hence never.
	f := &failure[T]{key: object.KeyOf(e.obj), err: err, of: e}
	t.failed.Put(gen, e.hash, f, never, func(o *failure[T]) uint64 { return o.of.hash })
	st.shared.log.Warn("indexer: object is missing from an index", "index", st.index.name, "object", f.key.String(), "err", err)
}

// recover forgets that an object was missing and reports whether it was.
func (t *indexTable[T, K]) recover(gen uint64, e entry[T]) bool {
	_, was := t.failed.Remove(gen, e.hash, func(o *failure[T]) bool { return e.is(o.of.obj) })
	return was
}

// failures implements [table]. It runs on any snapshot, without a lock.
func (t *indexTable[T, K]) failures() iter.Seq2[types.NamespacedName, error] {
	return func(yield func(types.NamespacedName, error) bool) {
		t.failed.Each(func(f *failure[T]) bool { return yield(f.key, f.err) })
	}
}

// find returns the group of the objects that have the value k, or nil.
func (t *indexTable[T, K]) find(k K) *group[T, K] {
	h := hashValue(t.state.shared.hasher, k)
	g, _ := t.groups.Find(h, func(g *group[T, K]) bool { return g.key == k })
	return g
}

// IndexFailures iterates over the objects that are missing from the index of
// that name because its function failed, with the reason. It fails with
// [ErrIndexNotFound] if the snapshot has no such index.
func (s *Snapshot[T]) IndexFailures(name string) (iter.Seq2[types.NamespacedName, error], error) {
	i := s.find(name)
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", ErrIndexNotFound, name)
	}
	return s.tables[i].failures(), nil
}
