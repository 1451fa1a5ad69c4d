package reflector

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// round collects the objects of one reading of the collection.
type round[T Object] struct {
	known Known[T]
	objs  []T
	bad   []*ObjectError
	// index finds objects by key, for initial events, which may change and
	// delete what came before. It is nil for lists, which hold each key once.
	index map[types.NamespacedName]int
	holes int // objects deleted: nil in objs
}

func newRound[T Object](known Known[T]) *round[T] { return &round[T]{known: known} }

// newEventRound returns a round in which objects can be changed and removed.
func newEventRound[T Object](known Known[T]) *round[T] {
	return &round[T]{known: known, index: map[types.NamespacedName]int{}}
}

func (r *round[T]) reset() { r.objs, r.bad, r.holes = nil, nil, 0 }

// put adds or replaces an object and reports whether its key is new.
func (r *round[T]) put(obj T) bool {
	obj = samePointer(r.known, obj)
	if r.index == nil {
		r.objs = append(r.objs, obj)
		return true
	}
	key := object.KeyOf(obj)
	if i, ok := r.index[key]; ok {
		r.objs[i] = obj
		return false
	}
	r.index[key] = len(r.objs)
	r.objs = append(r.objs, obj)
	return true
}

// remove deletes an object.
func (r *round[T]) remove(key types.NamespacedName) {
	if i, ok := r.index[key]; ok {
		var none T
		r.objs[i] = none
		r.holes++
		delete(r.index, key)
	}
}

// refuse notes an object that could not be decoded or transformed. Any other
// error ends the list.
func (r *round[T]) refuse(err error) error {
	var oe *ObjectError
	if !errors.As(err, &oe) {
		return err
	}
	r.bad = append(r.bad, oe)
	if r.known == nil || oe.Key.Name == "" {
		return nil
	}
	// Better an old version than none: an object that is missing from a
	// Replace is deleted.
	if old, ok := r.known.Known(oe.Key); ok && !object.IsNil(old) {
		r.put(old)
	}
	return nil
}

// finish returns the objects in order of arrival. The round is used up.
func (r *round[T]) finish() []T {
	r.index = nil
	if r.holes == 0 {
		return r.objs
	}
	out := r.objs[:0]
	for _, o := range r.objs {
		if !object.IsNil(o) {
			out = append(out, o)
		}
	}
	clear(r.objs[len(out):])
	return out
}
