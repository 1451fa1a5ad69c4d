package deltafifo

import "k8s.io/apimachinery/pkg/types"

// item is a queued object with its deltas. The oldest is part of it, as most objects
// have no other. The later ones are a ring, so that one pointer finds both ends.
//
//	first ─▶ item web  ──next──▶ item db  ──next──▶ item cron ◀─ last
//	         oldest: Added       oldest: Deleted    oldest: Sync
//	         newest              newest             newest: nil
//	           │                   │
//	           ▼                   ▼
//	   ┌───▶ Updated (3rd)       Added ──┐
//	   │       │ next              ▲     │ next
//	   │       ▼                   └─────┘
//	   └──── Updated (2nd)
type item[T Object] struct {
	key    types.NamespacedName
	next   *item[T] // the one behind it in line
	oldest pendingDelta[T]
	newest *laterDelta[T] // nil if the oldest is the only one
}

// pendingDelta is a [Delta] in a quarter of the memory: the item has its key, and deltas
// of the same kind share that. So a backlog takes less, and a Delta is made when it is
// popped, in a slice of the right length.
type pendingDelta[T Object] struct {
	object T
	kind   *deltaKind
}

// deltaKind is what a delta says besides its object. It is shared, and not modified: by
// the deltas of one list, and by all others of one type.
type deltaKind struct {
	typ                 DeltaType
	finalStateUnknown   bool
	listResourceVersion string // of Replaced
}

// The kinds but Replaced.
var (
	kindAdded     = &deltaKind{typ: Added}
	kindUpdated   = &deltaKind{typ: Updated}
	kindDeleted   = &deltaKind{typ: Deleted}
	kindTombstone = &deltaKind{typ: Deleted, finalStateUnknown: true}
	kindSync      = &deltaKind{typ: Sync}
)

// laterDelta is a pendingDelta that is not the oldest of its object.
type laterDelta[T Object] struct {
	pendingDelta[T]
	next *laterDelta[T] // the one after it; that of the newest is the second oldest
}

// keyedDelta is a delta that is not in an item yet.
type keyedDelta[T Object] struct {
	key types.NamespacedName
	pendingDelta[T]
}

// pendingOf is the reverse of what [item.deltas] does for each delta.
func pendingOf[T Object](d Delta[T]) pendingDelta[T] {
	return pendingDelta[T]{d.Object, &deltaKind{d.Type, d.FinalStateUnknown, d.ResourceVersion}}
}

// last returns the newest of all deltas of the object.
func (it *item[T]) last() *pendingDelta[T] {
	if it.newest == nil {
		return &it.oldest
	}
	return &it.newest.pendingDelta
}

// isDeleted reports whether the object is gone once all that is pending has been
// delivered.
func (it *item[T]) isDeleted() bool { return it.last().kind.typ == Deleted }

// all yields the deltas, oldest first.
func (it *item[T]) all(yield func(*pendingDelta[T]) bool) {
	if !yield(&it.oldest) || it.newest == nil {
		return
	}
	for d := it.newest.next; yield(&d.pendingDelta) && d != it.newest; {
		d = d.next
	}
}

// len returns the number of deltas.
func (it *item[T]) len() int {
	n := 0
	for range it.all {
		n++
	}
	return n
}

// deltas returns a copy of the deltas, as a consumer gets them.
func (it *item[T]) deltas() Deltas[T] {
	deltas := make(Deltas[T], 0, it.len())
	for p := range it.all {
		deltas = append(deltas, Delta[T]{
			Type: p.kind.typ, FinalStateUnknown: p.kind.finalStateUnknown,
			Object: p.object, Key: it.key, ResourceVersion: p.kind.listResourceVersion,
		})
	}
	return deltas
}
