package workqueue

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

// groupMap finds the groups of a class by name.
type groupMap[T comparable] struct {
	byName map[string]*group[T]
	peak   int // the most groups since the map was made
}

// keptGroups is up to how many groups a map is never replaced, and how many are
// at most moved to a smaller one.
const keptGroups = 1024

func (m *groupMap[T]) add(g *group[T]) {
	if m.byName == nil {
		m.byName = make(map[string]*group[T])
	}
	m.byName[g.name] = g
	m.peak = max(m.peak, len(m.byName))
}

// remove takes g out. A Go map never shrinks, so a map that has been far larger
// is replaced once few groups are left: few, because the queue is locked.
func (m *groupMap[T]) remove(g *group[T]) {
	delete(m.byName, g.name)
	if n := len(m.byName); m.peak > keptGroups && n <= min(keptGroups, m.peak/8) {
		smaller := make(map[string]*group[T], n)
		for name, g := range m.byName {
			smaller[name] = g
		}
		m.byName, m.peak = smaller, n
	}
}

func (o *order[T]) joinGroup(c *class[T], e *entry[T]) {
	g := c.groups.byName[e.member.name]
	if g == nil {
		g = o.newGroup(e.member.name)
		c.groups.add(g)
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
	c.groups.remove(g)
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
