package deltafifo

import (
	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// Known returns the newest state of an object that the queue has accepted: what
// is pending or, if nothing is, what is in process or, if it is neither, what
// [Options].KnownObjects holds. An object whose newest change is a deletion,
// observed or not, is not known, although the store may still hold it.
//
// With this method a DeltaFIFO is a reflector's sink that can be asked for what
// it has. At a relist the reflector keeps the pointers of unchanged objects, and
// the last good version of an object that it cannot decode; without that version
// the list would say that an object is gone that exists.
//
// What Known returns has been through Transform, and does not go through it
// again if it is given back to Replace, Delete or another write. To recognize it
// the queue keeps a reference to it, if there is a Transform, until the next
// write of that object or the next Replace.
//
// Known never waits for room or for the consumer. Without KnownObjects it knows
// only what is pending or in process.
func (q *DeltaFIFO[T]) Known(key types.NamespacedName) (T, bool) {
	obj, decided := q.underWay(key)
	if !decided && q.known != nil {
		// The queue is not locked: this is user code. What was not under way then is
		// in the store now.
		obj, decided = q.known.Get(key)
	}
	if !decided || object.IsNil(obj) {
		var none T
		return none, false
	}
	if q.transform != nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.returned == nil {
			q.returned = map[types.NamespacedName]T{}
		}
		q.returned[key] = obj
	}
	return obj, true
}

// underWay returns the newest state of an object between its write and the end of
// process, nil if that is that it does not exist, and whether there is one.
func (q *DeltaFIFO[T]) underWay(key types.NamespacedName) (obj T, decided bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if obj, decided = q.fillStates.newest(q.fill, key); decided {
		return obj, true
	}
	return q.batchStates.newest(q.batch, key)
}

// states finds the newest state of an object in a sequence of deltas. It is filled when it
// is asked, with what has come since it was asked last. So writes and pops, of which there
// are many, do nothing for it, and the many questions of a relist read the sequence once.
type states[T Object] struct {
	seen   int // deltas of the sequence
	byKey  map[types.NamespacedName]T
	listed bool // a list was among them: what is not in byKey does not exist
}

// newest returns the newest state of an object, nil if it was deleted, and whether the
// deltas say anything about it.
func (s *states[T]) newest(deltas Deltas[T], key types.NamespacedName) (obj T, decided bool) {
	for ; s.seen < len(deltas); s.seen++ {
		s.note(&deltas[s.seen])
	}
	obj, found := s.byKey[key]
	return obj, found || s.listed
}

func (s *states[T]) note(d *Delta[T]) {
	if s.byKey == nil {
		s.byKey = map[types.NamespacedName]T{}
	}
	var none T
	switch {
	case !d.aboutAll() && d.Type == Deleted:
		s.byKey[d.Key()] = none
	case !d.aboutAll():
		s.byKey[d.Key()] = d.Object
	case d.Type == Replaced:
		s.listed = true
		s.byKey = make(map[types.NamespacedName]T, len(d.List.Objects))
		for _, obj := range d.List.Objects {
			s.byKey[object.KeyOf(obj)] = obj
		}
	}
}
