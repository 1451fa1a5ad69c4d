package deltafifo

import (
	"fmt"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// receive validates an object that comes from outside and transforms it, unless
// it is one of the queue's own that Known has returned. The mutex must not be
// locked: Transform is user code, and may be slow.
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

// isTransformed reports whether obj is what Known has returned for its key: it
// was transformed when it was first received. A transform that is not idempotent
// would otherwise change an object that readers of the store share.
func (q *DeltaFIFO[T]) isTransformed(key types.NamespacedName, obj T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	returned, ok := q.returned[key]
	return ok && any(returned) == any(obj)
}
