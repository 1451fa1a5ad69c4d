package workqueue

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// failures counts the failures of items, for the limiters that need to. An item
// that has not failed for a while is forgotten, so that a caller who never
// calls Forget does not make them grow without bound: once counts may have expired, each new failure
// looks at a few of them, in turn, and removes those that have. There is no goroutine. A list in the
// order of expiry would find them at once, but each failure and each Forget would have to
// change it, and it takes eight bytes for each item.
type failures[T comparable] struct {
	keep  time.Duration // how long after its last failure an item is remembered
	start time.Time     // times in here are since then

	n atomic.Int32 // how many counts there are, changed under mu

	mu     sync.Mutex
	counts slab[failure[T]]
	index  hashIndex
	peak   int // the most counts since the index was made

	// The search for expired counts goes round.
	turn   uint32        // the handle from which on it continues
	oldest time.Duration // of the failures that it has found in this round, and of those since
	rests  time.Duration // until this time, as no count expires before
}

type failure[T comparable] struct {
	item T
	at   time.Duration // of the last failure
	n    uint32
	hash uint32 // of the item
}

const (
	// expireAtOnce is at how many counts a failure looks at most. Each failure adds one at most. So when
	// the turn comes round, at most a third of the counts have expired since.
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
	f.expireLocked(now)
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
	}
	n := c.n
	if c.n < maxFailures {
		c.n++
	}
	c.at = now
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

// expireLocked removes some of the counts that have expired. The work is bounded, as the lock is
// held: no call pays for a burst long ago.
func (f *failures[T]) expireLocked(now time.Duration) {
	if now <= f.rests {
		return
	}
	for range expireAtOnce {
		if f.turn == 0 {
			f.oldest = now
		}
		var handle uint32
		handle, f.turn = f.counts.inTurn(f.turn)
		switch {
		case handle == 0:
		case f.expiredLocked(handle, now):
			f.dropLocked(handle)
		default:
			f.oldest = min(f.oldest, f.counts.at(handle).at)
		}
		if f.turn == 0 {
			f.rests = saturatingAdd(f.oldest, f.keep)
			return
		}
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
	f.index.remove(f.counts.at(handle).hash, handle)
	f.n.Store(int32(f.index.n))
	f.counts.put(handle)
	if f.index.n == 0 && f.peak > peakKept {
		f.counts, f.index, f.peak = slab[failure[T]]{}, hashIndex{}, 0
	}
}
