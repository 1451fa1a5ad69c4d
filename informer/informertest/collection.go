package informertest

import (
	"slices"
	"sort"
	"strings"
)

// collection is one stored resource: its present objects and the events that
// led to them. All fields are guarded by the store's lock.
type collection struct {
	res   Resource
	items map[string]*version
	// events is the history, oldest first; everything up to and including the
	// version compacted is forgotten. The last event among that is of the version
	// forgotten, which is less if other resources were written to after it.
	events    []change
	compacted uint64
	forgotten uint64
	// changed is closed, and replaced, by each write; it wakes the watches.
	changed chan struct{}
	// gone is closed when the resource itself disappears.
	gone chan struct{}
	// sorted remembers recent states in list order, for the pages of a list.
	sorted []snapshot
}

// change is one write as the history keeps it. A created object has no old
// version, a deleted one no new one but its old state with the version of the deletion.
type change struct {
	rv             uint64
	old, new, last *version
}

// snapshot is the state of a collection at one version, in key order.
type snapshot struct {
	rv    uint64
	items []*version
}

// keptSnapshots bounds the memory for lists that are being paged through.
const keptSnapshots = 4

// recordLocked applies a change, which must carry the highest revision, and
// wakes the watches.
func (c *collection) recordLocked(ch change, history int) {
	if ch.new != nil {
		c.items[ch.new.key] = ch.new
	} else {
		delete(c.items, ch.old.key)
	}
	c.events = append(c.events, ch)
	// Forgetting in blocks makes it cheap per event.
	if len(c.events) > history+history/4 {
		drop := len(c.events) - history
		c.compacted = c.events[drop-1].rv
		c.forgotten = c.compacted
		c.events = slices.Clone(c.events[drop:])
	}
	c.wakeLocked()
}

// wakeLocked lets the watches look for what is new.
func (c *collection) wakeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// compactLocked forgets the history up to and including rv.
func (c *collection) compactLocked(rv uint64) {
	if n := c.afterLocked(rv); n > 0 {
		c.forgotten = c.events[n-1].rv
		c.events = slices.Clone(c.events[n:])
	}
	c.compacted = max(c.compacted, rv)
	c.sorted = nil
	c.wakeLocked() // a watch that is behind has to learn that it is lost
}

// afterLocked returns the index of the first event past rv.
func (c *collection) afterLocked(rv uint64) int {
	return sort.Search(len(c.events), func(i int) bool { return c.events[i].rv > rv })
}

// sinceLocked returns the events past rv, or false if some may be forgotten. For
// a watch that is running it is certain whether some are: it may lack nothing
// although its version is past. The slice is shared and must not be changed.
func (c *collection) sinceLocked(rv uint64, running bool) ([]change, bool) {
	if rv < c.forgotten || rv < c.compacted && !running {
		return nil, false
	}
	i := c.afterLocked(rv)
	return c.events[i:len(c.events):len(c.events)], true
}

// atLocked returns the state at rv in key order, or false if it is forgotten.
func (c *collection) atLocked(rv uint64) ([]*version, bool) {
	if rv < c.compacted {
		return nil, false
	}
	// The state is that of the last event up to rv: other resources' revisions
	// do not change it.
	after := c.afterLocked(rv)
	base := c.compacted
	if after > 0 {
		base = c.events[after-1].rv
	}
	for _, s := range c.sorted {
		if s.rv == base {
			return s.items, true
		}
	}
	state := c.items
	if after < len(c.events) {
		state = c.undoLocked(after)
	}
	items := make([]*version, 0, len(state))
	for _, v := range state {
		items = append(items, v)
	}
	slices.SortFunc(items, func(a, b *version) int { return strings.Compare(a.key, b.key) })
	if len(c.sorted) == keptSnapshots {
		c.sorted = slices.Delete(c.sorted, 0, 1)
	}
	c.sorted = append(c.sorted, snapshot{base, items})
	return items, true
}

// undoLocked takes back the events from index first on, in a copy.
func (c *collection) undoLocked(first int) map[string]*version {
	state := make(map[string]*version, len(c.items))
	for k, v := range c.items {
		state[k] = v
	}
	for i := len(c.events) - 1; i >= first; i-- {
		if ch := c.events[i]; ch.old != nil {
			state[ch.old.key] = ch.old
		} else {
			delete(state, ch.new.key)
		}
	}
	return state
}
