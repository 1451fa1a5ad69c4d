package workqueue

import "time"

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

	freeGroups []*group[T] // to be used again
}

type class[T comparable] struct {
	entryList[T]
	n         int // entries in it
	maxWait   int64
	groups    map[string]*group[T] // those with queued entries, by name; nil if there are none
	nextGroup *group[T]            // whose turn it is, in a ring of these groups

	mostGroups int // since the map was made
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
		o.joinGroup(c, e)
	}
}

// pop takes out the entry that comes next; there must be one.
func (o *order[T]) pop(now int64) *entry[T] {
	c := &o.classes[0]
	if len(o.classes) > 1 {
		c = nextClass(&o.rotation, o.classes, now)
	}
	e := c.first
	if c.nextGroup != nil {
		e = c.nextGroup.first
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
		o.leaveGroup(c, e)
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

// group is the entries of one class that belong to one fair group.
type group[T comparable] struct {
	name        string
	first, last *entry[T] // linked through member.next and prev
	next, prev  *group[T] // ring of turns
}

// member is the place of an entry in its group. Only queues with groups have them.
//
// A queued entry is in two lists at once: that of its class, in the order in which they were
// queued, shows whether something is overdue; that of its group says what comes next.
type member[T comparable] struct {
	name       string // as the user's function gave it when the request was made
	group      *group[T]
	next, prev *entry[T]
}

// setGroup notes the group of a request that e is going to be.
func (o *order[T]) setGroup(e *entry[T], name string) {
	if !o.grouped {
		return
	}
	if e.member == nil {
		e.member = new(member[T])
	}
	e.member.name = name
}

// joinGroup puts a queued entry at the end of its group.
func (o *order[T]) joinGroup(c *class[T], e *entry[T]) {
	m := e.member
	g := c.groups[m.name]
	if g == nil {
		g = o.newGroup(c, m.name)
	}
	m.group, m.next, m.prev = g, nil, g.last
	if g.last == nil {
		g.first = e
	} else {
		g.last.member.next = e
	}
	g.last = e
}

// newGroup puts an empty group into the map and the ring of a class. A group that comes
// alive takes its turn after all the others.
func (o *order[T]) newGroup(c *class[T], name string) *group[T] {
	var g *group[T]
	if n := len(o.freeGroups); n > 0 {
		g, o.freeGroups = o.freeGroups[n-1], o.freeGroups[:n-1]
	} else {
		g = new(group[T])
	}
	g.name = name
	if c.nextGroup == nil {
		g.next, g.prev, c.nextGroup = g, g, g
	} else {
		g.next, g.prev = c.nextGroup, c.nextGroup.prev
		g.prev.next, g.next.prev = g, g
	}
	if c.groups == nil {
		c.groups = make(map[string]*group[T])
	}
	c.groups[name] = g
	c.mostGroups = max(c.mostGroups, len(c.groups))
	return g
}

// leaveGroup takes an entry out of its group. A group without entries leaves the
// ring of turns and the map.
func (o *order[T]) leaveGroup(c *class[T], e *entry[T]) {
	m := e.member
	g := m.group
	if m.prev == nil {
		g.first = m.next
	} else {
		m.prev.member.next = m.next
	}
	if m.next == nil {
		g.last = m.prev
	} else {
		m.next.member.prev = m.prev
	}
	m.group, m.next, m.prev = nil, nil, nil
	if g.first == nil {
		o.endGroup(c, g)
	}
}

const (
	// keptGroups is up to how many groups the map of a class is kept when it becomes
	// empty, as groups that come and go would else allocate one each time.
	keptGroups = 1024
	// maxFreeGroups is how many empty groups are kept for reuse.
	maxFreeGroups = 64
)

// endGroup takes an empty group out of the map and the ring of its class.
func (o *order[T]) endGroup(c *class[T], g *group[T]) {
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
	if len(o.freeGroups) < maxFreeGroups {
		*g = group[T]{}
		o.freeGroups = append(o.freeGroups, g)
	}
}
