package workqueue

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// failures counts the failures of items, for the limiters that need to. An item
// that has not failed for a while is forgotten, so that a caller who never
// calls Forget does not make them grow without bound: the counts form a list in
// the order of their last failure, and each new failure removes what has
// expired at its head. There is no goroutine and no scan.
//
// keep is the same for all items. So the order of the last failures is also the order
// of expiry, and the oldest one is the only candidate.
type failures[T comparable] struct {
	keep  time.Duration // how long after its last failure an item is remembered
	start time.Time     // times in here are since then

	n atomic.Int32 // how many counts there are, changed under mu

	mu     sync.Mutex
	counts slab[failure[T]]
	index  hashIndex
	peak   int    // the most counts since the index was made
	oldest uint32 // handles of counts, 0 if there are none
	newest uint32
}

type failure[T comparable] struct {
	item       T
	at         time.Duration // of the last failure
	n          uint32
	hash       uint32 // of the item
	next, prev uint32 // handles
}

const (
	// expireAtOnce limits how many expired counts one call removes. Since it is
	// more than the one that the call adds, the backlog always shrinks.
	expireAtOnce = 4

	// peakKept is how many counts there may have been for their memory to be kept when
	// the last is removed.
	peakKept = 128

	maxFailures = math.MaxInt32
)

// init makes failures ready that remember an item for so long.
func (f *failures[T]) init(keep time.Duration) {
	f.keep, f.start = keep, time.Now()
}

// add records a failure and returns how many of the item there were before.
func (f *failures[T]) add(failed failed[T]) int {
	item, hash, now := failed.item, failed.hash, failed.at.Sub(f.start)
	f.mu.Lock()
	defer f.mu.Unlock()
	// Bounded work per call, with the lock held: no call pays for a burst long ago.
	for i := 0; i < expireAtOnce && f.oldest != 0 && f.expiredLocked(f.oldest, now); i++ {
		f.dropLocked(f.oldest)
	}
	handle := f.findLocked(item, hash)
	var c *failure[T]
	switch {
	case handle == 0:
		handle, c = f.counts.get()
		c.item, c.hash = item, hash
		f.index.insert(hash, handle)
		f.n.Store(int32(f.index.n))
		f.peak = max(f.peak, f.index.n)
	default:
		c = f.counts.at(handle)
		if f.expiredLocked(handle, now) {
			c.n = 0 // and not removed yet
		}
		f.unlinkLocked(c)
	}
	n := c.n
	if c.n < maxFailures {
		c.n++
	}
	c.at = now
	f.linkLocked(handle, c)
	return int(n)
}

// count returns how many failures of item are remembered.
func (f *failures[T]) count(item T) int {
	if f.empty() {
		return 0
	}
	hash, now := hashOf(item), time.Since(f.start)
	f.mu.Lock()
	defer f.mu.Unlock()
	if handle := f.findLocked(item, hash); handle != 0 && !f.expiredLocked(handle, now) {
		return int(f.counts.at(handle).n)
	}
	return 0
}

// empty reports whether nothing has failed. It takes no lock.
func (f *failures[T]) empty() bool { return f.n.Load() == 0 }

// forget removes the count of item, if there is one. It takes the lock, unless nothing
// has failed: it is called for each item that succeeds.
func (f *failures[T]) forget(item T) {
	if !f.empty() {
		f.forgetHashed(item, hashOf(item))
	}
}

// forgetHashed is forget with the hash of the item.
func (f *failures[T]) forgetHashed(item T, hash uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if handle := f.findLocked(item, hash); handle != 0 {
		f.dropLocked(handle)
	}
}

// expiredLocked reports whether a count is too old to be remembered. Like all that
// follow, it is called with f.mu held.
func (f *failures[T]) expiredLocked(handle uint32, now time.Duration) bool {
	return now-f.counts.at(handle).at > f.keep
}

// findLocked returns the handle of the count of an item, or 0.
func (f *failures[T]) findLocked(item T, hash uint32) uint32 {
	handle := f.index.find(hash, 0)
	for handle != 0 && f.counts.at(handle).item != item {
		handle = f.index.find(hash, handle)
	}
	return handle
}

// dropLocked removes a count.
func (f *failures[T]) dropLocked(handle uint32) {
	c := f.counts.at(handle)
	f.unlinkLocked(c)
	f.index.remove(c.hash, handle)
	f.n.Store(int32(f.index.n))
	f.counts.put(handle)
	if f.index.n == 0 && f.peak > peakKept {
		f.counts, f.index, f.peak = slab[failure[T]]{}, hashIndex{}, 0
	}
}

// linkLocked puts a count at the end of the list, as the newest failure.
func (f *failures[T]) linkLocked(handle uint32, c *failure[T]) {
	c.prev, c.next = f.newest, 0
	if f.newest == 0 {
		f.oldest = handle
	} else {
		f.counts.at(f.newest).next = handle
	}
	f.newest = handle
}

// unlinkLocked takes a count out of the list.
func (f *failures[T]) unlinkLocked(c *failure[T]) {
	if c.prev == 0 {
		f.oldest = c.next
	} else {
		f.counts.at(c.prev).next = c.next
	}
	if c.next == 0 {
		f.newest = c.prev
	} else {
		f.counts.at(c.next).prev = c.prev
	}
}
