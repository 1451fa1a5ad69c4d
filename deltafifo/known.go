package deltafifo

import (
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

// newest is Known with the mutex locked.
func (q *DeltaFIFO[T]) newest(key types.NamespacedName) (obj T, ok bool) {
	deltas, queued := q.items[key]
	switch {
	case queued:
		d := deltas.Newest()
		obj, ok = d.Object, d.Type != Deleted
	case q.flying && q.inFlight.Key == key:
		obj, ok = q.inFlight.Object, q.inFlight.Type != Deleted
	case q.known != nil:
		obj, ok = q.known.Get(key)
	}
	if !ok || object.IsNil(obj) {
		var none T
		return none, false
	}
	return obj, true
}

// isTransformed reports whether obj is what Known has returned for its key: it
// was transformed when it was first received.
func (q *DeltaFIFO[T]) isTransformed(key types.NamespacedName, obj T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	returned, ok := q.returned[key]
	return ok && any(returned) == any(obj)
}
