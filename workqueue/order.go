package workqueue

import "time"

// order decides which queued entry is handed out next.
//
// Every class is a list in order of arrival. The class whose oldest entry has
// the earliest due time (arrival + the class's waiting budget) comes first:
// since the budget is the same for all entries of a class, the list is sorted
// by due time too, and "earliest deadline first" costs one comparison per
// class, not a heap. Within a class, entries are taken in order of arrival or,
// with groups, one from each group in turn.
//
//	class 0 (budget 0)    ▶ c ─ d ─ e          due 7  8  9
//	class 1 (budget 10 s) ▶ a ─ b              due 6  12     next: a
type order[T comparable] struct {
	classes []class[T]
	grouped bool
	n       int // queued entries

	freeGroups  *group[T]
	nFreeGroups int
}

type class[T comparable] struct {
	entryList[T]
	n      int // entries in it
	budget int64
	groups map[string]*group[T] // groups with queued entries
	turn   *group[T]            // whose turn it is, in a ring of these groups
}

// group is the entries of one class that belong to one fair group.
type group[T comparable] struct {
	name       string
	head, tail *entry[T] // linked through member.next and member.prev
	next, prev *group[T] // ring of turns; next also links free groups
}

// member is the place of an entry in its group. Only queues with groups have
// them; they stay with their entries for reuse.
type member[T comparable] struct {
	name       string // as the user's function gave it when the request was made
	group      *group[T]
	next, prev *entry[T]
}

func newOrder[T comparable](budgets []time.Duration, grouped bool) order[T] {
	o := order[T]{classes: make([]class[T], max(1, len(budgets))), grouped: grouped}
	for i, b := range budgets {
		o.classes[i].budget = max(0, int64(b))
	}
	return o
}

// clamp turns what the user gave as a class into one that exists.
func (o *order[T]) clamp(class int) uint16 {
	return uint16(min(max(class, 0), len(o.classes)-1))
}

// moreUrgent returns the class with the smaller budget.
func (o *order[T]) moreUrgent(a, b uint16) uint16 {
	if o.classes[b].budget < o.classes[a].budget {
		return b
	}
	return a
}

// dueAt returns when the budget of an entry of that class, arriving now, ends.
func (o *order[T]) dueAt(class uint16, now int64) int64 {
	budget := o.classes[class].budget
	if due := now + budget; due >= now {
		return due
	}
	return maxTime // a budget of centuries
}

// push appends e to its class. With several classes, now must never be earlier
// than in the call before.
func (o *order[T]) push(e *entry[T], now int64) {
	c := &o.classes[e.class]
	if len(o.classes) > 1 {
		e.at = o.dueAt(e.class, now)
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
func (o *order[T]) pop() *entry[T] {
	c := &o.classes[0]
	for i := 1; i < len(o.classes); i++ {
		if x := &o.classes[i]; x.head != nil && (c.head == nil || x.head.at < c.head.at) {
			c = x
		}
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

// raise moves a queued entry to another class if it is due earlier there.
func (o *order[T]) raise(e *entry[T], class uint16, now int64) {
	if class == e.class || o.dueAt(class, now) >= e.at {
		return
	}
	o.remove(e)
	e.class = class
	o.push(e, now)
}

func (o *order[T]) joinGroup(c *class[T], e *entry[T]) {
	g := c.groups[e.member.name]
	if g == nil {
		g = o.newGroup(e.member.name)
		if c.groups == nil {
			c.groups = make(map[string]*group[T])
		}
		c.groups[g.name] = g
		// A group that comes alive takes its turn after all the others.
		if c.turn == nil {
			g.next, g.prev, c.turn = g, g, g
		} else {
			g.next, g.prev = c.turn, c.turn.prev
			g.prev.next, g.next.prev = g, g
		}
	}
	m := e.member
	m.group, m.next, m.prev = g, nil, g.tail
	if g.tail == nil {
		g.head = e
	} else {
		g.tail.member.next = e
	}
	g.tail = e
}

func (o *order[T]) leaveGroup(c *class[T], m *member[T]) {
	g := m.group
	if m.prev == nil {
		g.head = m.next
	} else {
		m.prev.member.next = m.next
	}
	if m.next == nil {
		g.tail = m.prev
	} else {
		m.next.member.prev = m.prev
	}
	m.group, m.next, m.prev = nil, nil, nil
	if g.head != nil {
		return
	}
	delete(c.groups, g.name)
	if g.next == g {
		c.turn = nil
	} else {
		g.prev.next, g.next.prev = g.next, g.prev
		if c.turn == g {
			c.turn = g.next
		}
	}
	o.freeGroup(g)
}

// maxFreeGroups is how many empty groups are kept for reuse.
const maxFreeGroups = 64

func (o *order[T]) newGroup(name string) *group[T] {
	g := o.freeGroups
	if g == nil {
		return &group[T]{name: name}
	}
	o.freeGroups, o.nFreeGroups = g.next, o.nFreeGroups-1
	g.name = name
	return g
}

func (o *order[T]) freeGroup(g *group[T]) {
	if o.nFreeGroups < maxFreeGroups {
		*g = group[T]{next: o.freeGroups}
		o.freeGroups, o.nFreeGroups = g, o.nFreeGroups+1
	}
}
