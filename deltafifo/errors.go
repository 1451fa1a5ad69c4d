package deltafifo

import (
	"errors"
	"fmt"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

var (
	// ErrClosed is returned by a write to a closed queue, and by a pop from a
	// closed queue that is empty. It is final: a queue never opens again.
	ErrClosed = errors.New("deltafifo: the queue is closed")

	// ErrConcurrentPop is returned by a pop that begins while another one of
	// the same queue is waiting or processing, in another goroutine or, called
	// from process, in this one. Nothing was taken. A queue has one consumer:
	// two of them could not keep the order of changes.
	ErrConcurrentPop = errors.New("deltafifo: another pop of this queue is in progress; use one consumer, and do not pop from within process")

	// ErrInvalidObject is wrapped by the error of a write whose object, key or
	// deltas cannot be queued: a nil object, an object without a name. Nothing
	// was queued.
	ErrInvalidObject = errors.New("nothing was queued")

	errNotMade   = errors.New("deltafifo: the queue was not created by New or NewBatch")
	errNoProcess = errors.New("deltafifo: the process function is nil; nothing was taken")
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
