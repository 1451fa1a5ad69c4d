package workqueue

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// logAgainAfter is how long the same failure of the same item is not logged again.
	logAgainAfter = time.Minute
	// maxLoggedItems is for how many items the log remembers the last failure.
	maxLoggedItems = 1024
)

// failureLog remembers which failures were logged. An item that never succeeds must show in
// the log, but not with a line per attempt. Workers ask it before they log a failure.
type failureLog[T comparable] struct {
	seed maphash.Seed

	// mu is held by workers that log, and delays no queue.
	mu       sync.Mutex
	items    map[T]loggedFailure
	unlogged int       // failures of items without a place in items, not reported yet
	reported time.Time // when they were reported last
}

// loggedFailure is the last line about an item.
type loggedFailure struct {
	reason uint64 // hash of the error's text
	at     time.Time
	since  int // failures since, for the same reason
}

func newFailureLog[T comparable]() *failureLog[T] {
	return &failureLog[T]{seed: maphash.MakeSeed(), items: map[T]loggedFailure{}}
}

// note records a failure, and reports whether it is worth a line. Since is how many failures
// were not logged since the last line about the item, and unlogged how many of items without
// lines are to be reported.
func (l *failureLog[T]) note(item T, failure string) (line bool, since, unlogged int) {
	reason := maphash.String(l.seed, failure)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	f, known := l.items[item]
	switch {
	case known && f.reason == reason && now.Sub(f.at) < logAgainAfter:
		// The same reason within a minute is only counted. Another reason is logged at once.
		f.since++
		l.items[item] = f
		return false, 0, 0
	case !known && len(l.items) >= maxLoggedItems && !l.sweep(now):
		// Full of items that had a line within the minute: to log this one as well would be a
		// line per failure, which is what the log is to prevent. So it is only counted.
		l.unlogged++
		if now.Sub(l.reported) < logAgainAfter {
			return false, 0, 0
		}
		unlogged, l.unlogged, l.reported = l.unlogged, 0, now
		return true, 0, unlogged
	}
	l.items[item] = loggedFailure{reason: reason, at: now}
	return true, f.since, 0
}

// sweep makes room for other items. It returns false if every item in the log had a line
// within logAgainAfter: one that is forgotten would get another.
func (l *failureLog[T]) sweep(now time.Time) bool {
	for item, f := range l.items {
		if now.Sub(f.at) >= logAgainAfter {
			delete(l.items, item)
		}
	}
	return len(l.items) < maxLoggedItems
}
