package workqueue

import "time"

// order decides which queued entry is handed out next: rotation selects the
// priority class, and the class the entry.
//
// Every class is a list in order of arrival. All entries of a class may wait
// equally long, so the first one is also the first to become overdue, and one
// comparison per class finds every class that has an overdue entry. Within a
// class, entries are taken in order of arrival or, with groups, one from each
// group in turn.
//
//	class 0 (urgent)           ▶ c ─ d ─ e
//	class 1 (may wait 10 s)    ▶ a ─ b          a waits since 12 s: overdue
type order[T comparable] struct {
	classes  []class[T] // the most urgent first
	rotation rotation
	grouped  bool
	n        int // queued entries

	freeGroups  *group[T]
	nFreeGroups int
}

type class[T comparable] struct {
	entryList[T]
	n       int // entries in it
	maxWait int64
	groups  groupMap[T] // groups with queued entries
	turn    *group[T]   // whose turn it is, in a ring of these groups
}

func newOrder[T comparable](maxWaits []time.Duration, grouped bool) order[T] {
	o := order[T]{
		classes:  make([]class[T], max(1, len(maxWaits))),
		rotation: newRotation(),
		grouped:  grouped,
	}
	for i, d := range maxWaits {
		o.classes[i].maxWait = max(0, int64(d))
	}
	return o
}

// clamp turns what the user gave as a class into one that exists.
func (o *order[T]) clamp(class int) uint16 {
	return uint16(min(max(class, 0), len(o.classes)-1))
}

// overdueAt returns when an entry of that class, arriving now, becomes overdue.
func (o *order[T]) overdueAt(class uint16, now int64) int64 {
	if at := now + o.classes[class].maxWait; at >= now {
		return at
	}
	return maxTime // it may wait for centuries
}

// push appends e to its class. With several classes, now must never be earlier
// than in the call before.
func (o *order[T]) push(e *entry[T], now int64) {
	c := &o.classes[e.class]
	if len(o.classes) > 1 {
		e.at = o.overdueAt(e.class, now)
	}
	e.queued = true
	c.pushBack(e)
	c.n++
	o.n++
	if o.grouped {
		o.joinGroup(c, e)
	}
}

// pop takes out the entry that comes next; there must be one.
func (o *order[T]) pop(now int64) *entry[T] {
	c := &o.classes[0]
	if len(o.classes) > 1 {
		c = nextClass(&o.rotation, o.classes, now)
	}
	e := c.head
	if c.turn != nil {
		e = c.turn.head
		c.turn = c.turn.next
	}
	o.remove(e)
	return e
}

// remove takes out any queued entry.
func (o *order[T]) remove(e *entry[T]) {
	c := &o.classes[e.class]
	c.entryList.remove(e)
	if o.grouped {
		o.leaveGroup(c, e.member)
	}
	e.queued = false
	c.n--
	o.n--
}

// raise moves a queued entry to the end of a more urgent class. It does nothing
// if class is not more urgent.
func (o *order[T]) raise(e *entry[T], class uint16, now int64) {
	if class >= e.class {
		return
	}
	o.remove(e)
	e.class = class
	o.push(e, now)
}
