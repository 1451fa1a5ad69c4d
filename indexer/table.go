package indexer

import (
	"fmt"
	"hash/maphash"
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
	// evaluate calls the index function for the new version of an object, and returns a
	// hash of its values and whether it succeeded. It never panics.
	evaluate(obj T) (hash uint64, ok bool)
	// forget releases what evaluate keeps for change.
	forget()
	// change replaces the object with that number: before becomes after, of which either
	// may be missing, and after is what evaluate was last called for. It returns t if that
	// changes nothing in the index or if the batch gen made t, else an edited copy. With it come
	// the hash of the values that before was found under, as evaluate returned it, and whether
	// it was found where it had to be. It never panics.
	change(gen uint64, number uint32, before, after entry[T]) (next table[T], hash uint64, ok bool)
	// repair follows change for an object of which before is not what was stored. It searches
	// the whole index.
	repair(gen uint64, number uint32, before, after entry[T]) table[T]
	// failures iterates over the objects that are not in the index.
	failures() iter.Seq2[types.NamespacedName, error]
	// bytes returns the memory of the index.
	bytes() int
}

// entry is an object, or none: before an insertion, or after a deletion.
type entry[T Object] struct {
	obj T
	ok  bool
}

// indexTable maps each value to the group of objects that have it.
type indexTable[T Object, K comparable] struct {
	state *indexState[T, K]
	gen   uint64
	// groups has no empty group: IndexValues yields the value of each.
	groups pmap.Trie[*group[K]]
	// failed and groups are disjoint: an object whose values are not known is in no
	// group. A query by a value must not return it for some of its values and not for
	// others.
	failed pmap.Trie[*failure]
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
	failed   error  // why there are no new ones
	hash     uint64 // of the new ones
	// salt distinguishes the hashes of evaluate from those of other indexes.
	salt uint64
}

// failure records why the object with that number is missing from an index.
type failure struct {
	number uint32
	key    types.NamespacedName
	err    error
}

func (t *indexTable[T, K]) definition() IndexDefinition[T] { return t.state.index }

// own returns t if the batch gen made it, else a copy, which shares all nodes.
func (t *indexTable[T, K]) own(gen uint64) *indexTable[T, K] {
	if t.gen == gen {
		return t
	}
	c := *t
	c.gen = gen
	return &c
}

// evaluate calls the index function for the new version. It runs under the writer lock,
// or on a table that is not published yet.
func (t *indexTable[T, K]) evaluate(obj T) (hash uint64, ok bool) {
	st := t.state
	if st.new, st.failed = st.call(st.new[:0], obj); st.failed != nil {
		st.new, st.hash = st.new[:0], 0
		return 0, false
	}
	st.hash = st.sum(st.new)
	return st.hash, true
}

// sum returns the hash of values. Their order makes no difference: a function that iterates over
// the labels of an object returns them in another order each time.
func (st *indexState[T, K]) sum(vals []K) uint64 {
	hash := st.salt
	for _, k := range vals {
		hash += maphash.Comparable(st.shared.hasher.seed, k)
	}
	return hash * (st.salt | 1) // so that values that two indexes exchange make another sum
}

// change calls the index function for the old version, unless the index has at most one
// value per object and that stayed. It runs like evaluate.
func (t *indexTable[T, K]) change(gen uint64, number uint32, before, after entry[T]) (next table[T], hash uint64, ok bool) {
	st := t.state
	st.old = st.old[:0]
	if !after.ok {
		st.new, st.failed, st.hash = st.new[:0], nil, 0
	}
	defer st.forget()
	var failed, failedBefore error = st.failed, nil
	// An old version that failed is in no group, so there is nothing to take out. Its
	// function must not be called again either: it could succeed this time.
	wasMissing := before.ok && t.missing(number)
	if before.ok && !wasMissing {
		// If the object is in the group of its new value, it is in no other: the index
		// promises one value at most. That saves a call for the old version, whose memory
		// is probably not in the CPU caches any more. A status update of a pod on the same
		// node ends here.
		if st.index.single && len(st.new) == 1 && t.has(st.new[0], number) {
			return t, st.hash, true
		}
		// The values of the old version are computed, not stored: storing them would
		// cost memory for each object. It relies on index functions being deterministic
		// and on objects being immutable; repair is for where one of these does not hold.
		if st.old, failedBefore = st.call(st.old, before.obj); failedBefore != nil {
			st.old = st.old[:0]
		} else if hash = st.sum(st.old); after.ok && failed == nil && t.stays(number) {
			return t, hash, true
		}
	}
	c := t.own(gen)
	if wasMissing {
		c.recover(gen, number)
	}
	if failed != nil {
		// The write itself succeeds. One object that an index function cannot handle
		// must not keep the cache from following the server.
		c.fail(gen, number, after.obj, failed)
	}
	if !before.ok {
		for _, k := range st.new {
			c.add(gen, k, number)
		}
		return c, 0, true
	}
	return c, hash, c.move(gen, number) && failedBefore == nil
}

