package deltafifo

import "k8s.io/apimachinery/pkg/types"

// item is a queued object with its deltas, which are a list from the oldest to the
// newest. The oldest is part of it, as most objects have no other.
//
//	first ─▶ item web  ──next──▶ item db  ──next──▶ item cron ◀─ last
//	         oldest: Added       oldest: Deleted    oldest: Sync
//	           │ next              │ next             ▲
//	           ▼                   ▼                  └─ newest
//	         Updated             Added ◀─ newest
//	           │ next
//	           ▼
//	         Updated ◀─ newest
type item[T Object] struct {
	key    types.NamespacedName
	next   *item[T] // the one behind it in line
	oldest pendingDelta[T]
	newest *pendingDelta[T] // &oldest if it is the only one
	len    int
}

// pendingDelta is a [Delta] in half the memory: the item has its key, and the
// deltas of a list share the version of that. So a backlog takes less, and a Delta
// is made when it is popped, in a slice of the right length.
type pendingDelta[T Object] struct {
	object              T
	listResourceVersion *string // nil if there is none
	next                *pendingDelta[T]
	typ                 DeltaType
	finalStateUnknown   bool
}

// keyedDelta is a delta that is not in an item yet.
type keyedDelta[T Object] struct {
	key types.NamespacedName
	pendingDelta[T]
}

// pendingOf is the reverse of what [item.deltas] does for each delta.
func pendingOf[T Object](d Delta[T]) pendingDelta[T] {
	p := pendingDelta[T]{object: d.Object, typ: d.Type, finalStateUnknown: d.FinalStateUnknown}
	if version := d.ResourceVersion; version != "" {
		p.listResourceVersion = &version
	}
	return p
}

// isDeleted reports whether the object is gone once all that is pending has been
// delivered.
func (it *item[T]) isDeleted() bool { return it.newest.typ == Deleted }

// deltas returns a copy of the deltas, as a consumer gets them.
func (it *item[T]) deltas() Deltas[T] {
	deltas := make(Deltas[T], 0, it.len)
	for p := &it.oldest; p != nil; p = p.next {
		d := Delta[T]{Type: p.typ, FinalStateUnknown: p.finalStateUnknown, Object: p.object, Key: it.key}
		if p.listResourceVersion != nil {
			d.ResourceVersion = *p.listResourceVersion
		}
		deltas = append(deltas, d)
	}
	return deltas
}

// line has the queued items in the order in which they will be popped, and finds each
// by its key.
type line[T Object] struct {
	byKey       map[types.NamespacedName]*item[T]
	first, last *item[T]

	items  pool[item[T]]
	deltas pool[pendingDelta[T]]
}

// append adds a delta to those of the object, and returns whether the object has been
// put into the line for it, and by how many the number of deltas has grown: by none if
// it merges with a Deleted before it.
func (l *line[T]) append(key types.NamespacedName, d pendingDelta[T]) (pushed bool, n int) {
	it, queued := l.byKey[key]
	if !queued {
		l.push(key, d)
		return true, 1
	}
	if d.typ == Deleted && it.isDeleted() {
		if it.newest.finalStateUnknown {
			*it.newest = d
		}
		return false, 0
	}
	l.extend(it, d)
	return false, 1
}

// extend makes d the newest delta of a queued object.
func (l *line[T]) extend(it *item[T], d pendingDelta[T]) {
	next := l.deltas.get()
	*next = d
	it.newest.next = next
	it.newest = next
	it.len++
}

// push puts an object that is not queued at the end of the line.
func (l *line[T]) push(key types.NamespacedName, d pendingDelta[T]) *item[T] {
	it := l.items.get()
	it.key, it.oldest, it.len = key, d, 1
	it.newest = &it.oldest
	l.byKey[key] = it
	if l.last == nil {
		l.first = it
	} else {
		l.last.next = it
	}
	l.last = it
	return it
}

// pushAll puts an object that is not queued at the end of the line, with the deltas that
// a consumer gives back: at least one.
func (l *line[T]) pushAll(deltas Deltas[T]) {
	it := l.push(deltas[0].Key, pendingOf(deltas[0]))
	for _, d := range deltas[1:] {
		l.extend(it, pendingOf(d))
	}
}

// pop takes the object at the head out of the line, which must not be empty. Its item
// is for the caller, until release.
func (l *line[T]) pop() *item[T] {
	it := l.first
	l.first, it.next = it.next, nil
	if l.first == nil {
		l.last = nil
	}
	delete(l.byKey, it.key)
	return it
}

// release gives the memory of an item back that has been popped.
func (l *line[T]) release(it *item[T]) {
	for p := it.oldest.next; p != nil; {
		next := p.next
		l.deltas.put(p)
		p = next
	}
	l.items.put(it)
	if l.first != nil {
		return
	}
	if l.items.release() {
		l.byKey = map[types.NamespacedName]*item[T]{} // a map does not shrink
	}
	l.deltas.release()
}

func newLine[T Object]() line[T] {
	return line[T]{byKey: map[types.NamespacedName]*item[T]{}}
}

// has reports whether the object is queued.
func (l *line[T]) has(key types.NamespacedName) bool { return l.byKey[key] != nil }

// all yields what is queued, in the order in which it will be popped.
func (l *line[T]) all(yield func(*item[T]) bool) {
	for it := l.first; it != nil && yield(it); it = it.next {
	}
}
