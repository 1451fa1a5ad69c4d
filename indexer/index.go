package indexer

import (
	"errors"
	"fmt"
	"iter"
)

// Index describes a way to find objects by values of type K: a function returns
// the values of an object. It holds no objects, and may be registered with several
// indexers.
type Index[T Object, K comparable] struct {
	name string
	// values appends the values of obj to dst; the built-in indexes do so
	// without allocating.
	values func(dst []K, obj T) ([]K, error)
	kind   indexKind
	label  string // the label's key, for byLabel
	// single promises at most one value per object: an object that is found
	// under its new value then has no other, and the old version need not be
	// looked at.
	single bool
}

// indexKind separates the built-in indexes that queries can use by themselves from
// those whose values only the user understands.
type indexKind uint8

const (
	custom indexKind = iota
	byNamespace
	byLabel
)

// NewIndex returns an index with the values that fn returns. An object may have
// any number of values up to [Options].MaxIndexValues, or none; duplicates do not
// matter.
//
// fn must depend on nothing but the object, must not change it, and must not
// write to the indexer that calls it. It is called by the writer, for the old
// and the new version of an object, and by [Indexer.AddIndex]; one call at a time
// for each indexer that has the index. If fn fails or panics, the object is
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
// [NewIndex] says about functions also holds for fn. It is the cheaper kind:
// as long as the value stays, an update does not look at the old version.
func NewSingleIndex[T Object, K comparable](name string, fn func(obj T) (k K, ok bool)) *Index[T, K] {
	x := &Index[T, K]{name: name, single: true}
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

func (x *Index[T, K]) newTable(sh *shared[T]) table[T] {
	return &indexTable[T, K]{state: &indexState[T, K]{index: x, shared: sh}}
}

// IndexDefinition is an [Index] of any value type; only this package implements
// it.
type IndexDefinition[T Object] interface {
	Name() string
	check() error
	newTable(*shared[T]) table[T]
}

// isNilDefinition reports whether d is nil or a nil *Index.
func isNilDefinition[T Object](d IndexDefinition[T]) bool {
	if d == nil {
		return true
	}
	n, ok := d.(interface{ isNil() bool })
	return ok && n.isNil()
}

func (x *Index[T, K]) isNil() bool { return x == nil }

// ByIndex iterates over the objects that have the value k in the index x, as of
// the snapshot. It fails with [ErrIndexNotFound] if the snapshot does not have
// the index.
func ByIndex[T Object, K comparable](s *Snapshot[T], x *Index[T, K], k K) (iter.Seq[T], error) {
	t, err := tableOf(s, x)
	if err != nil {
		return nil, err
	}
	return func(yield func(T) bool) { t.each(s, k, yield) }, nil
}

// IndexLen returns how many objects have the value k in the index x. It fails with
// [ErrIndexNotFound] if the snapshot does not have the index.
func IndexLen[T Object, K comparable](s *Snapshot[T], x *Index[T, K], k K) (int, error) {
	t, err := tableOf(s, x)
	if err != nil {
		return 0, err
	}
	return t.len(s, k), nil
}

// IndexValues iterates over the values that at least one object has in the
// index x, each once. It fails with [ErrIndexNotFound] if the snapshot does not
// have the index.
func IndexValues[T Object, K comparable](s *Snapshot[T], x *Index[T, K]) (iter.Seq[K], error) {
	t, err := tableOf(s, x)
	if err != nil {
		return nil, err
	}
	return func(yield func(K) bool) { t.eachValue(s, yield) }, nil
}

// tableOf returns the snapshot's table of x itself: an index of the same name that
// was made by another call of NewIndex is not x.
func tableOf[T Object, K comparable](s *Snapshot[T], x *Index[T, K]) (*indexTable[T, K], error) {
	if x == nil {
		return nil, fmt.Errorf("%w: nil", ErrIndexNotFound)
	}
	for _, t := range s.tables {
		if t, ok := t.(*indexTable[T, K]); ok && t.state.index == x {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrIndexNotFound, x.name)
}