// stays reports whether the new version of an object has exactly the values of the old
// one, in the same order, and is found under each of them.
func (t *indexTable[T, K]) stays(number uint32) bool {
	st := t.state
	if !slices.Equal(st.old, st.new) {
		return false
	}
	for _, k := range st.new {
		if !t.has(k, number) {
			return false
		}
	}
	return true
}

// forget implements [table].
func (t *indexTable[T, K]) forget() { t.state.forget() }

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

// move takes the object with that number out of the groups of st.old and puts it into
// those of st.new, and reports whether it was in all of the former, and in none of the others.
func (t *indexTable[T, K]) move(gen uint64, number uint32) (found bool) {
	st := t.state
	stays, was := newValueSet(st.new, len(st.old)), newValueSet(st.old, len(st.new))
	found = true
	for _, k := range st.old {
		// Not found: the function returns other values now than when the object was
		// stored, so the number is in some other group.
		if stays.has(k) {
			found = t.has(k, number) && found
		} else {
			found = t.remove(gen, k, number) && found
		}
	}
	for _, k := range st.new {
		switch {
		case was.has(k):
		case t.has(k, number):
			found = false
		default:
			t.add(gen, k, number)
		}
	}
	return found
}

// repair takes the number out of all groups and puts it into those of the new version.
func (t *indexTable[T, K]) repair(gen uint64, number uint32, before, after entry[T]) table[T] {
	c := t.own(gen)
	st := c.state
	defer st.forget()
	c.removeByFullScan(gen, number)
	if !after.ok || c.missing(number) {
		return c
	}
	if _, ok := c.evaluate(after.obj); !ok { // not a function of the object
		c.fail(gen, number, after.obj, st.failed)
	}
	for _, k := range st.new {
		c.add(gen, k, number)
	}
	return c
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

// removeByFullScan removes the object with that number from every group that has it. It
// is needed only if the index function does not return the same values twice for the
// same object.
func (t *indexTable[T, K]) removeByFullScan(gen uint64, number uint32) {
	// The values are collected first. A removal edits nodes of this batch in place,
	// which must not happen under an iteration over them.
	var in []K
	t.groups.Each(func(g *group[K]) bool {
		if g.has(number) {
			in = append(in, g.key)
		}
		return true
	})
	for _, k := range in {
		t.remove(gen, k, number)
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
func (t *indexTable[T, K]) fail(gen uint64, number uint32, obj T, err error) {
	st := t.state
	// change has removed an earlier failure of the object with recover, so there is none
	// to replace: Put need not compare, hence never.
	f := &failure{number: number, key: object.KeyOf(obj), err: err}
	t.failed.Put(gen, hashNumber(number), f, never, func(o *failure) uint64 { return hashNumber(o.number) })
	st.shared.log.Warn("indexer: object is missing from an index", "index", st.index.name, "object", f.key.String(), "err", err)
}

// missing reports whether the object with that number is missing from the index.
func (t *indexTable[T, K]) missing(number uint32) bool {
	_, is := t.failed.Find(hashNumber(number), func(o *failure) bool { return o.number == number })
	return is
}

// recover forgets that an object was missing.
func (t *indexTable[T, K]) recover(gen uint64, number uint32) {
	t.failed.Remove(gen, hashNumber(number), func(o *failure) bool { return o.number == number })
}

// failures implements [table]. It runs on any snapshot, without a lock.
func (t *indexTable[T, K]) failures() iter.Seq2[types.NamespacedName, error] {
	return func(yield func(types.NamespacedName, error) bool) {
		t.failed.Each(func(f *failure) bool { return yield(f.key, f.err) })
	}
}

// find returns the group of the objects that have the value k, or nil.
func (t *indexTable[T, K]) find(k K) *group[K] {
	h := hashValue(t.state.shared.hasher, k)
	g, _ := t.groups.Find(h, func(g *group[K]) bool { return g.key == k })
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
