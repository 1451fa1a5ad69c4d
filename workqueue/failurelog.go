package workqueue

import (
	"container/list"
	"context"
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

	failedLine = "processing failed"
	itemAttr   = "item"
	errorAttr  = "error"
)

// failureLog is a [slog.Handler] in front of another one. It drops the lines about failures
// that repeat the last one about the same item, and passes on all others. An item that never
// succeeds must show, but not with a line per attempt.
//
// A line is about a failure if its text is failedLine. Its attributes say the item and the
// error.
type failureLog struct {
	slog.Handler
	seed maphash.Seed

	// mu is held by workers that log, and delays no queue.
	mu       sync.Mutex
	items    map[any]*list.Element // of *loggedFailure
	order    list.List             // by the time of the last line, oldest first
	unlogged int                   // failures of items without a place in items, not reported yet
	reported time.Time             // when they were reported last
}

// loggedFailure is the last line about an item.
type loggedFailure struct {
	item   any
	reason uint64 // hash of the error's text
	at     time.Time
	since  int // failures since, for the same reason
}

func newFailureLog(next slog.Handler) *failureLog {
	return &failureLog{Handler: next, seed: maphash.MakeSeed(), items: map[any]*list.Element{}}
}

// Handle passes on a line that is worth it.
func (l *failureLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != failedLine {
		return l.Handler.Handle(ctx, r)
	}
	var item, failure any
	for a := range r.Attrs {
		switch a.Key {
		case itemAttr:
			item = a.Value.Any()
		case errorAttr:
			failure = a.Value.Any()
		}
	}
	v := l.note(item, failure)
	if v.since > 0 {
		r.AddAttrs(slog.Int("failuresSinceLastLine", v.since))
	}
	if v.unlogged > 0 {
		r.Message = "processing fails for more items than are logged one by one; this is one of them"
		r.AddAttrs(slog.Int("failuresNotLogged", v.unlogged))
	}
	if !v.line && v.unlogged == 0 {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

// verdict says what to log about a failure.
type verdict struct {
	line     bool // log the failure
	since    int  // failures that were not logged since the last line about the item
	unlogged int  // if not 0, report so many failures of items without lines
}

// note records a failure.
func (l *failureLog) note(item, failure any) verdict {
	reason := maphash.String(l.seed, fmt.Sprint(failure)) // Sprint survives a panic in Error
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.items[item]; e != nil {
		f := e.Value.(*loggedFailure)
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
	l.items[item] = l.order.PushBack(&loggedFailure{item: item, reason: reason, at: now})
	return verdict{line: true}
}

// evict makes room for another item. It returns false if every item in the log
// had a line within logAgainAfter: one that is forgotten would get another.
func (l *failureLog) evict(now time.Time) bool {
	oldest := l.order.Front()
	// The list is in order of the last line: if the first one's is too recent, all are.
	f := oldest.Value.(*loggedFailure)
	if now.Sub(f.at) < logAgainAfter {
		return false
	}
	l.order.Remove(oldest)
	delete(l.items, f.item)
	return true
}
