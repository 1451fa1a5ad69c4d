package deltafifo

import (
	"fmt"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// check returns why obj cannot be queued, or nil.
func check[T Object](op string, obj T) error {
	if object.IsNil(obj) {
		return fmt.Errorf("deltafifo: %s: the object is nil: %w", op, ErrInvalidObject)
	}
	if obj.GetName() == "" {
		return fmt.Errorf("deltafifo: %s: the object of type %T in namespace %q has no name: %w", op, obj, obj.GetNamespace(), ErrInvalidObject)
	}
	return nil
}

// firstInvalid returns the index of the first object that cannot be queued, or -1. It
// takes two passes, which together need about half the time of one: the comparison with
// nil then reads nothing but the slice, and the calls for the names do not wait for it.
func firstInvalid[T Object](objs []T) int {
	firstNil := indexOfNil(objs)
	if firstNil >= 0 {
		objs = objs[:firstNil] // the name of nil cannot be asked for
	}
	for i := range objs {
		if objs[i].GetName() == "" {
			return i
		}
	}
	return firstNil
}

// indexOfNil returns the index of the first object that is nil, or -1. It is object.IsNil
// for each, but makes the nil of a T only once, which takes most of the time.
func indexOfNil[T Object](objs []T) int {
	var none T
	noObject := any(none)
	for i := range objs {
		if any(objs[i]) == noObject {
			return i
		}
	}
	return -1
}

// keyOf returns the key of obj, or an error that says why obj cannot be queued.
func keyOf[T Object](op string, obj T) (types.NamespacedName, error) {
	if err := check(op, obj); err != nil {
		return types.NamespacedName{}, err
	}
	return object.KeyOf(obj), nil
}

// check returns why a tombstone from outside cannot be queued, or nil. Its object
// may be nil: a producer need not have seen it.
func (d DeletedFinalStateUnknown[T]) check() error {
	if d.Key.Name == "" {
		return fmt.Errorf("deltafifo: DeleteFinalStateUnknown: the key %q has no name: %w", d.Key, ErrInvalidObject)
	}
	return nil
}

// check returns why deltas from outside cannot be put back as those of one
// object, or nil.
func (d Deltas[T]) check() error {
	if len(d) == 0 {
		return fmt.Errorf("deltafifo: AddIfNotPresent: no deltas: %w", ErrInvalidObject)
	}
	for _, delta := range d {
		switch {
		case delta.Key.Name == "":
			return fmt.Errorf("deltafifo: AddIfNotPresent: the key %q of a delta has no name: %w", delta.Key, ErrInvalidObject)
		case delta.Key != d[0].Key:
			return fmt.Errorf("deltafifo: AddIfNotPresent: deltas of %s and of %s: %w", d[0].Key, delta.Key, ErrInvalidObject)
		case object.IsNil(delta.Object) && !delta.FinalStateUnknown:
			return fmt.Errorf("deltafifo: AddIfNotPresent: a delta of %s has no object: %w", delta.Key, ErrInvalidObject)
		}
	}
	return nil
}
