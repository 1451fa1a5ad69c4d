package deltafifo

import (
	"fmt"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// keyOf returns the key of obj, or says what is wrong with it.
func keyOf[T Object](op string, obj T) (types.NamespacedName, error) {
	if object.IsNil(obj) {
		return types.NamespacedName{}, fmt.Errorf("deltafifo: %s: the object is nil: %w", op, ErrInvalidObject)
	}
	key := object.KeyOf(obj)
	if key.Name == "" {
		return types.NamespacedName{}, fmt.Errorf("deltafifo: %s: the object of type %T in namespace %q has no name: %w", op, obj, key.Namespace, ErrInvalidObject)
	}
	return key, nil
}

// receive validates an object that comes from outside and transforms it, unless
// it is one of the queue's own that Known has returned.
func (q *DeltaFIFO[T]) receive(op string, obj T) (types.NamespacedName, T, error) {
	key, err := keyOf(op, obj)
	if err != nil || q.transform == nil || q.isTransformed(key, obj) {
		return key, obj, err
	}
	out, err := q.transform(obj)
	switch {
	case err != nil:
		err = fmt.Errorf("deltafifo: %s %s: transform: %w", op, key, err)
	case object.IsNil(out):
		err = fmt.Errorf("deltafifo: %s %s: transform returned nil: %w", op, key, ErrInvalidObject)
	case object.KeyOf(out) != key:
		err = fmt.Errorf("deltafifo: %s %s: transform returned %s, but must keep namespace and name: %w", op, key, object.KeyOf(out), ErrInvalidObject)
	}
	return key, out, err
}

// check says what is wrong with a tombstone from outside.
func (d DeletedFinalStateUnknown[T]) check() error {
	if d.Key.Name == "" {
		return fmt.Errorf("deltafifo: DeleteFinalStateUnknown: the key %q has no name: %w", d.Key, ErrInvalidObject)
	}
	return nil
}

// check says what is wrong with deltas from outside.
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
