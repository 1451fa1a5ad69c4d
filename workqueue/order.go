package workqueue

import (
	"time"
)

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
	entries  *slab[entry[T]]
	classes  []class[T] // the most urgent first
	rotation rotation
	grouped  bool
	n        int // queued entries

	links side[groupLink[T]] // of the entries; empty if not grouped

	paused  map[string]*paused[T] // the groups that are paused, by name; see pause.go
	nPaused int                   // entries that wait for those

	freeGroups  *group[T]
	nFreeGroups int
}

type class[T comparable] struct {
	entryList[T]
	n         int // entries in it
	maxWait   int64
	overdue   *side[int64]         // when each entry becomes overdue, of all classes; nil if there is one class
	groups    map[string]*group[T] // those with queued entries, by name; nil if there are none
	nextGroup *group[T]            // whose turn it is, in a ring of these groups

	mostGroups int // since the map was made
}

// newOrder returns an empty order with a class for each bound, and at least one.
func newOrder[T comparable](entries *slab[entry[T]], maxWaits []time.Duration, grouped bool) order[T] {
	o := order[T]{
		entries:  entries,
		classes:  make([]class[T], max(1, len(maxWaits))),
		rotation: newRotation(),
		grouped:  grouped,
	}
	var overdue *side[int64]
	if len(o.classes) > 1 {
		overdue = new(side[int64])
	}
	for i := range o.classes {
		o.classes[i].entryList.entries, o.classes[i].overdue = entries, overdue
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

// push appends e to its class, or to its group if that is paused. With several classes, now must never be earlier
// than in the call before.
//
// Then the list of a class is also in the order of overdue, and nextOverdue need look only
// at its head.
func (o *order[T]) push(e *entry[T], now int64) {
	if p := o.pauseOf(e); p != nil {
		p.push(o, e)
		return
	}
	c := &o.classes[e.class]
	if len(o.classes) > 1 {
		*c.overdue.at(e.handle) = o.overdueAt(e.class, now)
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
	e := c.first()
	if c.nextGroup != nil {
		e = o.entries.at(c.nextGroup.head)
		// The turn is passed on before the entry is removed: if it is the last of its
		// group, the group leaves the ring and cannot say any more which one is next.
		c.nextGroup = c.nextGroup.next
	}
	o.remove(e)
	return e
}

// remove takes out any queued entry.
func (o *order[T]) remove(e *entry[T]) {
	c := &o.classes[e.class]
	c.entryList.remove(e)
	if o.grouped {
		o.leaveGroup(c, o.links.at(e.handle))
	}
	e.queued = false
	c.n--
	o.n--
}

// raise moves a queued entry to the end of a more urgent class. It does nothing
// if class is not more urgent.
// Its wait begins from scratch there: in the place that its age would give it, the list
// would not be in the order of overdue.
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
		if c := &classes[i]; !c.empty() && *c.overdue.at(c.head) <= now {
			r.urgent, r.last = 0, i
			return c
		}
	}
	return nil
}

// group is the entries of one class that belong to one fair group.
type group[T comparable] struct {
	name       string
	head, tail uint32    // handles of entries linked through groupLink.next and prev
	next, prev *group[T] // ring of turns; next also links free groups
}

// groupLink is the place of an entry in its group. Only queues with groups have them,
// beside the entries.
//
// An entry is in two lists at once: that of its class, in order of arrival, says
// whether something is overdue; that of its group says what comes next.
type groupLink[T comparable] struct {
	name       string // as the user's function gave it when the request was made
	group      *group[T]
	next, prev uint32 // handles of entries
	paused     bool   // whether the entry waits for its group to be resumed
}

// joinGroup puts a queued entry at the end of its group.
func (o *order[T]) joinGroup(c *class[T], e *entry[T]) {
	m := o.links.at(e.handle)
	g := c.groups[m.name]
	if g == nil {
		g = o.newGroup(m.name)
		if c.groups == nil {
			c.groups = make(map[string]*group[T])
		}
		c.groups[g.name] = g
		c.mostGroups = max(c.mostGroups, len(c.groups))
		// A group that comes alive takes its turn after all the others.
		if c.nextGroup == nil {
			g.next, g.prev, c.nextGroup = g, g, g
		} else {
			g.next, g.prev = c.nextGroup, c.nextGroup.prev
			g.prev.next, g.next.prev = g, g
		}
	}
	m.group, m.next, m.prev = g, 0, g.tail
	if g.tail == 0 {
		g.head = e.handle
	} else {
		o.links.at(g.tail).next = e.handle
	}
	g.tail = e.handle
}

// leaveGroup takes an entry out of its group. A group without entries leaves the
// ring of turns and the map.
func (o *order[T]) leaveGroup(c *class[T], m *groupLink[T]) {
	g := m.group
	if m.prev == 0 {
		g.head = m.next
	} else {
		o.links.at(m.prev).next = m.next
	}
	if m.next == 0 {
		g.tail = m.prev
	} else {
		o.links.at(m.next).prev = m.prev
	}
	m.group, m.next, m.prev = nil, 0, 0
	if g.head != 0 {
		return
	}
	delete(c.groups, g.name)
	if len(c.groups) == 0 && c.mostGroups > keptGroups {
		c.groups, c.mostGroups = nil, 0 // a Go map never shrinks
	}
	if g.next == g {
		c.nextGroup = nil
	} else {
		g.prev.next, g.next.prev = g.next, g.prev
		if c.nextGroup == g {
			c.nextGroup = g.next
		}
	}
	o.freeGroup(g)
}

// keptGroups is up to how many groups the map of a class is kept when it becomes
// empty.
// A smaller map stays, as groups that come and go would else allocate one each time.
const keptGroups = 1024

// maxFreeGroups is how many empty groups are kept for reuse.
const maxFreeGroups = 64

// newGroup returns an empty group, one that was used before if possible. A queue
// whose groups come and go, one item each, would else allocate a group per item.
func (o *order[T]) newGroup(name string) *group[T] {
	g := o.freeGroups
	if g == nil {
		return &group[T]{name: name}
	}
	o.freeGroups, o.nFreeGroups = g.next, o.nFreeGroups-1
	g.name = name
	return g
}

// freeGroup keeps a group that has left the ring for newGroup.
func (o *order[T]) freeGroup(g *group[T]) {
	if o.nFreeGroups < maxFreeGroups {
		*g = group[T]{next: o.freeGroups}
		o.freeGroups, o.nFreeGroups = g, o.nFreeGroups+1
	}
}
