package workqueue

import (
	"sync"
	"time"
)

// failures counts the failures of items, for the limiters that need to. An item
// that has not failed for a while is forgotten, so that a caller who never
// calls Forget does not make the map grow for ever: the counts form a list in
// the order of their last failure, and each new failure removes what has
// expired at its head. There is no goroutine and no scan.
type failures[T comparable] struct {
	keep time.Duration // how long after its last failure an item is remembered

	mu     sync.Mutex
	counts map[T]*failure[T]
	peak   int // the most counts since the map was made
	oldest *failure[T]
	newest *failure[T]
}

type failure[T comparable] struct {
	item       T
	n          int
	at         time.Time // of the last failure
	next, prev *failure[T]
}

// expireAtOnce limits how many expired counts one call removes. Since it is
// more than the one that the call adds, the backlog always shrinks.
const expireAtOnce = 4

// peakKept is how many counts a map may have had that is kept when it is empty.
const peakKept = 128

// add records a failure of item and returns how many there were before.
func (f *failures[T]) add(item T) int {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := 0; i < expireAtOnce && f.oldest != nil && now.Sub(f.oldest.at) > f.keep; i++ {
		f.drop(f.oldest)
	}
	c := f.counts[item]
	switch {
	case c == nil:
		if f.counts == nil {
			f.counts = make(map[T]*failure[T])
		}
		c = &failure[T]{item: item}
		f.counts[item] = c
		f.peak = max(f.peak, len(f.counts))
	case now.Sub(c.at) > f.keep:
		c.n = 0 // expired, though not removed yet
		f.unlink(c)
	default:
		f.unlink(c)
	}
	n := c.n
	if c.n < maxFailures {
		c.n++
	}
	c.at = now
	f.link(c)
	return n
}

const maxFailures = int(^uint(0) >> 1)

// count returns how many failures of item are remembered.
func (f *failures[T]) count(item T) int {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.counts[item]; c != nil && now.Sub(c.at) <= f.keep {
		return c.n
	}
	return 0
}

func (f *failures[T]) forget(item T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.counts[item]; c != nil {
		f.drop(c)
	}
}

func (f *failures[T]) drop(c *failure[T]) {
	f.unlink(c)
	delete(f.counts, c.item)
	if len(f.counts) == 0 && f.peak > peakKept {
		f.counts, f.peak = nil, 0 // a map never shrinks
	}
}

func (f *failures[T]) link(c *failure[T]) {
	c.prev, c.next = f.newest, nil
	if f.newest == nil {
		f.oldest = c
	} else {
		f.newest.next = c
	}
	f.newest = c
}

func (f *failures[T]) unlink(c *failure[T]) {
	if c.prev == nil {
		f.oldest = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		f.newest = c.prev
	} else {
		c.next.prev = c.prev
	}
}
