package indexer

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Index describes a way to find objects by values of type K: a function returns
// the values of an object. It holds no objects, and may be registered with several
// indexers.
type Index[T Object, K comparable] struct {
	name string
	// values appends the values of obj to dst; the built-in indexes do so
	// without allocating.
	values func(dst []K, obj T) ([]K, error)
	// builtIn indexes of one name mean the same: two calls of LabelIndex("app") return two
	// pointers, and a query may use either. Functions of users cannot be compared, so theirs
	// equal only themselves.
	builtIn bool
	label   string // the label's key, if it is a built-in index of strings
}

// NewIndex returns an index with the values that fn returns. An object may have
// any number of values up to [Options].MaxIndexValues, or none; duplicates do not
// matter.
//
// fn must depend on nothing but the object, must not change it, and must not
// write to the indexer that calls it. It is called by the writer, once for each version of
// an object, and by [Indexer.AddIndex]; and by [ByIndex] for a snapshot that does not
// have the index. If fn fails or panics, the object is
// missing from this index only, and [Snapshot.IndexFailures] has the reason.
func NewIndex[T Object, K comparable](name string, fn func(obj T) ([]K, error)) *Index[T, K] {
	x := &Index[T, K]{name: name}
	if fn != nil {
		x.values = func(dst []K, obj T) ([]K, error) {
			vals, err := fn(obj)
			return append(dst, vals...), err
		}
	}
	return x
}

// NewSingleIndex returns an index of objects with at most one value each, such
// as the node of a pod; objects for which fn reports false are not in it. What
// [NewIndex] says about functions also holds for fn.
func NewSingleIndex[T Object, K comparable](name string, fn func(obj T) (k K, ok bool)) *Index[T, K] {
	x := &Index[T, K]{name: name}
	if fn != nil {
		x.values = func(dst []K, obj T) ([]K, error) {
			if k, ok := fn(obj); ok {
				dst = append(dst, k)
			}
			return dst, nil
		}
	}
	return x
}

// Name returns the name of the index.
func (x *Index[T, K]) Name() string { return x.name }

// check returns an error if the index cannot work.
func (x *Index[T, K]) check() error {
	switch {
	case x.name == "":
		return errors.New("indexer: index has no name")
	case x.values == nil:
		return fmt.Errorf("indexer: index %q has no function", x.name)
	}
	return nil
}

func (x *Index[T, K]) newTable(sh *shared) table[T] {
	return &indexTable[T, K]{index: x, shared: sh, one: new([1]K)}
}

// call runs the index function; whatever it does wrong becomes an error.
func (x *Index[T, K]) call(dst []K, obj T, maxValues int) (values []K, err error) {
	// A panic here would otherwise unwind through the writer, in the middle of an update
	// of several indexes, because of one object that the function did not expect.
	defer func() {
		if r := recover(); r != nil {
			values, err = dst, fmt.Errorf("index function panicked: %v", r)
		}
	}()
	if values, err = x.values(dst, obj); err != nil {
		return dst, err
	}
	if len(values) > maxValues {
		return dst, fmt.Errorf("index function returned %d values, MaxIndexValues is %d", len(values), maxValues)
	}
	return dedupe(values)
}

