package reflector

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// State is where a [Reflector] is.
type State string

// The states. The usual path is
//
//	New → Connecting → Listing or Streaming → Synced → Watching → Connecting → Watching …
//
// with Degraded in between after a failure, and Stopped at the end.
const (
	// StateNew: Run has not been called.
	StateNew State = "New"
	// StateConnecting: a request has been sent, the answer has not begun.
	StateConnecting State = "Connecting"
	// StateListing: the answer to a LIST is being read.
	StateListing State = "Listing"
	// StateStreaming: the initial events of a WatchList are being read.
	StateStreaming State = "Streaming"
	// StateSynced: the sink has the collection; it is not being watched yet.
	StateSynced State = "Synced"
	// StateWatching: changes arrive as they happen.
	StateWatching State = "Watching"
	// StateDegraded: the last attempt failed, the next one waits for its time.
	// A watch that resumes at once goes to StateConnecting.
	StateDegraded State = "Degraded"
	// StateStopped: Run has returned.
	StateStopped State = "Stopped"
)

// Health says where a [Reflector] is and how it got there. It is a copy.
type Health struct {
	// State is the present one, since Since.
	State State
	Since time.Time
	// Synced says that the sink has had the whole collection, at LastSync most
	// recently.
	Synced   bool
	LastSync time.Time
	// ResourceRemoved says that the server had the resource and does not have it
	// any more, as after the deletion of a CustomResourceDefinition: the sink was
	// given an empty collection. It holds until the resource is listed again.
	ResourceRemoved bool
	// LastError is the most recent failure, at LastErrorTime; it stays after
	// recovery. A reflector that is not synced and has failed has one.
	LastError      error
	LastErrorClass ErrorClass
	LastErrorTime  time.Time
	// DegradedSince is the time of the first failure after which no watch has run
	// for [Backoff].Healthy. It is zero if there is none. A watch that ends early is
	// such a failure too, also if it is resumed at once.
	DegradedSince time.Time
	// ConsecutiveFailures counts the failures since then.
	ConsecutiveFailures int
	// NextAttempt is the end of the present wait, in StateDegraded.
	NextAttempt time.Time
	// ResourceVersion is the point up to which the sink has everything. Between
	// two lists it never goes back.
	ResourceVersion string
	// LastEvent is when the last event or bookmark arrived.
	LastEvent time.Time
	// Lists, WatchLists and Watches count requests. Lists are the pages of lists and
	// audits, and the checks whether the server still knows a version; WatchLists are
	// watches with initial events, Watches those without.
	Lists, WatchLists, Watches int
	// Reconnects counts the ends of watches, and failures to start one, by
	// reason.
	Reconnects map[ErrorClass]int
	// WatchListRefusedUntil is until when LIST is used because WatchList has
	// failed.
	WatchListRefusedUntil time.Time
	// Quarantined counts the objects that could not be decoded or transformed
	// so far. Quarantine holds the ones for which that is still so, at most 100.
	Quarantined int
	Quarantine  []*ObjectError
	// Audit says what audits have found; see [Options].AuditInterval.
	Audit AuditHealth
}

// Degraded says whether there is trouble at present, and for how long there
// has been.
func (h Health) Degraded() (reason ErrorClass, since time.Time, degraded bool) {
	if h.DegradedSince.IsZero() {
		return ClassNone, time.Time{}, false
	}
	return h.LastErrorClass, h.DegradedSince, true
}

// status is the health that Run writes and any goroutine reads. It is kept in two parts:
// most reflectors of a program never fail, and need not have room for it.
type status struct {
	mu      sync.Mutex
	routine routine
	trouble *trouble // nil: nothing has failed, and there was no audit
	// heals is when the watch that is followed has run for long enough that earlier
	// failures are forgotten; zero without a watch. It is looked at when it matters, so
	// it needs no timer.
	heals time.Time
}

// routine is what every reflector has to say. The fields are those of [Health].
type routine struct {
	State                      State
	Since                      time.Time
	Synced, ResourceRemoved    bool
	LastSync                   time.Time
	ResourceVersion            string
	LastEvent                  time.Time
	Lists, WatchLists, Watches int
	Reconnects                 map[ErrorClass]int // nil: none; each watch ends at some time
}

// trouble is the rest, which is made by the first failure or audit. The fields are those
// of [Health].
type trouble struct {
	LastError             error
	LastErrorClass        ErrorClass
	LastErrorTime         time.Time
	DegradedSince         time.Time
	ConsecutiveFailures   int
	NextAttempt           time.Time
	WatchListRefusedUntil time.Time
	Quarantined           int
	Quarantine            []*ObjectError
	Audit                 AuditHealth // but for its Interval, which is in the options
}

// read returns a copy that shares no memory with what Run goes on to change.
func (s *status) read() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healLocked()
	r, t := &s.routine, s.trouble
	if t == nil {
		t = &trouble{}
	}
	h := Health{
		State: r.State, Since: r.Since,
		Synced: r.Synced, LastSync: r.LastSync, ResourceRemoved: r.ResourceRemoved,
		LastError: t.LastError, LastErrorClass: t.LastErrorClass, LastErrorTime: t.LastErrorTime,
		DegradedSince: t.DegradedSince, ConsecutiveFailures: t.ConsecutiveFailures, NextAttempt: t.NextAttempt,
		ResourceVersion: r.ResourceVersion, LastEvent: r.LastEvent,
		Lists: r.Lists, WatchLists: r.WatchLists, Watches: r.Watches,
		Reconnects:            maps.Clone(r.Reconnects),
		WatchListRefusedUntil: t.WatchListRefusedUntil,
		Quarantined:           t.Quarantined, Quarantine: slices.Clone(t.Quarantine),
		Audit: t.Audit,
	}
	if h.Reconnects == nil {
		h.Reconnects = map[ErrorClass]int{}
	}
	return h
}

// healLocked forgets the failures if it is time to. The mutex must be held.
func (s *status) healLocked() {
	if !s.heals.IsZero() && !time.Now().Before(s.heals) {
		s.heals = time.Time{}
		if t := s.trouble; t != nil {
			t.ConsecutiveFailures, t.DegradedSince = 0, time.Time{}
		}
	}
}

// healAt sets when earlier failures are forgotten; zero is never. If it was time to
// forget some, they are forgotten before.
func (s *status) healAt(when time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healLocked()
	s.heals = when
}

// update changes the routine part under the mutex; f must not block.
func (s *status) update(f func(h *routine)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.routine)
}

// note changes the other part under the mutex; f must not block.
func (s *status) note(f func(t *trouble)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble == nil {
		s.trouble = &trouble{}
	}
	f(s.trouble)
}

// setState enters a state, and calls what observes states.
func (r *Reflector[T]) setState(to State) {
	var from State
	r.status.update(func(h *routine) {
		from = h.State
		if from == to {
			return
		}
		h.State, h.Since = to, time.Now()
		if t := r.status.trouble; t != nil && to != StateDegraded {
			t.NextAttempt = time.Time{}
		}
	})
	if from == to {
		return
	}
	r.opts.Metrics.StateChanged(from, to)
	if ctx := context.Background(); r.opts.Logger.Enabled(ctx, slog.LevelDebug) {
		r.logger().DebugContext(ctx, "state changed", "from", from, "to", to)
	}
	if r.opts.OnStateChange != nil {
		r.opts.OnStateChange(r.Health())
	}
}
