package eventlog

import "sync"

const (
	// minChunk and maxChunk bound the number of entries in a chunk that the log
	// sizes itself. Small at first, so that an idle log is small.
	minChunk = 8
	maxChunk = 256
	// minKept is the least number of entries in a batch that becomes a chunk as it
	// is, and the largest chunk that an idle log keeps.
	minKept = 64
	// wakeInline is how many readers Append wakes by itself; more are woken by a
	// goroutine, so that the writer is not held up by them.
	wakeInline = 4
)

// Log is an append-only sequence of entries of type E, with a state of type S
// after each batch. Make one with [New]. All methods may be called concurrently.
type Log[E, S any] struct {
	mu      sync.Mutex
	tail    *chunk[E, S]    // never nil
	end     uint64          // the position after the last entry
	heavy   uint64          // the position after the last heavy batch
	state   S               // the state after the last batch
	cursors []*Cursor[E, S] // each at its index
	parked  []*Cursor[E, S] // those that wait for an append
	epoch   uint64          // incremented when parked is emptied
	spare   []*Cursor[E, S] // a used slice, to be used again for parked
	closed  bool
}

// chunk is a stretch of the log. Its entries are in a slice of their own, so
// that a reader that holds a run of them does not hold the chunks after it.
type chunk[E, S any] struct {
	first   uint64 // the position of entries[0]
	entries []E    // not reallocated while it has any: what was handed out stays where it is
	after   S      // the state after the last entry; set when next is
	next    *chunk[E, S]
}

// New returns an empty log whose state is initial.
func New[E, S any](initial S) *Log[E, S] {
	return &Log[E, S]{
		state: initial,
		tail:  &chunk[E, S]{},
		epoch: 1,
	}
}

// Append adds a batch of entries and publishes the state that results from it.
// It reports whether the log has kept the slice, as it does with a long one: then
// the caller must not touch it any more. A short one is copied. A batch without entries
// only replaces the state, and wakes no reader. After Close, Append does nothing.
//
// A heavy batch holds more than its number of entries shows. It detaches each cursor
// with a limit that has not read the heavy batch before it, so that such a cursor
// holds two of them at most: one in hand and one unread.
func (l *Log[E, S]) Append(batch []E, state S, heavy bool) (kept bool) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	before := l.state
	l.state = state
	if len(batch) == 0 {
		l.mu.Unlock()
		return false
	}
	if len(l.cursors) == 0 { // no cursor will ever read it
		l.end += uint64(len(batch))
		l.tail.first = l.end
		l.mu.Unlock()
		return false
	}
	kept = l.add(batch, before, heavy)
	l.end += uint64(len(batch))
	waiting := l.takeParked()
	l.mu.Unlock()
	l.wake(waiting)
	return kept
}

// add puts a batch into the tail, or into a new one. The state before it is that
// at the end of a tail that has to be left behind. A heavy batch is a chunk without
// room: a run of it that a reader has in hand holds nothing later. Mu must be held.
func (l *Log[E, S]) add(batch []E, before S, heavy bool) (kept bool) {
	n, t := len(batch), l.tail
	if !heavy && len(t.entries)+n <= cap(t.entries) {
		t.entries = append(t.entries, batch...)
		return false
	}
	kept = n >= minKept && 2*n >= cap(batch)
	entries := batch[:n:n]
	if !kept {
		size := n
		if !heavy {
			size = max(n, minChunk, min(2*cap(t.entries), maxChunk))
		}
		entries = append(make([]E, 0, size), batch...)
	}
	l.detachSlow(uint64(n), heavy)
	if len(t.entries) == 0 {
		t.entries = entries
	} else {
		t.after = before
		l.tail = &chunk[E, S]{first: l.end, entries: entries}
		t.next = l.tail
	}
	return kept
}

// detachSlow detaches the cursors that n more entries would put beyond their
// limit, and before a heavy batch those that have not read the last one. It runs
// when a chunk is begun, so limits are rounded up to a chunk.
// A cursor that has nothing to read yet is never slow, however large the batch. Mu
// must be held.
func (l *Log[E, S]) detachSlow(n uint64, heavy bool) {
	for _, c := range l.cursors {
		beyond := c.pos < l.end && l.end+n-c.pos > uint64(c.limit)
		if c.limit > 0 && (beyond || heavy && c.pos < l.heavy) {
			c.detached, c.chunk = true, nil
		}
	}
	if heavy {
		l.heavy = l.end + n
	}
}

// takeParked empties the list of waiting cursors and returns it. The new epoch
// says that none of them is in the list any more. Mu must be held.
func (l *Log[E, S]) takeParked() []*Cursor[E, S] {
	waiting := l.parked
	if len(waiting) > 0 {
		l.parked, l.spare = l.spare[:0], nil
		l.epoch++
	}
	return waiting
}

// wake calls the wake functions of cursors that were parked, in a goroutine if there
// are many. Mu must not be held: they may call the log.
func (l *Log[E, S]) wake(waiting []*Cursor[E, S]) {
	switch n := len(waiting); {
	case n == 0:
	case n <= wakeInline:
		l.wakeAll(waiting)
	default:
		go l.wakeAll(waiting)
	}
}

// wakeAll calls the wake functions, and keeps the slice for later. Mu must not be
// held.
func (l *Log[E, S]) wakeAll(waiting []*Cursor[E, S]) {
	for i, c := range waiting {
		c.wake()
		waiting[i] = nil
	}
	l.mu.Lock()
	if cap(l.spare) < cap(waiting) {
		l.spare = waiting[:0]
	}
	l.mu.Unlock()
}

// End returns the position after the last entry: the number of entries that
// were ever appended.
func (l *Log[E, S]) End() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Close ends the log: further appends do nothing, Next returns Closed, and
// the waiting readers are woken for that. What they have not read is dropped.
// The state stays readable.
func (l *Log[E, S]) Close() {
	l.mu.Lock()
	l.closed = true
	l.tail = &chunk[E, S]{first: l.end}
	for _, c := range l.cursors {
		c.chunk = nil
	}
	waiting := l.takeParked()
	l.mu.Unlock()
	l.wake(waiting)
}

// forget clears the entries that all readers have read, once all cursors wait:
// otherwise the tail would keep old objects alive until it is full. No reader
// holds a run then, and all of them are at the end of the tail. Mu must be held.
func (l *Log[E, S]) forget() {
	t := l.tail
	if len(l.parked) < len(l.cursors) {
		return
	}
	if cap(t.entries) > minKept { // it may be for long
		t.entries = nil
	}
	clear(t.entries)
	t.entries, t.first = t.entries[:0], l.end
}
