package deltafifo

import (
	"iter"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// Known returns the newest state of an object that the queue has accepted: what
// is queued or, if nothing is, what is in process or, if it is neither, what
// [Options].KnownObjects holds. An object whose newest change is a deletion,
// observed or not, is not known, although the store may still hold it.
//
// With this method a DeltaFIFO is a reflector's sink that can be asked for what
// it has. At a relist the reflector keeps the pointers of unchanged objects, and
// the last good version of an object that it cannot decode; without that version
// Replace would queue a tombstone for an object that exists. So a Replaced whose
// Object is the very pointer in the store is an object that has not changed.
//
// What Known returns has been through Transform, and does not go through it
// again if it is given back to Replace, Delete or another write. To recognize it
// the queue keeps a reference to it, if there is a Transform, until the next
// write of that object or the next Replace.
//
// Known never waits for room or for the consumer. Without KnownObjects it knows
// only what is queued or in process.
func (q *DeltaFIFO[T]) Known(key types.NamespacedName) (T, bool) {
	q.mu.Lock()
	defer q.mu.Unlock() // also if KnownObjects panics
	obj, ok := q.newest(key)
	if ok && q.transform != nil {
		if q.returned == nil {
			q.returned = map[types.NamespacedName]T{}
		}
		q.returned[key] = obj
	}
	return obj, ok
}

// newest looks for the newest state of an object where it is on its way to the
// store, and then in the store. The mutex must be locked.
func (q *DeltaFIFO[T]) newest(key types.NamespacedName) (obj T, ok bool) {
	it, queued := q.line.byKey[key]
	switch {
	case queued:
		obj, ok = it.last().object, !it.isDeleted()
	case q.isInProcess(key):
		obj, ok = q.inProcess.last().object, !q.inProcess.isDeleted()
	case q.known != nil:
		obj, ok = q.known.Get(key)
	}
	if !ok || object.IsNil(obj) {
		var none T
		return none, false
	}
	return obj, true
}

// exists reports whether a deletion of the object is something to deliver: the
// consumer has the object, is going to have it, or has its deletion queued, with
// which the new one merges. Without KnownObjects what is in process does not
// count, as that consumer remembers nothing. The mutex must be locked.
func (q *DeltaFIFO[T]) exists(key types.NamespacedName) bool {
	if q.line.has(key) {
		return true
	}
	if q.known == nil {
		return false
	}
	if q.isInProcess(key) {
		return !q.inProcess.isDeleted()
	}
	_, ok := q.known.Get(key)
	return ok
}

// onlyKnown yields the known objects of which nothing is queued or in process.
// There must be KnownObjects, and the mutex must be locked.
func (q *DeltaFIFO[T]) onlyKnown() iter.Seq[T] {
	return func(yield func(T) bool) {
		for obj := range q.known.All() {
			if object.IsNil(obj) {
				continue
			}
			key := object.KeyOf(obj)
			if q.line.has(key) || q.isInProcess(key) {
				continue
			}
			if !yield(obj) {
				return
			}
		}
	}
}
