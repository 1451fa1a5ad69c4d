package workqueue

import (
	"container/ring"
	"time"
)

// order decides which queued entry is handed out next: rotation selects the
// priority class, and the class the entry.
//
// Every class is a list in the order in which entries were queued. All entries of a class
// may wait equally long, so the first one is also the first to become overdue, and one
// comparison per class finds every class that has an overdue entry. Within a
// class, entries are taken in the order of the list or, with groups, one from each
// group in turn.
//
//	class 0 (urgent)           ▶ c ─ d ─ e
//	class 1 (may wait 10 s)    ▶ a ─ b          a has been waiting for 12 s: overdue
type order[T comparable] struct {
	classes  []class[T] // the most urgent first
	rotation rotation
	grouped  bool
	n        int // queued entries
}

type class[T comparable] struct {
	entryList[T]
	n       int // entries in it
	maxWait int64
	turns   turns[T] // only in queues with groups
}

// maxClasses is as many classes as an entry can tell apart.
const maxClasses = 256

// newOrder returns an empty order with a class for each bound, and at least one.
func newOrder[T comparable](maxWaits []time.Duration, grouped bool) order[T] {
	maxWaits = maxWaits[:min(len(maxWaits), maxClasses)]
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
func (o *order[T]) clamp(class int) uint8 {
	return uint8(min(max(class, 0), len(o.classes)-1))
}

func (c *class[T]) empty() bool { return c.first == nil }

// overdue reports whether the class has an entry that has waited for its bound.
func (c *class[T]) overdue(now int64) bool { return !c.empty() && now-c.first.since >= c.maxWait }

// push appends e to its class. With several classes, now must never be earlier
// than in the call before: then the first entry has waited for longest.
func (o *order[T]) push(e *entry[T], now int64) {
	c := &o.classes[e.class]
	e.since = now
	e.states |= queued
	c.pushBack(e)
	c.n++
	o.n++
	if o.grouped {
		c.turns.join(e.member)
	}
}

// pop takes out the entry that comes next; there must be one.
func (o *order[T]) pop(now int64) *entry[T] {
	c := &o.classes[0]
	if len(o.classes) > 1 {
		c = nextClass(&o.rotation, o.classes, now)
	}
	e := c.first
	if o.grouped {
		e = c.turns.take()
	}
	o.remove(e)
	return e
}

// remove takes out any queued entry.
func (o *order[T]) remove(e *entry[T]) {
	c := &o.classes[e.class]
	c.entryList.remove(e)
	if o.grouped {
		c.turns.leave(e.member)
	}
	e.states &^= queued
	c.n--
	o.n--
}

// raise moves a queued entry to the end of a more urgent class. It does nothing
// if class is not more urgent.
// Its wait begins from scratch there: in the place that its age would give it, the first
// entry would not be the one that has waited for longest.
func (o *order[T]) raise(e *entry[T], class uint8, now int64) {
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
		// If nothing is overdue, urgent stays as it is: the turn is not lost, and the first
		// item that becomes overdue has it at once.
		return c
	}
	i := 0
	for classes[i].empty() {
		i++
	}
	return &classes[i]
}

// nextOverdue gives an overdue turn to the next class that has an overdue entry.
// It returns nil if there is none.
func nextOverdue[T comparable](r *rotation, classes []class[T], now int64) *class[T] {
	i := r.last
	// The class that had the last turn comes last. Class 0 is left out.
	for range len(classes) - 1 {
		if i++; i == len(classes) {
			i = 1
		}
		if c := &classes[i]; c.overdue(now) {
			r.urgent, r.last = 0, i
			return c
		}
	}
	return nil
}

// turns is the groups of a class that have queued entries, in a ring.
type turns[T comparable] struct {
	// groups has them by name. Some without entries are kept: a namespace whose only key comes
	// and goes allocates nothing.
	groups map[string]*group
	peak   int        // the most groups since the map was made
	n      int        // groups with entries
	next   *ring.Ring // of the group whose turn it is; nil without any
}

// group is the entries of one class that belong to one fair group.
type group struct {
	first *ring.Ring // of the members, in order of arrival; nil without any
	turn  ring.Ring  // its place in the turns; the value is the group
}

// member is the place of an entry in its group. Only queues with groups have them.
//
// A queued entry is in two lists at once: that of its class, in the order in which they were
// queued, shows whether something is overdue; that of its group says what comes next.
type member struct {
	name  string    // of the group, as the user's function gave it when the request was made
	place ring.Ring // the value is the entry
}

// setGroup notes the group of a request that e is going to be.
func (o *order[T]) setGroup(e *entry[T], name string) {
	if !o.grouped {
		return
	}
	if e.member == nil {
		e.member = &member{place: ring.Ring{Value: e}}
	}
	e.member.name = name
}

// take returns the entry whose turn it is, which stays where it is, and gives the turn to the
// next group. There must be one.
func (t *turns[T]) take() *entry[T] {
	g := t.next.Value.(*group)
	t.next = t.next.Next()
	return g.first.Value.(*entry[T])
}

// join puts a queued entry at the end of its group. A group that gets its first entry takes
// its turn after all the others.
func (t *turns[T]) join(m *member) {
	g := t.groups[m.name]
	if g == nil {
		if t.groups == nil {
			t.groups = make(map[string]*group)
		}
		g = new(group)
		g.turn.Value = g
		t.groups[m.name] = g
		t.peak = max(t.peak, len(t.groups))
	}
	if g.first == nil {
		t.n++
		t.next = pushBack(t.next, &g.turn)
	}
	g.first = pushBack(g.first, &m.place)
}

// leave takes an entry out of its group. A group without entries has no turn.
func (t *turns[T]) leave(m *member) {
	g := t.groups[m.name]
	g.first = without(g.first, &m.place)
	if g.first != nil {
		return
	}
	t.n--
	t.next = without(t.next, &g.turn)
	if len(t.groups) > keptEntries {
		delete(t.groups, m.name)
	}
	if t.n == 0 && t.peak > keptEntries { // a Go map never shrinks
		*t = turns[T]{}
	}
}

// pushBack puts r at the end of a ring, given by its first element, which it returns.
func pushBack(first, r *ring.Ring) *ring.Ring {
	if first == nil {
		return r
	}
	first.Prev().Link(r)
	return first
}

// without takes r out of its ring and returns the first element of the rest.
func without(first, r *ring.Ring) *ring.Ring {
	next := r.Next()
	if next == r {
		return nil
	}
	r.Prev().Unlink(1)
	if first == r {
		return next
	}
	return first
}
