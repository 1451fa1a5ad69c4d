package deltafifo

import (
	"slices"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// Get returns a copy of the deltas that are queued for the object with obj's
// namespace and name, and whether there are any. What is in process is no
// longer queued.
func (q *DeltaFIFO[T]) Get(obj T) (Deltas[T], bool) {
	if object.IsNil(obj) {
		return nil, false
	}
	return q.GetByKey(object.KeyOf(obj))
}

// GetByKey is Get by namespace and name.
func (q *DeltaFIFO[T]) GetByKey(key types.NamespacedName) (Deltas[T], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	deltas, ok := q.items[key]
	return slices.Clone(deltas), ok
}

// List returns a copy of everything that is queued, in the order in which it
// will be popped.
func (q *DeltaFIFO[T]) List() []Deltas[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]Deltas[T], 0, len(q.inLine()))
	for _, key := range q.inLine() {
		list = append(list, slices.Clone(q.items[key]))
	}
	return list
}

// ListKeys returns the keys of the queued objects, in the order in which they
// will be popped.
func (q *DeltaFIFO[T]) ListKeys() []types.NamespacedName {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]types.NamespacedName{}, q.inLine()...)
}
