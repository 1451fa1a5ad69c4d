package workqueue

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Failure describes an item whose last processing by [ProcessWith] failed, for a
// debugging page.
type Failure[T comparable] struct {
	Item T
	// Attempts is how many times in a row it has failed.
	Attempts int
	// Err is the last error, as the function returned it or, for a captured panic, a
	// [PanicError]. Time is when that was.
	Err  error
	Time time.Time
	// Action is [Retried], or [Dropped] for an item that does not come again by itself.
	Action Action
	// NextAttempt is when the delay of the next attempt ends. It is zero if the item is
	// not delayed: it is queued, running or parked, or was dropped.
	NextAttempt time.Time
}

// maxFailing is for how many items the last failure is kept. An error may refer to
// much memory, so this is not larger.
const maxFailing = 256

// failing are the last failures of items that have not succeeded since. They have a
// lock of their own, so that the queue is not held up, and cost an item that succeeds
// one atomic load as long as nothing fails.
type failing[T comparable] struct {
	n  atomic.Int32 // the length of last
	mu sync.Mutex
	// last is in no order: a failure is rare, and finding the oldest of so few cheap.
	last map[T]Failure[T]
}

// note records a failure. The oldest one makes room if there are too many.
func (f *failing[T]) note(failure Failure[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = make(map[T]Failure[T])
	}
	if _, known := f.last[failure.Item]; !known && len(f.last) >= maxFailing {
		oldest := failure
		for _, other := range f.last {
			if other.Time.Before(oldest.Time) {
				oldest = other
			}
		}
		delete(f.last, oldest.Item)
	}
	f.last[failure.Item] = failure
	f.n.Store(int32(len(f.last)))
}

// clear forgets the failure of an item that has succeeded.
func (f *failing[T]) clear(item T) {
	// No other worker processes the item now, so its own failure cannot be on its way.
	if f.n.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.last, item)
	f.n.Store(int32(len(f.last)))
}

// of returns a copy of the failure of an item, or nil.
func (f *failing[T]) of(item T) *Failure[T] {
	if f.n.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	failure, ok := f.last[item]
	if !ok {
		return nil
	}
	return &failure
}

// worst returns up to limit failures, those with the most attempts first, and how many
// there are.
func (f *failing[T]) worst(limit int) (some []Failure[T], all int) {
	if f.n.Load() == 0 {
		return nil, 0
	}
	f.mu.Lock()
	for _, failure := range f.last {
		some = append(some, failure)
	}
	f.mu.Unlock()
	slices.SortFunc(some, func(a, b Failure[T]) int {
		return cmp.Or(cmp.Compare(b.Attempts, a.Attempts), b.Time.Compare(a.Time))
	})
	return some[:min(limit, len(some))], len(some)
}
