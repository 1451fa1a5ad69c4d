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

// newOrder returns an empty order with a class for each bound, and at least one.
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

// rotation selects the priority class that is served next. In general that is
// the most urgent one with items. Every fourth hand-out goes to a class whose
// oldest item is overdue, if there is one; several such classes take turns.
//
//	class 0    x x x   x x x   x x x   x x x      a flood of urgent items
//	class 1          y               y            overdue
//	class 2                  z               z    overdue
//
// Both promises follow from the two fields:
//
//   - Between two overdue turns there are three hand-outs to the most urgent
//     class, because an overdue turn sets urgent to 0.
//   - While a class is overdue, every fourth hand-out at the latest is an overdue
//     turn. Each of these moves last, in a circle, to the next overdue class. So
//     it gets to every one of them within as many turns as there are classes that
//     can be overdue: all but class 0.
//
// Class 0 takes no part in the overdue turns: it is the most urgent whenever it
// has items. The others do even while they are the most urgent. Else, if more
// urgent items came and went at the wrong moments, a class could miss both the
// overdue turns and the others.
type rotation struct {
	urgent int // hand-outs since the last overdue turn, at most overdueEvery-1
	last   int // class that had the last overdue turn
}

// overdueEvery is of how many hand-outs one goes to an overdue class.
const overdueEvery = 4

// newRotation returns a rotation whose first overdue turn is due at once.
func newRotation() rotation { return rotation{urgent: overdueEvery - 1} }

// nextClass returns the class to serve now; at least one must have entries.
func nextClass[T comparable](r *rotation, classes []class[T], now int64) *class[T] {
	if r.urgent < overdueEvery-1 {
		r.urgent++
	} else if c := nextOverdue(r, classes, now); c != nil {
		return c
	}
	i := 0
	for classes[i].head == nil {
		i++
	}
	return &classes[i]
}

// nextOverdue gives an overdue turn to the next class that has an overdue entry.
// It returns nil if there is none.
func nextOverdue[T comparable](r *rotation, classes []class[T], now int64) *class[T] {
	i := r.last
	for range len(classes) - 1 {
		if i++; i == len(classes) {
			i = 1
		}
		if c := &classes[i]; c.head != nil && c.head.at <= now {
			r.urgent, r.last = 0, i
			return c
		}
	}
	return nil
}
