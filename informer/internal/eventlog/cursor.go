package eventlog

// Status says what [Cursor.Next] found.
type Status int

const (
	// Parked means: there is nothing to read. The cursor's wake function will be
	// called after the next append, or when the log is closed.
	Parked Status = iota
	// Run means: there are entries, and the state after the last of them. There are
	// none, and the state is that at the end of the log, if [Cursor.Wake] was called.
	Run
	// Detached means: the cursor was beyond its limit, or a second heavy batch came. It stands at the end of the log
	// now, and the state is the one there.
	Detached
	// Closed means: the log was closed, or the cursor has left it.
	Closed
)

// Cursor is one reader's place in a log. Next is for one goroutine at a time;
// Leave and Lag may be called from any.
type Cursor[E, S any] struct {
	log   *Log[E, S]
	limit int
	wake  func()

	// All below is guarded by log.mu.
	chunk    *chunk[E, S] // where pos is, or the chunk that ends there
	pos      uint64       // the next entry to read
	epoch    uint64       // equal to log.epoch: waits in log.parked, at slot
	slot     int
	index    int // in log.cursors; -1: it has left that
	detached bool
	woken    bool // Wake was called since the last Next
	reading  bool // a run is in the reader's hands
	left     bool
}

// Join returns a cursor at the end of the log, and the state there: the two
// belong together, nothing is appended in between. It is false if the log is
// closed.
//
// Past limit unread entries, rounded up to a chunk, or a second unread heavy batch, the
// cursor is detached; 0 means never. The first call of Next decides whether there is something to
// read, so a new cursor does not wait yet. Then wake is called, without a lock
// of the log held, each time an append ends a wait; it must not block.
func (l *Log[E, S]) Join(limit int, wake func()) (*Cursor[E, S], S, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, l.state, false
	}
	c := &Cursor[E, S]{log: l, limit: limit, wake: wake, chunk: l.tail, pos: l.end, index: len(l.cursors)}
	l.cursors = append(l.cursors, c)
	return c, l.state, true
}

// Next returns the entries after those of the last call, up to the end of some
// batch, together with the state at that point. The run must not be modified,
// and is only valid until the next call of Next. Calling Next again while the
// cursor waits is allowed; it goes on waiting if there is still nothing.
func (c *Cursor[E, S]) Next() (run []E, state S, status Status) {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	c.reading = false
	switch {
	case c.left || l.closed:
		c.unlink()
		return nil, l.state, Closed
	case c.detached:
		c.detached, c.chunk, c.pos = false, l.tail, l.end
		return nil, l.state, Detached
	case c.pos == l.end && c.woken:
		c.woken = false
		return nil, l.state, Run
	case c.pos == l.end:
		c.park()
		return nil, l.state, Parked
	}
	if int(c.pos-c.chunk.first) == len(c.chunk.entries) {
		c.chunk = c.chunk.next // it exists: the end of the log is further on
	}
	n := len(c.chunk.entries)
	run = c.chunk.entries[c.pos-c.chunk.first : n : n]
	c.pos += uint64(len(run))
	c.reading = true
	if c.chunk.next != nil {
		return run, c.chunk.after, Run
	}
	return run, l.state, Run
}

// park puts the cursor into the list of those that wait. Its chunk is the tail
// already: it has read all entries, and no chunk is begun without one. The mutex of
// the log must be held.
func (c *Cursor[E, S]) park() {
	l := c.log
	if c.epoch != l.epoch {
		c.epoch, c.slot = l.epoch, len(l.parked)
		l.parked = append(l.parked, c)
	}
	l.forget()
}

// unlink takes the cursor out of the log, whose mutex must be held.
func (c *Cursor[E, S]) unlink() {
	l := c.log
	if c.index < 0 {
		return
	}
	end := len(l.cursors) - 1
	l.cursors[c.index] = l.cursors[end]
	l.cursors[c.index].index = c.index
	l.cursors[end] = nil
	l.cursors, c.index = l.cursors[:end], -1
	c.unpark()
	c.left, c.chunk = true, nil
	l.forget()
}

// unpark takes the cursor off the list of those that wait, and reports whether it was
// there. The mutex of the log must be held.
func (c *Cursor[E, S]) unpark() bool {
	l := c.log
	if c.epoch != l.epoch {
		return false
	}
	last := len(l.parked) - 1
	l.parked[c.slot] = l.parked[last]
	l.parked[c.slot].slot = c.slot
	l.parked[last] = nil
	l.parked, c.epoch = l.parked[:last], 0
	return true
}

// Wake ends a wait as an append does. If the reader does not wait, its next call of
// Next that finds nothing returns a run without entries, so no Wake is lost.
func (c *Cursor[E, S]) Wake() {
	l := c.log
	l.mu.Lock()
	waiting := c.unpark()
	c.woken = !waiting
	l.mu.Unlock()
	if waiting {
		c.wake()
	}
}

// Leave gives up the cursor: it holds nothing of the log from now on, save for a
// run that its reader has in hand, and the next call of Next returns Closed.
// It reports whether the reader was waiting: then nothing will wake it. Else the reader
// must still make that call.
func (c *Cursor[E, S]) Leave() (waiting bool) {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting = c.epoch == l.epoch
	if c.reading { // the entries in its hand must not be cleared yet
		c.left, c.chunk = true, nil
		return false
	}
	c.unlink()
	return waiting
}

// Lag returns the number of entries that Next has not returned yet.
func (c *Cursor[E, S]) Lag() int {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if c.left || c.log.closed {
		return 0
	}
	return int(c.log.end - c.pos)
}
