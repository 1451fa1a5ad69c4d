package deltafifo

import "k8s.io/apimachinery/pkg/types"

// line has the queued items in the order in which they will be popped, and finds each
// by its key. The mutex of the queue guards it.
type line[T Object] struct {
	byKey       map[types.NamespacedName]*item[T]
	first, last *item[T]

	items pool[item[T]]
	later pool[laterDelta[T]]
}

func newLine[T Object]() line[T] {
	return line[T]{byKey: map[types.NamespacedName]*item[T]{}}
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
	if d.kind.typ == Deleted && it.isDeleted() {
		if last := it.last(); last.kind.finalStateUnknown {
			*last = d
		}
		return false, 0
	}
	l.extend(it, d)
	return false, 1
}

// extend makes d the newest delta of a queued object.
func (l *line[T]) extend(it *item[T], d pendingDelta[T]) {
	later := l.later.get()
	later.pendingDelta = d
	if it.newest == nil {
		later.next = later
	} else {
		later.next, it.newest.next = it.newest.next, later
	}
	it.newest = later
}

// push puts an object that is not queued at the end of the line.
func (l *line[T]) push(key types.NamespacedName, d pendingDelta[T]) *item[T] {
	it := l.items.get()
	it.key, it.oldest = key, d
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
	if it.newest != nil {
		second := it.newest.next
		it.newest.next = nil // where the ring ends
		for d := second; d != nil; {
			next := d.next
			l.later.put(d)
			d = next
		}
	}
	l.items.put(it)
	if l.first != nil {
		return
	}
	if l.items.release() {
		l.byKey = map[types.NamespacedName]*item[T]{} // a map does not shrink
	}
	l.later.release()
}

// has reports whether the object is queued.
func (l *line[T]) has(key types.NamespacedName) bool { return l.byKey[key] != nil }

// all yields what is queued, in the order in which it will be popped.
func (l *line[T]) all(yield func(*item[T]) bool) {
	for it := l.first; it != nil && yield(it); it = it.next {
	}
}
