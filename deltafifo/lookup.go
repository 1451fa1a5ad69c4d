package deltafifo

import "k8s.io/apimachinery/pkg/types"

// GetByKey returns a copy of the deltas that are queued for an object, and whether
// there are any. What is in process is no longer queued. GetByKey, List and ListKeys
// are for tests and for looking into a queue that does not drain.
func (q *DeltaFIFO[T]) GetByKey(key types.NamespacedName) (Deltas[T], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.line.byKey[key]
	if !ok {
		return nil, false
	}
	return it.deltas(), true
}

// List returns a copy of everything that is queued, in the order in which it
// will be popped.
func (q *DeltaFIFO[T]) List() []Deltas[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]Deltas[T], 0, len(q.line.byKey))
	for it := range q.line.all {
		list = append(list, it.deltas())
	}
	return list
}

// ListKeys returns the keys of the queued objects, in the order in which they
// will be popped.
func (q *DeltaFIFO[T]) ListKeys() []types.NamespacedName {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := make([]types.NamespacedName, 0, len(q.line.byKey))
	for it := range q.line.all {
		keys = append(keys, it.key)
	}
	return keys
}
