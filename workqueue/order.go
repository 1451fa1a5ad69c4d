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
	budget int64
	groups map[string]*group[T] // groups with queued entries
	turn   *group[T]            // whose turn it is, in a ring of these groups
}

// group is the entries of one class that belong to one fair group.
type group[T comparable] struct {
	name       string
	head, tail *entry[T] // linked through groupNext and groupPrev
	next, prev *group[T] // ring of turns; next also links free groups
}

func newOrder[T comparable](budgets []time.Duration, grouped bool) order[T] {
	o := order[T]{classes: make([]class[T], max(1, len(budgets))), grouped: grouped}
	for i, b := range budgets {
		o.classes[i].budget = max(0, int64(b))
	}
	return o
}

// clamp turns what the user gave as a class into one that exists.
func (o *order[T]) clamp(class int) int32 {
	return int32(min(max(class, 0), len(o.classes)-1))
}

// moreUrgent returns the class with the smaller budget.
func (o *order[T]) moreUrgent(a, b int32) int32 {
	if o.classes[b].budget < o.classes[a].budget {
		return b
	}
	return a
}

// dueAt returns when the budget of an entry of that class, arriving now, ends.
func (o *order[T]) dueAt(class int32, now int64) int64 {
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
		e.due = o.dueAt(e.class, now)
	}
	e.queued = true
	c.pushBack(e)
	o.n++
	if o.grouped {
		o.joinGroup(c, e)
	}
}

// pop takes out the entry that comes next; there must be one.
func (o *order[T]) pop() *entry[T] {
	c := &o.classes[0]
	for i := 1; i < len(o.classes); i++ {
		if x := &o.classes[i]; x.head != nil && (c.head == nil || x.head.due < c.head.due) {
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
	if e.group != nil {
		o.leaveGroup(c, e)
	}
	e.queued = false
	o.n--
}

// raise moves a queued entry to another class if it is due earlier there.
func (o *order[T]) raise(e *entry[T], class int32, now int64) {
	if class == e.class || o.dueAt(class, now) >= e.due {
		return
	}
	o.remove(e)
	e.class = class
	o.push(e, now)
}

func (o *order[T]) joinGroup(c *class[T], e *entry[T]) {
	g := c.groups[e.groupName]
	if g == nil {
		g = o.newGroup(e.groupName)
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
	e.group, e.groupNext, e.groupPrev = g, nil, g.tail
	if g.tail == nil {
		g.head = e
	} else {
		g.tail.groupNext = e
	}
	g.tail = e
}

func (o *order[T]) leaveGroup(c *class[T], e *entry[T]) {
	g := e.group
	if e.groupPrev == nil {
		g.head = e.groupNext
	} else {
		e.groupPrev.groupNext = e.groupNext
	}
	if e.groupNext == nil {
		g.tail = e.groupPrev
	} else {
		e.groupNext.groupPrev = e.groupPrev
	}
	e.group, e.groupNext, e.groupPrev = nil, nil, nil
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
