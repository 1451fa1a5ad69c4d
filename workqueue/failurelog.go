package workqueue

import (
	"container/list"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"
)

const (
	// logAgainAfter is how long the same failure of the same item is not logged again.
	logAgainAfter = time.Minute
	// maxLoggedItems is for how many items the log remembers the last failure.
	maxLoggedItems = 1024
)

// failureLog decides which failures are worth a line. An item that never succeeds
// must show, but not with a line per attempt.
//
// It has a lock of its own: lines are decided on by workers, and must not delay the queue.
type failureLog[T comparable] struct {
	seed maphash.Seed

	mu       sync.Mutex
	items    map[T]*list.Element // of *loggedFailure[T]
	order    list.List           // by the time of the last line, oldest first
	unlogged int                 // failures of items without a place in items, not reported yet
	reported time.Time           // when they were reported last
}

// loggedFailure is the last line about an item.
type loggedFailure[T comparable] struct {
	item   T
	reason uint64 // hash of the error's text
	at     time.Time
	since  int // failures since, for the same reason
}

// verdict says what to log about a failure.
type verdict struct {
	line     bool // log the failure
	since    int  // failures that were not logged since the last line about the item
	unlogged int  // if not 0, report so many failures of items without lines
}

func newFailureLog[T comparable]() *failureLog[T] {
	return &failureLog[T]{seed: maphash.MakeSeed(), items: map[T]*list.Element{}}
}

// note records a failure.
func (l *failureLog[T]) note(item T, err error) verdict {
	reason := maphash.String(l.seed, fmt.Sprint(err)) // Sprint survives a panic in Error
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.items[item]; e != nil {
		f := e.Value.(*loggedFailure[T])
		// The same reason within a minute is only counted. Another reason is
		// logged at once.
		if f.reason == reason && now.Sub(f.at) < logAgainAfter {
			f.since++
			return verdict{}
		}
		v := verdict{line: true, since: f.since}
		f.reason, f.at, f.since = reason, now, 0
		l.order.MoveToBack(e)
		return v
	}
	// Full of items that had a line within the minute: to log this one as well would be
	// a line per failure, which is what the log is to prevent. So it is only counted.
	if len(l.items) >= maxLoggedItems && !l.evict(now) {
		l.unlogged++
		if now.Sub(l.reported) < logAgainAfter {
			return verdict{}
		}
		v := verdict{unlogged: l.unlogged}
		l.unlogged, l.reported = 0, now
		return v
	}
	l.items[item] = l.order.PushBack(&loggedFailure[T]{item: item, reason: reason, at: now})
	return verdict{line: true}
}

// evict makes room for another item. It returns false if every item in the log
// had a line within logAgainAfter: one that is forgotten would get another.
func (l *failureLog[T]) evict(now time.Time) bool {
	oldest := l.order.Front()
	// The list is in order of the last line: if the first one's is too recent, all are.
	f := oldest.Value.(*loggedFailure[T])
	if now.Sub(f.at) < logAgainAfter {
		return false
	}
	l.order.Remove(oldest)
	delete(l.items, f.item)
	return true
}

// logFailure logs an outcome that is a failure, if it is worth a line.
func (p *processor[T]) logFailure(o Outcome[T]) {
	attrs := p.attrs(o)
	var panicked *PanicError
	switch {
	case o.Action == Dropped:
		p.Logger.Error("processing failed, item dropped", attrs...)
	case errors.As(o.Err, &panicked):
		p.Logger.Error("processing panicked", attrs...)
	case p.items.Err() != nil:
		// Cancelled by the stop: expected. An item that failed undisturbed is a
		// failure like any other.
		p.Logger.Debug("processing interrupted", attrs...)
	case o.Action == Interrupted:
		// Not limited: the queue is shut down, so it cannot happen again to this item.
		p.Logger.Warn("processing failed", attrs...)
	default:
		v := p.log.note(o.Item, o.Err)
		if v.since > 0 {
			attrs = append(attrs, slog.Int("failuresSinceLastLine", v.since))
		}
		if v.line {
			p.Logger.Warn("processing failed", attrs...)
		}
		if v.unlogged > 0 {
			p.Logger.Warn("processing fails for more items than are logged one by one; this is one of them",
				append(attrs, slog.Int("failuresNotLogged", v.unlogged))...)
		}
	}
}

// attrs returns what every line about an outcome says, for [slog.Logger] methods.
func (p *processor[T]) attrs(o Outcome[T]) []any {
	attrs := []any{
		slog.String("queue", p.q.engine.opts.Name),
		slog.Any("item", o.Item),
		slog.Int("attempt", o.Attempt),
		slog.String("action", o.Action.String()),
		slog.Any("error", o.Err),
	}
	var panicked *PanicError
	if errors.As(o.Err, &panicked) {
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
	}
	return attrs
}
