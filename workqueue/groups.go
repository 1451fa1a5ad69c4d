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
//
// A Go map never shrinks. So when a map that was large holds few groups, a new one
// takes its place. No operation waits for that: each moves a few groups, in the
// order of the ring of turns, and until all are moved both maps are searched.
type groupMap[T comparable] struct {
	byName map[string]*group[T]
	old    map[string]*group[T] // what has not moved to byName yet; nil if nothing moves
	next   *group[T]            // the next in the ring to look at, while something moves
	peak   int                  // the most groups since byName was made
}

const (
	// keptGroups is up to how many groups a map is never replaced.
	keptGroups = 1024
	// groupsMovedAtOnce is how many places of the ring one operation looks at. It is
	// more than the one group that an operation adds, so the move comes to an end.
	groupsMovedAtOnce = 4
)

func (m *groupMap[T]) len() int { return len(m.byName) + len(m.old) }

// find returns the group of that name, or nil.
func (m *groupMap[T]) find(name string) *group[T] {
	if g := m.byName[name]; g != nil {
		return g
	}
	return m.old[name]
}

// add puts in a group whose name is not there.
func (m *groupMap[T]) add(g *group[T]) {
	if m.byName == nil {
		m.byName = make(map[string]*group[T])
	}
	m.byName[g.name] = g
	m.peak = max(m.peak, m.len())
}

// remove takes out a group that is still in the ring.
func (m *groupMap[T]) remove(g *group[T]) {
	delete(m.byName, g.name)
	delete(m.old, g.name)
	if m.next == g {
		m.next = g.next
	}
	if n := m.len(); m.old == nil && m.peak > keptGroups && n <= m.peak/8 {
		m.byName, m.old = make(map[string]*group[T]), m.byName
		m.next, m.peak = g.next, n
	}
}

// move moves a few groups to the new map, if there is one.
func (m *groupMap[T]) move() {
	if m.old == nil {
		return
	}
	for range groupsMovedAtOnce {
		if len(m.old) == 0 {
			m.old, m.next = nil, nil
			return
		}
		g := m.next
		if m.old[g.name] == g {
			delete(m.old, g.name)
			m.byName[g.name] = g
		}
		m.next = g.next
	}
}

// joinGroup puts a queued entry at the end of its group.
func (o *order[T]) joinGroup(c *class[T], e *entry[T]) {
	c.groups.move()
	g := c.groups.find(e.member.name)
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

// leaveGroup takes an entry out of its group. A group without entries leaves the
// ring of turns and the map.
func (o *order[T]) leaveGroup(c *class[T], m *member[T]) {
	c.groups.move()
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