// dedupe removes values that occur twice, and rejects those that can never be
// found again (NaN) or cannot be compared at all, which panics.
func dedupe[K comparable](values []K) ([]K, error) {
	out := values[:0]
	var seen map[K]struct{}
	if len(values) > fewValues {
		seen = make(map[K]struct{}, len(values))
	}
	for _, k := range values {
		// Only NaN, or a value that contains one. Such a value can be added to a group
		// and never found again, so each update would leave a stale number behind.
		if k != k {
			return values, fmt.Errorf("index function returned a value that does not equal itself: %v", k)
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

// Names of the built-in indexes; that of a label index is followed by the key.
const (
	ownerUIDIndexName    = "ownerUID"
	labelIndexNamePrefix = "label:"
)

// OwnerUIDIndex finds objects by the UID of each of their owner references.
func OwnerUIDIndex[T Object]() *Index[T, types.UID] {
	return &Index[T, types.UID]{
		name:    ownerUIDIndexName,
		builtIn: true,
		values: func(dst []types.UID, obj T) ([]types.UID, error) {
			for _, ref := range obj.GetOwnerReferences() {
				dst = append(dst, ref.UID)
			}
			return dst, nil
		},
	}
}

// LabelIndex finds objects by the value of the label with that key; objects
// without the label are not in it. [Snapshot.Select] uses it.
func LabelIndex[T Object](key string) *Index[T, string] {
	return &Index[T, string]{
		name:    labelIndexNamePrefix + key,
		builtIn: true,
		label:   key,
		values: func(dst []string, obj T) ([]string, error) {
			if v, ok := obj.GetLabels()[key]; ok {
				dst = append(dst, v)
			}
			return dst, nil
		},
	}
}

// IndexDefinition is an [Index] of any value type, so that those of different types can be in
// one slice, as in [Options].Indexes. Only this package implements it.
type IndexDefinition[T Object] interface {
	Name() string
	check() error
	newTable(*shared) table[T]
}

// ByIndex iterates over the objects that have the value k in the index x, as of
// the snapshot.
//
// A snapshot that does not have the index, because the index was never registered
// or was added later, gives the same answer by a full scan: it calls the function of
// x for all its objects, in the goroutine of the caller. The first query of that
// kind is logged. ByIndex panics if x is nil.
func ByIndex[T Object, K comparable](s *Snapshot[T], x *Index[T, K], k K) iter.Seq[T] {
	// The table is looked up once, not per iteration: the snapshot cannot change.
	t := tableOf(s, x)
	return func(yield func(T) bool) {
		if t == nil {
			scan(s, x, func(obj T, values []K) bool { return !slices.Contains(values, k) || yield(obj) })
		} else {
			objectsOf(s.recordsOf(t.groups.numbers(t.shared, k)))(yield)
		}
	}
}

// IndexLen returns how many objects have the value k in the index x. Without the
// index it does what [ByIndex] does.
func IndexLen[T Object, K comparable](s *Snapshot[T], x *Index[T, K], k K) int {
	t := tableOf(s, x)
	if t == nil {
		n := 0
		for range ByIndex(s, x, k) {
			n++
		}
		return n
	}
	return t.groups.numbers(t.shared, k).Len()
}

// IndexValues iterates over the values that at least one object has in the
// index x, each once. Without the index it does what [ByIndex] does.
func IndexValues[T Object, K comparable](s *Snapshot[T], x *Index[T, K]) iter.Seq[K] {
	t := tableOf(s, x)
	return func(yield func(K) bool) {
		if t != nil {
			t.groups.values()(yield)
			return
		}
		seen := map[K]bool{}
		scan(s, x, func(_ T, values []K) bool {
			for _, k := range values {
				if !seen[k] && !yield(k) {
					return false
				}
				seen[k] = true
			}
			return true
		})
	}
}

// FindIndex returns the index of that name that the snapshot has, for callers that
// do not know the index itself, such as an adapter whose indexes all have string
// values. It fails if there is none, or one with values of another type than K.
func FindIndex[T Object, K comparable](s *Snapshot[T], name string) (*Index[T, K], error) {
	i := s.find(name)
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", errIndexNotFound, name)
	}
	t, ok := s.tables[i].(*indexTable[T, K])
	if !ok {
		var k K
		return nil, fmt.Errorf("%w: %q has no values of type %T", errIndexNotFound, name, k)
	}
	return t.index, nil
}

// tableOf returns the snapshot's table of x, nil if it has none. An index of the
// same name that was made by another call of NewIndex is not x; two built-in
// indexes of one name are the same.
func tableOf[T Object, K comparable](s *Snapshot[T], x *Index[T, K]) *indexTable[T, K] {
	if x == nil {
		panic("indexer: query of a nil index; make one with NewIndex and pass it to New or AddIndex")
	}
	for _, t := range s.tables {
		if t, ok := t.(*indexTable[T, K]); ok && t.index.same(x) {
			return t
		}
	}
	return nil
}

// same reports whether x and y have the same values for every object.
func (x *Index[T, K]) same(y *Index[T, K]) bool {
	return x == y || x.builtIn && y.builtIn && x.name == y.name
}

// scan answers for an index that s does not have: it calls yield with every object
// and its values, except those for which the function of the index fails.
func scan[T Object, K comparable](s *Snapshot[T], x *Index[T, K], yield func(T, []K) bool) {
	// Once per name: a query that looks at all objects is usually made in every
	// reconcile, and a line for each would hide everything else in the log.
	if s.shared.firstScan(x.name) {
		s.shared.log.Warn("indexer: an index that is not registered was queried, which looks at all objects; pass it to New or AddIndex", "index", x.name)
	}
	var values []K
	for obj := range s.All() {
		var err error
		if values, err = x.call(values[:0], obj, s.shared.maxValues); err == nil && !yield(obj, values) {
			return
		}
	}
}
