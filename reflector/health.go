package reflector

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// State is where a [Reflector] is.
type State string

// The states. The usual path is
//
//	New → Connecting → Listing or Streaming → Synced → Watching → Connecting → Watching …
//
// with Degraded in between after a failure, and Stopped at the end. Polling replaces Watching for an API that can be
// listed but not watched.
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
	// StatePolling: the server has never accepted a watch of this collection, so it is listed twice a minute. This
	// is healthy: the sink is at most as old as Since. From time to time it tries to watch again.
	StatePolling State = "Polling"
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
	// LastError is the most recent failure, at LastErrorTime; it stays after
	// recovery. A reflector that is not synced and has failed has one.
	LastError      error
	LastErrorClass ErrorClass
	LastErrorTime  time.Time
	// DegradedSince is the time of the first failure after which watches have not run for
	// [Backoff].Healthy without another one. It is zero if there is none. A watch that
	// ends within a second is a failure, also if it is resumed at once.
	DegradedSince time.Time
	// ConsecutiveFailures counts the failures since then.
	ConsecutiveFailures int
	// NextAttempt is the end of the present wait, in StateDegraded and StatePolling.
	NextAttempt time.Time
	// ResourceVersion is the point up to which the sink has everything. Between
	// two lists it never goes back.
	ResourceVersion string
	// LastEvent is when the last event or bookmark arrived.
	LastEvent time.Time
	// Lists, WatchLists and Watches count requests. Lists are the pages of lists, and
	// the checks whether the server still knows a version and some objects; WatchLists are
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
	// Monitor is what [Options].Monitor has reported last.
	Monitor any
}

// Degraded says whether there is trouble at present, and for how long there
// has been.
func (h Health) Degraded() (reason ErrorClass, since time.Time, degraded bool) {
	if h.DegradedSince.IsZero() {
		return "", time.Time{}, false
	}
	return h.LastErrorClass, h.DegradedSince, true
}

// status is the health that Run writes and any goroutine reads.
type status struct {
	mu      sync.Mutex
	health  Health
	healthy time.Duration // [Backoff].Healthy
	// since is when the first watch after the last failure began; zero before.
	since time.Time
	// endWatch ends the watch that is being followed, or the wait for the next poll; nil without one.
	endWatch context.CancelCauseFunc
}

// read returns a copy that shares no memory with what Run goes on to change.
func (s *status) read() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healLocked()
	h := s.health
	h.Reconnects = map[ErrorClass]int{} // never nil
	maps.Copy(h.Reconnects, s.health.Reconnects)
	h.Quarantine = slices.Clone(h.Quarantine)
	return h
}

// update changes the health under the mutex; f must not block.
func (s *status) update(f func(h *Health)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.health)
}

// heal forgets the failures if it is time to. It is looked at when it matters, so it needs
// no timer.
func (s *status) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healLocked()
}

// healLocked is heal; the mutex must be held.
func (s *status) healLocked() {
	if !s.since.IsZero() && time.Since(s.since) >= s.healthy {
		s.health.ConsecutiveFailures, s.health.DegradedSince = 0, time.Time{}
	}
}

// following sets what ends the watch that is being followed.
func (s *status) following(end context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endWatch = end
	if end != nil && s.since.IsZero() {
		s.since = time.Now()
	}
}

// Relist ends the watch that is being followed, and the collection is read again from the server's storage: the
// next Replace of the sink has everything that was written before the call. It returns false if no watch is followed,
// nor a poll waited for, as the collection is being read, or cannot be. The reason is for the log.
func (r *Reflector[T]) Relist(reason string) bool {
	return r.status.relist(classStale, errors.New(reason))
}

// relist ends the watch that is being followed, for the collection to be read again.
func (s *status) relist(reason ErrorClass, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endWatch == nil {
		return false
	}
	s.endWatch(&relistError{reason: reason, err: err, rewritten: true})
	return true
}

// setState enters a state, and calls what observes states.
func (r *Reflector[T]) setState(to State) {
	var from State
	r.status.update(func(h *Health) {
		if from = h.State; from == to {
			return
		}
		h.State, h.Since = to, time.Now()
		if to != StateDegraded && to != StatePolling {
			h.NextAttempt = time.Time{}
		}
	})
	if from == to {
		return
	}
	r.opts.Metrics.StateChanged(from, to)
	if ctx := context.Background(); r.opts.Logger.Enabled(ctx, slog.LevelDebug) {
		r.logger().DebugContext(ctx, "the state of the reflector has changed", "from", from, "to", to)
	}
	if r.opts.OnStateChange != nil {
		r.opts.OnStateChange(r.Health())
	}
}

// Metrics records the measurements of one reflector: one value for each, which is
// what labels are for. The methods are called from the goroutine of [Reflector.Run]
// and must not block.
//
// Packages informer and workqueue have a Metrics of the same form, each with what its
// own type measures; package informer/prometheus implements all three.
type Metrics interface {
	// Listed is called after each attempt to read the collection as a whole,
	// with LIST or WatchList; class is "" if it succeeded, and then
	// objects is the size of the collection.
	Listed(took time.Duration, objects int, class ErrorClass)
	// Watched is called when a watch has ended, or could not be started; class
	// says why.
	Watched(took time.Duration, events int, class ErrorClass)
	// Received is called for each event of a watch.
	Received(typ watch.EventType)
	// Quarantined is called for each object that cannot be decoded or
	// transformed.
	Quarantined(class ErrorClass)
	// StateChanged is called at every change of state.
	StateChanged(from, to State)
}

type noMetrics struct{}

func (noMetrics) Listed(time.Duration, int, ErrorClass)  {}
func (noMetrics) Watched(time.Duration, int, ErrorClass) {}
func (noMetrics) Received(watch.EventType)               {}
func (noMetrics) Quarantined(ErrorClass)                 {}
func (noMetrics) StateChanged(State, State)              {}
